"""The history of LangChain: every class of message, by both ways in, and chains that use it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timezone
from typing import Any

import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    ChatMessageChunk,
    FunctionMessage,
    FunctionMessageChunk,
    HumanMessage,
    HumanMessageChunk,
    RemoveMessage,
    SystemMessage,
    SystemMessageChunk,
    ToolMessage,
    ToolMessageChunk,
)
from langchain_core.runnables.history import RunnableWithMessageHistory

from reprise import AsyncReprise, InvalidValue, Reprise
from reprise.stores.langchain import RepriseChatMessageHistory

from .conftest import Service

CALL: Any = {"id": "call_1", "name": "weather", "args": {"city": "Oslo", "days": [1, 2.5, None]}, "type": "tool_call"}

MESSAGES: list[BaseMessage] = [
    HumanMessage("Where is it sunny? 👍\u0000", id="h1", name="ada", additional_kwargs={"$seen": {"a.b": None}}, example=True),
    HumanMessage([{"type": "text", "text": "Look:"}, {"type": "image", "url": "https://example.org/a.png"}, "text"]),
    SystemMessage("Be brief.", additional_kwargs={"__openai_role__": "developer"}),
    AIMessage(
        [{"type": "reasoning", "reasoning": "Hm."}, {"type": "text", "text": "Wait.", "annotations": []}],
        id="run-1",
        name="planner",
        tool_calls=[CALL, {**CALL, "id": None}],
        invalid_tool_calls=[{"id": "call_2", "name": "f", "args": "{", "error": "cut off", "type": "invalid_tool_call"}],
        usage_metadata={"input_tokens": 9, "output_tokens": 4, "total_tokens": 13, "input_token_details": {"cache_read": 2}},
        response_metadata={"model_name": "m", "logprobs": None, "list": [{}]},
        additional_kwargs={"refusal": None, "parsed": {"deep": [[[]]]}},
    ),
    ToolMessage("clear", tool_call_id="call_1", name="weather", artifact={"sky": [1, None, {"blue": True}]}, id="t1"),
    ToolMessage([{"type": "text", "text": "failed"}], tool_call_id="call_9", status="error", artifact="a text"),
    # The id and the call again, and a call that stays open.
    AIMessage("", id="run-1", tool_calls=[CALL]),
    FunctionMessage(content="42", name="answer"),
    ChatMessage(content="Yes.", role="moderator"),
    RemoveMessage(id="h1"),
    AIMessageChunk(
        content="par",
        id="run-2",
        tool_call_chunks=[{"name": "weather", "args": '{"ci', "id": "call_3", "index": 0, "type": "tool_call_chunk"}],
        chunk_position="last",
    ),
    HumanMessageChunk(content="tial"),
    SystemMessageChunk(content="Be"),
    ToolMessageChunk(content="cl", tool_call_id="call_3"),
    FunctionMessageChunk(content="4", name="answer"),
    ChatMessageChunk(content="Y", role="moderator"),
]


@pytest.fixture
def history(service: Service, app: str) -> RepriseChatMessageHistory:
    """A history with a client for threads alone."""
    return RepriseChatMessageHistory(f"history/{app}", Reprise(service.url, app))


@pytest.fixture
async def async_history(service: Service, app: str) -> AsyncIterator[RepriseChatMessageHistory]:
    """The same history, with a client for asyncio alone."""
    async with AsyncReprise(service.url, app) as client:
        yield RepriseChatMessageHistory(f"history/{app}", async_client=client)


def dumped(messages: list[BaseMessage]) -> list[dict[str, Any]]:
    return [message.model_dump() for message in messages]


def test_every_message_comes_back_as_it_was(history: RepriseChatMessageHistory) -> None:
    assert {type(message) for message in MESSAGES} == _classes(BaseMessage)
    assert history.messages == []
    history.add_messages(MESSAGES)
    assert history.messages == MESSAGES
    assert [type(message) for message in history.messages] == [type(message) for message in MESSAGES]
    assert dumped(history.messages) == dumped(MESSAGES)
    history.clear()
    assert history.messages == []
    history.add_user_message("Hello")
    history.add_ai_message("Hi")
    assert history.messages == [HumanMessage("Hello"), AIMessage("Hi")]
    assert str(history) == "Human: Hello\nAI: Hi"


def _classes(base: type[BaseMessage]) -> set[type[BaseMessage]]:
    """The classes of messages that LangChain has, without those that are only derived from."""
    below = set[type[BaseMessage]]().union(*({it} | _classes(it) for it in base.__subclasses__()))
    return {it for it in below if it.__module__.startswith("langchain_core.messages.") and it.__name__ != "BaseMessageChunk"}


async def test_both_ways_in_share_the_history(
    history: RepriseChatMessageHistory, async_history: RepriseChatMessageHistory
) -> None:
    await async_history.aclear()
    await async_history.aadd_messages([])
    await async_history.aadd_messages(MESSAGES)
    assert dumped(await async_history.aget_messages()) == dumped(MESSAGES)
    # Without a client for asyncio, a thread waits.
    assert dumped(await history.aget_messages()) == dumped(MESSAGES)
    await history.aclear()
    await history.aadd_messages([HumanMessage("Hello")])
    assert await async_history.aget_messages() == [HumanMessage("Hello")]
    with pytest.raises(TypeError, match="client that waits"):
        async_history.add_messages([HumanMessage("Hello")])


async def test_writers_lose_nothing(async_history: RepriseChatMessageHistory) -> None:
    async def write(writer: int) -> None:
        for number in range(10):
            await async_history.aadd_messages([HumanMessage(f"{writer} {number}"), AIMessage(f"{writer} {number}")])

    await asyncio.gather(*(write(writer) for writer in range(8)))
    found = [str(message.content) for message in await async_history.aget_messages()]
    assert found[::2] == found[1::2]
    for writer in map(str, range(8)):
        assert [text for text in found[::2] if text.split()[0] == writer] == [f"{writer} {number}" for number in range(10)]


def test_what_is_no_json_is_refused(history: RepriseChatMessageHistory) -> None:
    now = datetime.now(timezone.utc)
    with pytest.raises(TypeError, match="JSON"):
        history.add_messages([HumanMessage("Hello"), ToolMessage("now", tool_call_id="call_1", artifact=now)])
    assert history.messages == []
    with pytest.raises(TypeError, match="client"):
        RepriseChatMessageHistory("nobody")


def test_other_readers_of_the_chat_understand_the_messages(
    history: RepriseChatMessageHistory, service: Service, app: str
) -> None:
    history.add_messages([MESSAGES[0], MESSAGES[2], AIMessage("Wait.", tool_calls=[CALL]), MESSAGES[4], AIMessage("In Oslo.")])
    (chat,) = list(Reprise(service.url, app).chats())
    found = Reprise(service.url, app).chat(chat.chat_id).history("openai").messages
    assert [message["role"] for message in found] == ["user", "system", "assistant", "tool", "assistant"]
    assert found[0]["name"] == "ada" and found[0]["content"] == MESSAGES[0].content
    assert found[2]["tool_calls"][0]["function"]["name"] == "weather" and found[3]["tool_call_id"] == "call_1"


async def test_a_chain_remembers(history: RepriseChatMessageHistory, async_history: RepriseChatMessageHistory) -> None:
    def chain(used: RepriseChatMessageHistory) -> Any:
        model = GenericFakeChatModel(messages=iter([AIMessage("Hi Ada."), AIMessage("Ada.")]))
        return RunnableWithMessageHistory(model, lambda: used, history_factory_config=[])

    await asyncio.to_thread(chain(history).invoke, [HumanMessage("I am Ada.")])
    assert [message.content for message in await async_history.aget_messages()] == ["I am Ada.", "Hi Ada."]
    await chain(async_history).ainvoke([HumanMessage("Who am I?")])
    found = [message.content for message in await async_history.aget_messages()]
    assert found == ["I am Ada.", "Hi Ada.", "Who am I?", "Hi Ada."]


OPEN_CALL: Any = {"id": "a", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}


async def test_a_chat_of_other_clients_is_copied_with_its_open_calls(service: Service, app: str) -> None:
    with Reprise(service.url, app) as client:
        chat = client.create_chat("planning")
        chat.append({"role": "user", "content": "How is it in Oslo?"})
        chat.append({"role": "assistant", "content": "Let me see.", "tool_calls": [OPEN_CALL]})
        chat.append({"role": "user", "content": "Are you there?"})
        history = RepriseChatMessageHistory(f"{app}-copy", client)
        assert history.copy_from(chat.chat_id) == 3
        async with AsyncReprise(service.url, app) as async_client:
            other = RepriseChatMessageHistory(f"{app}-other", async_client=async_client)
            assert await other.acopy_from(chat.chat_id) == 3
            copies = [history.messages, await other.aget_messages()]
        for human, called, again in copies:
            assert (human.content, again.content) == ("How is it in Oslo?", "Are you there?")
            assert isinstance(called, AIMessage)
            assert called.content == "Let me see."
            assert called.tool_calls == [{"id": "a", "name": "weather", "args": {"city": "Oslo"}, "type": "tool_call"}]


async def test_a_chat_of_more_bytes_than_a_request_has_is_copied(service: Service, app: str) -> None:
    async with AsyncReprise(service.url, app) as async_client:
        with Reprise(service.url, app) as client:
            chat = client.create_chat("planning")
            for _ in range(30):
                chat.append({"role": "user", "content": "x" * 400_000})
            history = RepriseChatMessageHistory(f"{app}-copy", client, async_client=async_client)
            assert history.copy_from(chat.chat_id) == 30
            assert await history.acopy_from(chat.chat_id) == 30
            assert [message.content for message in history.messages] == ["x" * 400_000] * 60


@pytest.mark.parametrize(
    ("message", "pointer", "said"),
    [
        (HumanMessage("half \ud83d"), "/messages/1/content", "U+D83D"),
        (
            AIMessage("a", response_metadata={"score": float("-inf")}),
            "/messages/1/props/item/data/response_metadata/score",
            "-inf",
        ),
        (HumanMessage("a", additional_kwargs={"a/b": [float("nan")]}), "/additional_kwargs/a~1b/0", "nan is no number of JSON"),
        (HumanMessage("a", additional_kwargs={"\udc00": 1}), "/additional_kwargs (a name of a field)", "U+DC00"),
        (HumanMessage("a", additional_kwargs={"a": {1: 2}}), "/additional_kwargs/a (a name of a field)", "1 is no text"),
    ],
)
async def test_a_value_that_json_does_not_have_is_named(
    service: Service, app: str, message: BaseMessage, pointer: str, said: str
) -> None:
    async with AsyncReprise(service.url, app) as asynchronous:
        with Reprise(service.url, app) as client:
            history = RepriseChatMessageHistory("s", client, async_client=asynchronous)
            with pytest.raises(InvalidValue) as error:
                history.add_messages([HumanMessage("Hello"), message])
            assert error.value.problem["errors"][0]["pointer"].endswith(pointer)
            assert said in str(error.value)
            assert "replace it" in str(error.value)
            with pytest.raises(InvalidValue):
                await history.aadd_messages([HumanMessage("Hello"), message])
            assert history.messages == []
