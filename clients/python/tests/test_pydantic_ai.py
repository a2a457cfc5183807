"""Message histories of pydantic-ai: round trips with its own serialiser, and runs of its own models for tests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from uuid import UUID

import pytest
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ToolReturn
from pydantic_ai.messages import (
    BinaryContent,
    FilePart,
    ImageUrl,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    NativeToolCallPart,
    NativeToolReturnPart,
    RetryFeedbackPart,
    RetryInfo,
    RetryPromptPart,  # pyright: ignore[reportDeprecated]
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RequestUsage

from reprise import AsyncReprise
from reprise.stores.pydantic_ai import DivergedHistory, RepriseMessageHistory

from .conftest import Line, Service

MakeHistory = Callable[[], RepriseMessageHistory]
NOW = datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=timezone.utc)

WRITTEN: list[ModelMessage] = [
    ModelRequest(
        [SystemPromptPart("Be brief.", dynamic_ref="ref"), UserPromptPart("Where is it sunny? 👍\u0000", timestamp=NOW)],
        instructions="Answer in English.",
        metadata={"$seen": {"a.b": [1, 2.5, None]}},
        run_id="run-1",
    ),
    ModelResponse(
        [
            ThinkingPart("Hm.", id="rs_1", signature="c2ln", provider_name="openai"),
            TextPart("I look.", id="msg_1"),
            ToolCallPart("weather", {"city": "Oslo", "days": [1]}, tool_call_id="call_1"),
            ToolCallPart("weather", '{"city":  ', tool_call_id="call_2"),
            ToolCallPart("rest", None, tool_call_id="call_3"),
        ],
        usage=RequestUsage(input_tokens=9, output_tokens=4, details={"reasoning_tokens": 2}),
        model_name="m",
        timestamp=NOW,
        provider_details={"finish_reason": "stop", "timestamp": None},
        finish_reason="tool_call",
    ),
    ModelRequest(
        [
            ToolReturnPart("weather", {"sky": ["clear", None]}, tool_call_id="call_1", metadata={"kept": True}, timestamp=NOW),
            ToolReturnPart("weather", "no JSON", tool_call_id="call_2", outcome="failed"),
            UserPromptPart(
                ["Look:", ImageUrl("https://example.org/a.png"), BinaryContent(b"\xff\x00", media_type="image/png")]
            ),
        ]
    ),
    ModelResponse(
        [
            NativeToolCallPart("web_search", {"query": "oslo"}, tool_call_id="ws_1", provider_name="openai"),
            NativeToolReturnPart("web_search", {"status": "completed"}, tool_call_id="ws_1", provider_name="openai"),
            FilePart(BinaryContent(b"\x89PNG", media_type="image/png")),
            TextPart(""),
        ]
    ),
    ModelRequest([RetryFeedbackPart("Say more.", retry=RetryInfo("model_retry", attempt=1))]),
    # The ids again, and a call that stays open.
    ModelResponse([ToolCallPart("weather", {}, tool_call_id="call_1")], run_id="run-1"),
]
# As the serialiser of pydantic-ai brings them back: an image given as bytes becomes a class of its own.
MESSAGES = ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json(WRITTEN))


@pytest.fixture
async def client(service: Service, app: str) -> AsyncIterator[AsyncReprise]:
    async with AsyncReprise(service.url, app) as client:
        yield client


@pytest.fixture
def make(client: AsyncReprise, app: str) -> MakeHistory:
    return lambda: RepriseMessageHistory(f"history/{app}", client=client)


def question(text: str) -> ModelMessage:
    return ModelRequest([UserPromptPart(text, timestamp=NOW)])


async def test_every_message_comes_back_as_it_was(make: MakeHistory) -> None:
    history = make()
    assert await history.load() == []
    await history.append([])
    await history.append(MESSAGES)
    found = await make().load()
    assert found == MESSAGES
    assert ModelMessagesTypeAdapter.dump_json(found) == ModelMessagesTypeAdapter.dump_json(MESSAGES)
    await history.clear()
    assert await history.load() == []


async def test_only_what_is_new_is_stored(make: MakeHistory, client: AsyncReprise) -> None:
    history = make()
    assert [await history.save(MESSAGES[:length]) for length in (0, 2, 2, 5, 3, 6)] == [0, 2, 0, 3, 0, 1]
    assert await make().save(MESSAGES) == 0
    assert await make().load() == MESSAGES
    assert len([message async for message in client.chat(history.chat_id).messages()]) == len(MESSAGES)
    await history.clear()
    assert await history.save(MESSAGES[2:]) == 4


async def test_more_messages_than_a_request_has_are_saved(make: MakeHistory) -> None:
    messages = [question(str(number)) for number in range(2_100)]
    assert await make().save(messages) == 2_100
    assert await make().load() == messages


async def test_more_bytes_and_more_values_than_a_request_has_are_saved(make: MakeHistory) -> None:
    texts = [question("x" * 400_000) for _ in range(30)]
    rows = {"rows": [[1, 2, 3]] * 100}
    results: list[ModelMessage] = [ModelRequest([ToolReturnPart("query", rows, tool_call_id="call_1")]) for _ in range(400)]
    assert await make().save(texts + results) == 430
    assert await make().load() == ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json(texts + results))


async def test_a_history_that_is_another_one_is_refused(make: MakeHistory) -> None:
    mine, other = make(), make()
    await mine.save(MESSAGES[:2])
    # The other one has stored the same, and more.
    assert await other.save(MESSAGES[:4]) == 2
    assert await mine.save(MESSAGES[:5]) == 1
    with pytest.raises(DivergedHistory):
        await other.save([*MESSAGES[:4], question("Another?")])
    with pytest.raises(DivergedHistory):
        await mine.save(MESSAGES[1:])
    await mine.append([question("Another?")])
    assert await make().load() == [*MESSAGES[:5], question("Another?")]


async def test_of_writers_that_continue_the_same_history_one_succeeds(make: MakeHistory) -> None:
    await make().save(MESSAGES[:2])
    continued = [[*MESSAGES[:2], question(str(number)), MESSAGES[3]] for number in range(8)]
    outcomes = await asyncio.gather(*(make().save(messages) for messages in continued), return_exceptions=True)
    assert sorted(map(repr, map(type, outcomes))) == sorted(map(repr, [int, *[DivergedHistory] * 7]))
    assert await make().load() in continued


async def test_a_lost_answer_stores_nothing_twice(line: Line, app: str) -> None:
    async with AsyncReprise(line.url, app) as client:
        history = RepriseMessageHistory(f"history/{app}", client=client)
        for length in range(1, len(MESSAGES) + 1):
            line.lost_answers = length % 3
            assert await history.save(MESSAGES[:length]) == 1
        assert await history.load() == MESSAGES


async def test_an_agent_goes_on_in_another_process(make: MakeHistory) -> None:
    def weather(city: str) -> dict[str, str]:
        return {"sky": f"clear in {city}"}

    agent = Agent(TestModel(custom_output_text="It is clear."), tools=[weather], system_prompt="Be brief.")
    history = make()
    first = await agent.run("Is it sunny?", message_history=await history.load())
    assert await history.save(first.all_messages()) == 4
    history = make()
    second = await agent.run("And tomorrow?", message_history=await history.load())
    assert await history.save(second.all_messages()) == len(second.new_messages())

    seen: list[ModelMessage] = []

    def answer(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        seen.extend(messages)
        return ModelResponse([TextPart("Yes.")])

    third = await Agent(FunctionModel(answer)).run("Sure?", message_history=await make().load())
    assert await make().save(third.all_messages()) == 2
    assert seen[:-1] == second.all_messages()
    assert await make().load() == third.all_messages()


async def test_a_dynamic_system_prompt_may_change(make: MakeHistory) -> None:
    agent, turns = Agent(TestModel()), iter(range(9))

    @agent.system_prompt(dynamic=True)
    def turn() -> str:  # pyright: ignore[reportUnusedFunction]
        return f"Turn {next(turns)}."

    for _ in range(3):
        history = make()
        result = await agent.run("Hello", message_history=await history.load())
        assert await history.save(result.all_messages()) == 2
    history = make()
    messages = await history.load()
    for _ in range(2):
        messages = (await agent.run("Hello", message_history=messages)).all_messages()
        assert await history.save(messages) == 2
    assert len(await make().load()) == 10


async def test_requests_that_are_combined_in_the_next_run_are_stored_already(make: MakeHistory) -> None:
    def answer(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        last = messages[-1].parts[-1]
        if isinstance(last, UserPromptPart) and last.content == "Do it.":
            return ModelResponse([ToolCallPart("inspect", {}), ToolCallPart("act", {})])
        return ModelResponse([TextPart("Done.")])

    agent = Agent(FunctionModel(answer), output_type=[str, DeferredToolRequests])

    @agent.tool_plain
    def inspect() -> ToolReturn:  # pyright: ignore[reportUnusedFunction]
        return ToolReturn(return_value="seen", content=["Look:"])

    @agent.tool_plain(requires_approval=True)
    def act() -> str:  # pyright: ignore[reportUnusedFunction]
        return "acted"

    history = make()
    asked = await agent.run("Do it.", message_history=await history.load())
    assert await history.save(asked.all_messages()) == 3
    assert isinstance(asked.output, DeferredToolRequests)
    approved = DeferredToolResults(approvals={call.tool_call_id: True for call in asked.output.approvals})
    history = make()
    done = await agent.run(message_history=await history.load(), deferred_tool_results=approved)
    assert await history.save(done.all_messages()) == 2
    for _ in range(2):
        history = make()
        done = await agent.run("Thanks.", message_history=await history.load())
        assert await history.save(done.all_messages()) == 2
        assert await make().save(done.all_messages()) == 0
    assert [message.kind for message in await make().load()] == "request response request".split() + ["request", "response"] * 3


async def test_of_a_request_that_was_combined_the_rest_is_stored(make: MakeHistory) -> None:
    returned, asked = (
        ToolReturnPart("look", "seen", tool_call_id="call_1", timestamp=NOW),
        UserPromptPart("More?", timestamp=NOW),
    )
    response = ModelResponse([TextPart("Yes.")], timestamp=NOW)
    await make().save([*MESSAGES[:2], ModelRequest([returned])])
    combined: list[ModelMessage] = [*MESSAGES[:2], ModelRequest([asked, returned]), response]
    assert await make().save(combined) == 2
    assert await make().load() == [*MESSAGES[:2], ModelRequest([returned]), ModelRequest([asked]), response]
    for other in (combined[2:], [*MESSAGES[:2], response], [*MESSAGES[:2], ModelRequest([asked]), response]):
        with pytest.raises(DivergedHistory, match="load it again"):
            await make().save(other)


@pytest.mark.parametrize("value", [NOW, NOW.date(), timedelta(1), Decimal("1.50"), b"\xff", UUID(int=1), {"at": NOW}, [NOW]])
async def test_what_a_tool_returns_is_the_same_when_it_was_read(make: MakeHistory, value: object) -> None:
    messages = [*MESSAGES[:2], ModelRequest([ToolReturnPart("weather", value, tool_call_id="call_1", timestamp=NOW)])]
    assert [await make().save(messages) for _ in range(2)] == [3, 0]
    assert await make().save([*(await make().load()), MESSAGES[3]]) == 1
    assert await make().save([*messages, MESSAGES[3], question("More?")]) == 1


@pytest.mark.filterwarnings("ignore:.RetryPromptPart. is deprecated")
async def test_a_part_that_is_another_one_when_it_was_read_is_stored_once(make: MakeHistory, client: AsyncReprise) -> None:
    answered = RetryPromptPart("no", tool_name="weather", tool_call_id="call_1", timestamp=NOW)  # pyright: ignore[reportDeprecated]
    asked = RetryPromptPart("Say more.", timestamp=NOW)  # pyright: ignore[reportDeprecated]
    messages: list[ModelMessage] = [*MESSAGES[:2], ModelRequest([answered]), MESSAGES[3], ModelRequest([asked])]
    history = make()
    assert [await history.save(messages[:length]) for length in (3, 3, 5)] == [3, 0, 2]
    assert await make().save(messages) == 0
    loaded = await make().load()
    assert await history.save([*loaded, MESSAGES[3]]) == 1
    assert await make().save([*messages, MESSAGES[3], question("More?")]) == 1
    stored = [message.model_dump() async for message in client.chat(history.chat_id).messages()]
    assert [stored[2][name] for name in ("role", "tool_call_id", "content")] == ["tool", "call_1", "no"]
    await history.clear()
    await history.append(messages)
    assert await make().save(loaded) == 0


async def test_other_readers_of_the_chat_understand_the_messages(make: MakeHistory, client: AsyncReprise) -> None:
    history = make()
    answers: list[ModelMessage] = [
        ModelRequest([ToolReturnPart("rest", "done", tool_call_id="call_3")]),
        ModelResponse([TextPart("Oslo.")]),
    ]
    await history.save([*MESSAGES[:3], *answers])
    found = (await client.chat(history.chat_id).history("openai")).messages
    assert [message["role"] for message in found] == ["user", "assistant", "tool", "tool", "tool", "assistant"]
    assert found[0]["content"] == "Where is it sunny? 👍\u0000" and found[1]["content"] == "I look."
    assert [message["tool_call_id"] for message in found[2:5]] == ["call_1", "call_2", "call_3"]
    assert [found[4]["content"], found[5]["content"]] == ["done", "Oslo."]
