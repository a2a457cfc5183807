"""Message histories of pydantic-ai: round trips with its own serialiser, and runs of its own models for tests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import datetime, timezone

import pytest
from pydantic_ai import Agent
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
