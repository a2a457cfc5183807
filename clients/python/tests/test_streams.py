"""Answers that others follow while they are produced."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from types import SimpleNamespace
from typing import Any

import pytest

import reprise
from reprise import AsyncReprise, Reprise
from reprise._async.clock import cancellations
from reprise._chunks import Chunks

from .conftest import Service


def openai(**delta: Any) -> SimpleNamespace:
    """A chunk as OpenAI's package and LiteLLM have it."""
    return SimpleNamespace(choices=[SimpleNamespace(delta=SimpleNamespace(**delta))])


def tool_call(index: int, *, id: str | None = None, name: str | None = None, arguments: str = "") -> SimpleNamespace:
    return SimpleNamespace(index=index, id=id, function=SimpleNamespace(name=name, arguments=arguments))


OPENAI = [
    openai(role="assistant", content=None),
    openai(content="It is "),
    openai(content="sunny."),
    openai(content=None, tool_calls=[tool_call(0, id="call_1", name="map", arguments='{"place":')]),
    openai(content=None, tool_calls=[tool_call(0, arguments=' "lake"}')]),
    SimpleNamespace(choices=[]),
]
ANTHROPIC: list[dict[str, Any]] = [
    {"type": "message_start", "message": {"id": "msg_1"}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "It is "}},
    {"type": "ping"},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "sunny."}},
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "call_1", "name": "map"}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"place": "lake"}'}},
    {"type": "content_block_stop", "index": 1},
    {"type": "message_stop"},
]


@pytest.mark.parametrize("events", [OPENAI, ANTHROPIC], ids=["openai", "anthropic"])
def test_the_events_of_providers_become_the_same_message(service: Service, app: str, events: list[Any]) -> None:
    with Reprise(service.url, app) as client:
        chat = client.create_chat("Picnic")
        seen = list(reprise.stream(chat, iter(events), agent="forecaster"))
        assert seen == events
        # The call has no result yet.
        (message,) = chat.history("openai", unsettled="keep").messages
        assert message["content"] == "It is sunny."
        assert message["name"] == "forecaster"
        assert [call["function"]["arguments"] for call in message["tool_calls"]] == ['{"place":"lake"}']
        (stream,) = chat.streams()
        assert stream.state.value == "finished"


def test_texts_are_joined_and_an_answer_that_raises_is_not_stored(service: Service, app: str) -> None:
    def breaks() -> Any:
        yield "half"
        raise RuntimeError("no model")

    with Reprise(service.url, app) as client:
        chat = client.create_chat("Picnic")
        assert list(chat.stream(["a", "b"])) == ["a", "b"]
        with pytest.raises(RuntimeError):
            list(chat.stream(breaks()))
        assert [message["content"] for message in chat.history("openai").messages] == ["ab"]
        assert chat.streams()[0].error == "no model"


def test_what_was_said_is_shown_while_the_model_is_silent(service: Service, app: str) -> None:
    with Reprise(service.url, app) as client:
        chat = client.create_chat("Picnic")
        seen: list[str] = []

        def silent() -> Iterator[str]:
            yield "It is "
            yield "sunny"
            until = time.monotonic() + 20
            # Nothing follows that could take the second word along.
            while "sunny" not in "".join(seen) and time.monotonic() < until:
                time.sleep(0.05)

        def follow() -> None:
            for event in chat.events():
                if event.name == "stream-chunk":
                    seen.extend(chunk["delta"] for chunk in event.data["chunks"] if "delta" in chunk)
                if event.name == "stream-finished":
                    return

        following = threading.Thread(target=follow, daemon=True)
        following.start()
        assert list(chat.stream(silent())) == ["It is ", "sunny"]
        following.join(20)
        assert "sunny" in "".join(seen)
        (message,) = chat.history("openai").messages
        assert message["content"] == "It is sunny"


def test_a_silent_agent_says_that_it_is_there(service: Service, app: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reprise._sync.stream.SILENCE", 0.2)
    with Reprise(service.url, app) as client:
        chat = client.create_chat("Picnic")
        beats: list[datetime] = []

        def silent() -> Iterator[str]:
            yield "It is sunny"
            until = time.monotonic() + 20
            while len(set(beats)) < 3 and time.monotonic() < until:
                beats.append(chat.streams()[0].written_at)
                time.sleep(0.1)

        list(chat.stream(silent()))
        assert len(set(beats)) >= 3


async def test_a_person_stops_an_answer(service: Service, app: str) -> None:
    async with AsyncReprise(service.url, app) as client:
        chat = await client.create_chat("Picnic")

        async def endless() -> AsyncIterator[str]:
            for number in range(10_000):
                yield f"{number} "
                await asyncio.sleep(0.02)

        count = 0
        async for _ in chat.stream(endless()):
            count += 1
            if count == 5:
                (running,) = await chat.streams()
                await chat.cancel_stream(running.stream_id)
        assert 5 <= count < 1_000
        (stream,) = await chat.streams()
        assert stream.state.value == "cancelled"
        (message,) = (await chat.history("openai")).messages
        assert message["content"].startswith("0 1 2 3 4 ")


async def test_a_person_stops_an_answer_while_the_model_is_silent(
    service: Service, app: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reprise._async.stream.SILENCE", 0.2)
    async with AsyncReprise(service.url, app) as client:
        chat = await client.create_chat("Picnic")
        has_ended = False

        async def silent() -> AsyncIterator[str]:
            nonlocal has_ended
            yield "It is "
            try:
                await asyncio.sleep(3_600)
            finally:
                has_ended = True

        async def read() -> None:
            async for _ in chat.stream(silent()):
                (running,) = await chat.streams()
                await chat.cancel_stream(running.stream_id)
            assert cancellations(asyncio.current_task()) == 0

        await asyncio.wait_for(read(), 20)
        assert has_ended
        (stream,) = await chat.streams()
        assert stream.state.value == "cancelled"
        (message,) = (await chat.history("openai")).messages
        assert message["content"] == "It is "


async def test_a_stop_does_not_break_off_what_the_reader_does(
    service: Service, app: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reprise._async.stream.SILENCE", 0.2)
    async with AsyncReprise(service.url, app) as client:
        chat = await client.create_chat("Picnic")

        async def words() -> AsyncIterator[str]:
            yield "It is "
            yield "sunny"

        shown: list[str] = []
        async for word in chat.stream(words()):
            (running,) = await chat.streams()
            await chat.cancel_stream(running.stream_id)
            await asyncio.sleep(1)
            shown.append(word)
        assert shown == ["It is "]
        (stream,) = await chat.streams()
        assert stream.state.value == "cancelled"


async def test_a_task_that_is_cancelled_while_the_model_is_silent_is_cancelled(service: Service, app: str) -> None:
    async with AsyncReprise(service.url, app) as client:
        chat = await client.create_chat("Picnic")
        is_waiting = asyncio.Event()

        async def silent() -> AsyncIterator[str]:
            yield "It is "
            is_waiting.set()
            await asyncio.sleep(3_600)

        async def read() -> None:
            async for _ in chat.stream(silent()):
                pass

        reading = asyncio.create_task(read())
        await is_waiting.wait()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        (stream,) = await chat.streams()
        assert stream.state.value == "cancelled"


@pytest.mark.parametrize("leaves", ["break", "raise", "cancel"])
async def test_an_answer_that_its_reader_leaves_is_stored_before_the_client_is_closed(
    service: Service, app: str, leaves: str
) -> None:
    async def words() -> AsyncIterator[str]:
        yield "It is "
        yield "sunny"

    has_begun = asyncio.Event()

    async def read(chat_id: str) -> None:
        async with AsyncReprise(service.url, app) as client:
            async for _ in client.chat(chat_id).stream(words()):
                has_begun.set()
                if leaves == "break":
                    break
                if leaves == "raise":
                    raise ValueError
                await asyncio.sleep(3_600)

    async with AsyncReprise(service.url, app) as client:
        chat = await client.create_chat("Picnic")
        reading = asyncio.create_task(read(chat.chat_id))
        if leaves == "cancel":
            await has_begun.wait()
            reading.cancel()
        await asyncio.wait([reading])
        (stream,) = await chat.streams()
        assert stream.state.value == "cancelled"
        (message,) = (await chat.history("openai")).messages
        assert message["content"] == "It is "


def test_an_answer_that_is_kept_unread_is_stored_before_the_client_is_closed(service: Service, app: str) -> None:
    with Reprise(service.url, app) as client:
        chat = client.create_chat("Picnic")
        answer = chat.stream(iter(["It is ", "sunny"]))
        assert next(answer) == "It is "
    with Reprise(service.url, app) as client:
        chat = client.chat(chat.chat_id)
        assert chat.streams()[0].state.value == "cancelled"
        (message,) = chat.history("openai").messages
        assert message["content"] == "It is "
    answer.close()


def test_chunks_of_the_ai_sdk_stay_as_they_are() -> None:
    chunks = Chunks("m")
    start = {"type": "start", "messageId": "x"}
    assert chunks.add(start) == [start]
    assert chunks.end() == []


@pytest.mark.parametrize("more", [[], [{"type": "finish"}]], ids=["last", "not last"])
def test_an_answer_that_the_ai_sdk_says_is_aborted_is_cancelled(service: Service, app: str, more: list[Any]) -> None:
    text = [{"type": "text-start", "id": "1"}, {"type": "text-delta", "id": "1", "delta": "It is "}]
    events = [{"type": "start"}, *text, {"type": "abort", "reason": "stopped"}, *more]
    with Reprise(service.url, app) as client:
        chat = client.create_chat("Picnic")
        assert list(chat.stream(iter(events))) == events
        (stream,) = chat.streams()
        assert (stream.state.value, stream.error) == ("cancelled", None)
        assert [message.content for message in chat.messages()] == ["It is "]


def test_an_answer_that_has_failed_and_is_aborted_has_failed() -> None:
    chunks = Chunks("m")
    for event in ({"type": "error", "errorText": "Overloaded"}, {"type": "abort"}):
        chunks.add(event)
    assert (chunks.state, chunks.failure) == ("failed", "Overloaded")
