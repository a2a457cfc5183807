"""Sessions of the OpenAI Agents SDK: the cases that the SDK tests its own sessions with, and what only several writers meet."""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, cast

import httpx
import pytest
from agents import (
    Agent,
    ModelResponse,
    RunConfig,
    Runner,
    SessionSettings,
    SQLiteSession,
    TResponseInputItem,
    Usage,
    function_tool,
)
from agents.memory import Session
from agents.models.interface import Model
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputItem,
    ResponseOutputMessage,
    ResponseOutputText,
)

from reprise import AsyncReprise, Conflict, InvalidRequest, InvalidValue, OutcomeUnknown
from reprise.stores.openai_agents import RepriseSession

from .conftest import Line, Service
from .faults import AsyncFaults, nothing, refused

MakeSession = Callable[..., RepriseSession]


@pytest.fixture
async def client(service: Service, app: str) -> AsyncIterator[AsyncReprise]:
    async with AsyncReprise(service.url, app) as client:
        yield client


@pytest.fixture
def make(client: AsyncReprise, app: str) -> MakeSession:
    """Sessions of the test alone: ids of chats are unique among all apps."""

    def session(name: str = "one", **options: Any) -> RepriseSession:
        return RepriseSession(f"{name}_{app}", client=client, **options)

    return session


def said(*texts: str) -> list[TResponseInputItem]:
    return [{"role": "user", "content": text} for text in texts]


def texts(items: list[TResponseInputItem]) -> list[str]:
    return [str(item.get("content")) for item in items]


# Items of every kind that differ in what a store may change: nulls, empty values, open calls, ids that occur twice.
ITEMS = cast(
    "list[TResponseInputItem]",
    [
        {"role": "user", "content": 'What is the weather in Oslo? こんにちは 👍 \u0000 "quoted" \\ \n\t'},
        {"role": "developer", "content": [{"type": "input_text", "text": "Be brief."}], "type": "message"},
        {
            "id": "rs_1",
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": "Hm."}],
            "encrypted_content": "gAAA=",
            "status": None,
        },
        {
            "id": "fc_1",
            "type": "function_call",
            "call_id": "call_1",
            "name": "weather",
            "arguments": '{"city":  "Oslo"}',
            "status": "completed",
        },
        {"type": "function_call_output", "call_id": "call_1", "output": '{"sky": "clear"}'},
        # The same id again, a call without an output, and an output without a call.
        {"type": "function_call", "call_id": "call_1", "name": "weather", "arguments": "{"},
        {"type": "function_call", "call_id": "call_2", "name": "not a name", "arguments": ""},
        {
            "type": "function_call_output",
            "call_id": "call_9",
            "output": [{"type": "input_image", "image_url": "data:,", "detail": "auto"}],
        },
        {
            "id": "ws_1",
            "type": "web_search_call",
            "status": "completed",
            "action": {"type": "search", "query": "oslo", "sources": None},
        },
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "Clear.", "annotations": [], "logprobs": []}],
        },
        {"type": "a_kind_of_tomorrow", "a.b": {"$c": [1, 2.5, -0.1, 2**53, True, None, {}, [], ""]}},
        {"role": "assistant", "content": []},
        {"role": "user", "content": ""},
    ],
)


async def test_it_is_a_session(make: MakeSession) -> None:
    session = make()
    assert isinstance(session, Session)
    assert session.session_settings == SessionSettings()


async def test_items_come_back_as_they_were_given(make: MakeSession) -> None:
    session = make()
    await session.add_items(ITEMS)
    found = await session.get_items()
    assert found == ITEMS
    # Also the order of the fields.
    assert [list(item) for item in found] == [list(item) for item in ITEMS]
    again = make()
    assert await again.get_items() == ITEMS
    assert [await again.pop_item() for _ in ITEMS] == ITEMS[::-1]


async def test_a_session_without_items_is_empty(make: MakeSession) -> None:
    session = make()
    assert await session.get_items() == [] and await session.get_items(limit=3) == []
    assert await session.pop_item() is None
    await session.clear_session()
    await session.add_items([])
    assert await session.get_items() == []


async def test_limits_select_the_newest_items_in_order(make: MakeSession) -> None:
    session = make()
    await session.add_items(said(*"123456"))
    assert texts(await session.get_items(limit=2)) == ["5", "6"]
    assert texts(await session.get_items(limit=4)) == ["3", "4", "5", "6"]
    assert texts(await session.get_items(limit=10)) == list("123456")
    assert await session.get_items(limit=0) == []
    assert texts(await session.get_items(limit=-1)) == list("123456")
    limited = make(session_settings={"limit": 3})
    assert texts(await limited.get_items()) == ["4", "5", "6"]
    assert texts(await limited.get_items(limit=1)) == ["6"]


async def test_sessions_do_not_see_each_other(make: MakeSession) -> None:
    one, other = make("one"), make("other/ Zoë@example.org")
    await one.add_items(said("keep"))
    await other.add_items(said("a", "b"))
    assert (await other.pop_item()) == said("b")[0]
    await other.clear_session()
    assert await other.get_items() == [] and texts(await one.get_items()) == ["keep"]


async def test_a_session_whose_chat_was_deleted_says_so(make: MakeSession, client: AsyncReprise) -> None:
    session = make()
    await session.add_items(said("a"))
    await client.chat(session.chat_id).delete()
    with pytest.raises(Conflict, match=f"the chat {session.chat_id} was deleted"):
        await session.add_items(said("b"))


async def test_a_cleared_session_begins_anew_and_what_was_said_is_gone(make: MakeSession, client: AsyncReprise) -> None:
    session = make()
    await session.add_items(said(*(f"old {number}" for number in range(250))))
    await session.pop_item()
    await session.clear_session()
    assert await session.get_items() == [] and await session.pop_item() is None
    await session.add_items(said("new"))
    assert texts(await session.get_items()) == ["new"]
    stored = [message async for message in client.chat(session.chat_id).messages()]
    assert [message.content for message in stored if message.content is not None] == ["new"]


async def test_it_does_what_the_session_of_the_sdk_does(make: MakeSession) -> None:
    """Many random operations have the same results as with ``SQLiteSession``."""
    chance = random.Random(7)
    session, oracle = make(), SQLiteSession("oracle")
    for step in range(150):
        match chance.choice(["add", "add", "pop", "pop", "get", "limit", "clear" if step % 5 == 0 else "add"]):
            case "add":
                items = chance.choices(ITEMS, k=chance.randint(0, 4))
                await session.add_items(items)
                await oracle.add_items(items)
            case "pop":
                assert await session.pop_item() == await oracle.pop_item()
            case "get":
                assert await session.get_items() == await oracle.get_items()
            case "limit":
                limit = chance.randint(-1, 8)
                assert await session.get_items(limit) == await oracle.get_items(limit)
            case _:
                await session.clear_session()
                await oracle.clear_session()
    assert await session.get_items() == await oracle.get_items()
    oracle.close()


async def test_more_items_than_a_page_has_are_read(make: MakeSession) -> None:
    session = make()
    numbers = [str(number) for number in range(2_300)]
    for start in range(0, len(numbers), 1_000):
        await session.add_items(said(*numbers[start : start + 1_000]))
    assert texts(await session.get_items()) == numbers
    assert texts(await session.get_items(limit=1_500)) == numbers[-1_500:]


async def test_writers_lose_nothing_and_keep_their_batches_together(make: MakeSession) -> None:
    async def write(writer: int) -> None:
        session = make()
        for batch in range(10):
            await session.add_items(said(*(f"{writer} {batch} {number}" for number in range(3))))

    await asyncio.gather(*(write(writer) for writer in range(16)))
    found = texts(await make().get_items())
    assert len(found) == len(set(found)) == 480
    for start in range(0, 480, 3):
        writer, batch, _ = found[start].split()
        assert found[start : start + 3] == [f"{writer} {batch} {number}" for number in range(3)]
    for name in map(str, range(16)):
        own = [text for text in found if text.split()[0] == name]
        assert own == [f"{name} {batch} {number}" for batch in range(10) for number in range(3)]


POPPER = """
import asyncio, json, sys
from reprise import AsyncReprise
from reprise.stores.openai_agents import RepriseSession

async def main(url, app, session_id):
    async with AsyncReprise(url, app) as client:
        session = RepriseSession(session_id, client=client)
        while (item := await session.pop_item()) is not None:
            print(item["content"])

asyncio.run(main(*sys.argv[1:]))
"""


async def test_an_item_is_popped_by_one_process_alone(make: MakeSession, service: Service, app: str) -> None:
    session = make()
    numbers = [str(number) for number in range(60)]
    await session.add_items(said(*numbers))
    command = [sys.executable, "-c", POPPER, service.url, app, session.session_id]
    processes = [await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE) for _ in range(3)]
    outputs = [output.decode().split() for output, _ in await asyncio.gather(*(it.communicate() for it in processes))]
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert sorted((number for output in outputs for number in output), key=int) == numbers
    # What one process pops is ever older, because nothing is added.
    assert all(output == sorted(output, key=int, reverse=True) for output in outputs)


async def test_items_that_are_added_and_popped_at_once_are_neither_lost_nor_doubled(make: MakeSession) -> None:
    async def add(writer: int) -> None:
        for number in range(20):
            await make().add_items(said(f"{writer} {number}"))

    popped: list[str] = []

    async def pop() -> None:
        for _ in range(15):
            item = await make().pop_item()
            if item is not None:
                popped.append(str(item.get("content")))

    await asyncio.gather(*(add(writer) for writer in range(4)), *(pop() for _ in range(3)))
    assert popped
    rest = texts(await make().get_items())
    assert sorted(popped + rest) == sorted(f"{writer} {number}" for writer in range(4) for number in range(20))


async def test_lost_answers_neither_double_nor_lose_an_item(line: Line, app: str) -> None:
    async with AsyncReprise(line.url, app) as client:
        session = RepriseSession(f"one_{app}", client=client)
        for number in range(6):
            line.lost_answers = number % 3
            await session.add_items(said(str(number)))
        assert texts(await session.get_items()) == list("012345")
        for number in (5, 4, 3):
            # The second answer is that of the removal.
            line.lost_answers = number % 3
            assert await session.pop_item() == said(str(number))[0]
        assert texts(await session.get_items()) == list("012")


async def test_a_popped_item_is_returned_even_if_its_content_cannot_be_deleted(service: Service, app: str) -> None:
    faults = AsyncFaults()
    async with httpx.AsyncClient(transport=faults) as http, AsyncReprise(service.url, app, http=http, retry_for=0) as client:
        session = RepriseSession(f"one_{app}", client=client)
        await session.add_items(said("0", "1", "2"))
        faults.fault = refused("DELETE", "/messages/")
        assert texts(cast("Any", [await session.pop_item()])) == ["2"]
        faults.fault = nothing
        assert texts(cast("Any", [await session.pop_item()])) == ["1"]
        assert texts(await session.get_items()) == ["0"]


async def test_a_pop_whose_outcome_is_unknown_is_repeated(line: Line, app: str) -> None:
    async with AsyncReprise(line.url, app, retry_for=0) as client:
        session = RepriseSession(f"one_{app}", client=client)
        await session.add_items(said("0", "1", "2", "3"))
        # Later, so that the pop needs no other request before its removal.
        assert texts(cast("Any", [await session.pop_item()])) == ["3"]
        for added in ("4", None):
            await lose_the_removal(line, session)
            if added is not None:
                # What was added since is newer.
                await session.add_items(said(added))
            assert texts(cast("Any", [await session.pop_item()])) == [added or "1"]
        assert texts(await session.get_items()) == ["0"]


async def lose_the_removal(line: Line, session: RepriseSession) -> None:
    append = session._log.chat.append

    async def loses(*arguments: Any, **options: Any) -> Any:
        line.lost_answers = 1
        return await append(*arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session._log.chat, "append", loses)
        with pytest.raises(OutcomeUnknown):
            await session.pop_item()


async def test_a_cancelled_write_has_ended_when_the_call_ends(make: MakeSession) -> None:
    session = make()
    for count in range(20):
        adding = asyncio.create_task(session.add_items(said(str(count))))
        await asyncio.sleep(0.001)
        adding.cancel()
        with pytest.raises(asyncio.CancelledError):
            await adding
        assert texts(await session.get_items()) == [str(number) for number in range(count + 1)]


async def test_a_batch_that_is_too_large_is_refused_as_a_whole(make: MakeSession) -> None:
    session = make()
    await session.add_items(said("before"))
    with pytest.raises(InvalidRequest):
        await session.add_items(said(*(str(number) for number in range(1_001))))
    with pytest.raises(InvalidRequest):
        await session.add_items([*said("small"), *said("x" * (5 << 20))])
    await session.add_items(said("y" * (3 << 20)))
    assert [len(text) for text in texts(await session.get_items())] == [6, 3 << 20]


@pytest.mark.parametrize("value", ["half \ud83d", float("-inf")])
async def test_a_value_that_json_does_not_have_is_named(make: MakeSession, value: Any) -> None:
    session = make()
    with pytest.raises(InvalidValue, match=r"/messages/0/.*: replace it"):
        await session.add_items([cast("Any", {"role": "user", "content": value})])
    assert await session.get_items() == []


async def test_values_that_the_service_would_change_are_refused(make: MakeSession) -> None:
    def nested(levels: int) -> Any:
        value: Any = []
        for _ in range(levels - 2):
            value = [value]
        return {"a": value}

    session = make()
    accepted: list[Any] = [{"a": (1 << 63) - 1}, {"a": -(1 << 63)}, nested(63), {"a": "\0"}, {"a": [0] * 250_000}]
    for item in accepted:
        await session.add_items([item])
        assert await session.pop_item() == item
    too_much: list[Any] = [{"a": 1 << 63}, nested(64), {"a\0": 1}, {"a": [0] * 300_000}]
    for item in too_much:
        with pytest.raises(InvalidRequest):
            await session.add_items([item])


async def test_other_readers_of_the_chat_understand_the_items(make: MakeSession, client: AsyncReprise) -> None:
    session = make()
    await session.add_items([*said("stray"), *ITEMS[:5], ITEMS[9]])
    await session.clear_session()
    await session.add_items([*ITEMS[:5], *said("Oops"), ITEMS[9]])
    await session.pop_item()
    await session.pop_item()
    await session.add_items([ITEMS[9]])
    chat = client.chat(session.chat_id)
    assert (await chat.session()).metadata == {"session_id": session.session_id}
    history = (await chat.history("openai")).messages
    assert [message["role"] for message in history] == ["user", "system", "assistant", "tool", "assistant"]
    assert history[2]["tool_calls"][0]["function"] == {"name": "weather", "arguments": '{"city":  "Oslo"}'}
    assert history[3]["content"] == '{"sky": "clear"}' and history[4]["content"] == "Clear."


class Scripted(Model):
    """A model that says what it is told to, and keeps what it was given."""

    def __init__(self) -> None:
        self.script: list[Sequence[ResponseOutputItem]] = []
        self.inputs: list[list[Any]] = []

    def _next(self, given: str | list[TResponseInputItem]) -> list[ResponseOutputItem]:
        self.inputs.append([{"role": "user", "content": given}] if isinstance(given, str) else list(given))
        return list(self.script.pop(0))

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:
        return ModelResponse(output=self._next(input), usage=Usage(), response_id=None)

    async def stream_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> AsyncIterator[Any]:
        response = Response(
            id="resp_1",
            created_at=0,
            model="scripted",
            object="response",
            output=self._next(input),
            parallel_tool_calls=False,
            tool_choice="auto",
            tools=[],
        )
        yield ResponseCompletedEvent(type="response.completed", response=response, sequence_number=0)


def message(text: str) -> ResponseOutputMessage:
    part = ResponseOutputText(type="output_text", text=text, annotations=[])
    return ResponseOutputMessage(id="msg_1", type="message", role="assistant", status="completed", content=[part])


@function_tool
def weather(city: str) -> str:
    """Tells the weather."""
    return f"clear in {city}"


async def test_a_session_has_the_type_that_the_runner_asks_for(make: MakeSession) -> None:
    model = Scripted()
    model.script = [[message("Hi.")]]
    await Runner.run(Agent(name="Assistant", model=model), "Hello", session=make())
    assert len(await make().get_items()) == 2


async def run(streams: bool, agent: Agent[Any], text: str, **options: Any) -> str:
    if not streams:
        return str((await Runner.run(agent, text, **options)).final_output)
    result = Runner.run_streamed(agent, text, **options)
    async for _ in result.stream_events():
        pass
    return str(result.final_output)


@pytest.mark.parametrize("streams", [False, True])
async def test_an_agent_remembers(make: MakeSession, streams: bool) -> None:
    model = Scripted()
    agent = Agent(name="Assistant", model=model, tools=[weather])
    config = RunConfig(tracing_disabled=True)
    call = ResponseFunctionToolCall(type="function_call", call_id="call_1", name="weather", arguments='{"city": "Oslo"}')
    model.script = [[call], [message("It is clear.")], [message("Oslo.")]]
    assert await run(streams, agent, "Is it sunny in Oslo?", session=make(), run_config=config) == "It is clear."
    assert await run(streams, agent, "Which city was it?", session=make(), run_config=config) == "Oslo."
    stored = await make().get_items()
    assert model.inputs[-1] == stored[:-1]
    assert [item.get("type", "message") for item in stored] == [
        "message",
        "function_call",
        "function_call_output",
        "message",
        "message",
        "message",
    ]
    # A session of the SDK stores the same.
    oracle = SQLiteSession("oracle")
    model.script = [[call], [message("It is clear.")], [message("Oslo.")]]
    await run(streams, agent, "Is it sunny in Oslo?", session=oracle, run_config=config)
    await run(streams, agent, "Which city was it?", session=oracle, run_config=config)
    assert stored == await oracle.get_items()
    oracle.close()


async def test_the_settings_of_a_run_limit_what_is_read(make: MakeSession) -> None:
    model = Scripted()
    agent = Agent(name="Assistant", model=model)
    await make().add_items(said(*"0123456789"))
    model.script = [[message("Yes.")]]
    config = RunConfig(tracing_disabled=True, session_settings=SessionSettings(limit=2))
    await run(False, agent, "New?", session=make(), run_config=config)
    assert texts(model.inputs[-1]) == ["8", "9", "New?"]
