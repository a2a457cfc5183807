"""How turns and streams end if their last request fails, or their task is cancelled while it is sent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import suppress
from typing import Any

import httpx
import pytest
from typing_extensions import override

from reprise import AsyncReprise, Reprise, Unavailable, models

from .conftest import Service
from .faults import AsyncFaults, Faults, nothing, refused


async def cancelled_by_the_first(faults: AsyncFaults, path: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """Runs a task, which the first request to a path cancels; this request is refused, and sent again."""
    working = asyncio.create_task(work)

    def fault(request: httpx.Request) -> None:
        if request.url.path.endswith(path):
            faults.fault = nothing
            working.cancel()
            raise httpx.ConnectError("refused by the test")

    faults.fault = fault
    await asyncio.wait([working])
    return working


# Turns


def test_a_turn_that_cannot_be_stored_is_an_error(client: Reprise, faults: Faults) -> None:
    faults.fault = refused("POST", "/turns")
    chat = client.create_chat("Picnic")
    with pytest.raises(Unavailable):
        with chat.turn() as turn:
            turn.say("user", "Hello")


def test_what_a_turn_raised_is_not_replaced(client: Reprise, faults: Faults, caplog: pytest.LogCaptureFixture) -> None:
    faults.fault = refused("POST", "/turns")
    chat = client.create_chat("Picnic")
    with pytest.raises(ValueError, match="of the block"):
        with chat.turn("req-1"):
            raise ValueError("of the block")
    assert "req-1 was not stored" in caplog.text


async def test_a_cancelled_turn_that_cannot_be_stored_stays_cancelled(
    async_client: AsyncReprise, async_faults: AsyncFaults
) -> None:
    chat = await async_client.create_chat("Picnic")
    async_faults.fault = refused("POST", "/turns")
    started = asyncio.Event()

    async def work() -> None:
        async with chat.turn():
            started.set()
            await asyncio.sleep(30)

    working = asyncio.create_task(work())
    await started.wait()
    working.cancel()
    await asyncio.wait([working])
    assert working.cancelled()


async def test_a_turn_whose_task_is_cancelled_meanwhile_is_stored_before_its_lease_is_released(
    service: Service, app: str, async_faults: AsyncFaults
) -> None:
    async with httpx.AsyncClient(transport=async_faults) as http, AsyncReprise(service.url, app, http=http) as client:
        chat = await client.create_chat("Picnic")

        async def work() -> None:
            async with chat.lease("worker-1") as held, held.turn() as turn:
                turn.say("user", "Hello", name="user")

        working = await cancelled_by_the_first(async_faults, "/turns", work())
        assert working.cancelled()
        assert [message.content async for message in chat.messages()] == ["Hello"]


# Streams


def test_what_an_answer_raised_is_not_replaced(client: Reprise, faults: Faults, caplog: pytest.LogCaptureFixture) -> None:
    def breaks() -> Iterator[str]:
        yield "half"
        faults.fault = refused("POST", "/streams/")
        raise ValueError("of the model")

    chat = client.create_chat("Picnic")
    with pytest.raises(ValueError, match="of the model"):
        list(chat.stream(breaks()))
    assert "was not ended" in caplog.text


async def test_a_cancelled_answer_that_cannot_be_ended_stays_cancelled(
    async_client: AsyncReprise, async_faults: AsyncFaults
) -> None:
    chat = await async_client.create_chat("Picnic")
    said = asyncio.Event()

    async def silent() -> AsyncIterator[str]:
        yield "half"
        await asyncio.sleep(30)

    async def work() -> None:
        async for _ in chat.stream(silent()):
            said.set()

    working = asyncio.create_task(work())
    await said.wait()
    async_faults.fault = refused("POST", "/streams/")
    working.cancel()
    await asyncio.wait([working])
    assert working.cancelled()


async def test_an_answer_whose_task_is_cancelled_meanwhile_is_stored_before_its_lease_is_released(
    service: Service, app: str, async_faults: AsyncFaults
) -> None:
    async with httpx.AsyncClient(transport=async_faults) as http, AsyncReprise(service.url, app, http=http) as client:
        chat = await client.create_chat("Picnic")

        async def short() -> AsyncIterator[str]:
            yield "Hello"

        async def work() -> None:
            async with chat.lease("worker-1") as held:
                async for _ in held.stream(short()):
                    pass

        working = await cancelled_by_the_first(async_faults, "/end", work())
        assert working.cancelled()
        assert [message.content async for message in chat.messages()] == ["Hello"]


def test_a_chunk_that_is_no_json_fails_its_stream(client: Reprise) -> None:
    chat = client.create_chat("Picnic")
    with pytest.raises(TypeError):
        list(chat.stream(["half", {"type": "data-lake", "data": object()}]))
    (stream,) = chat.streams()
    assert stream.state is models.StreamState.failed


FAILED_EVENT = {"type": "response.failed", "response": {"error": {"message": "model said \ud83d"}}}


@pytest.mark.parametrize("failed", [ValueError("model said \ud83d"), FAILED_EVENT], ids=["raised", "said"])
def test_half_a_character_in_an_error_is_replaced(client: Reprise, failed: Any) -> None:
    def breaks() -> Iterator[Any]:
        yield {"type": "response.output_text.delta", "item_id": "i", "output_index": 0, "content_index": 0, "delta": "half"}
        if isinstance(failed, Exception):
            raise failed
        yield failed

    chat = client.create_chat("Picnic")
    with suppress(ValueError):
        list(chat.stream(breaks()))
    assert [(stream.state.value, stream.error) for stream in chat.streams()] == [("failed", "model said \ufffd")]


def test_half_a_character_in_the_error_of_a_step_is_replaced(client: Reprise) -> None:
    chat = client.create_chat("Picnic")
    with pytest.raises(ValueError, match="half"), chat.turn() as turn, turn.step("tool"):
        raise ValueError("half \ud83d, whole \ud83d\ude00")
    plan = chat.resume()
    assert plan.step is not None and plan.step.error == "ValueError: half \ufffd, whole 😀"


async def test_an_answer_that_is_cancelled_during_a_request_has_each_chunk_once(
    service: Service, app: str, async_faults: AsyncFaults
) -> None:
    async with httpx.AsyncClient(transport=async_faults) as http, AsyncReprise(service.url, app, http=http) as client:
        chat = await client.create_chat("Picnic")

        async def slow() -> AsyncIterator[str]:
            for number in range(50):
                yield f"{number} "
                await asyncio.sleep(0.01)

        async def work(begun: asyncio.Event) -> None:
            async for _ in chat.stream(slow()):
                begun.set()

        for count in range(8):
            begun = asyncio.Event()
            working = asyncio.create_task(work(begun))
            await begun.wait()
            await asyncio.sleep(0.1 + 0.02 * count)
            working.cancel()
            await asyncio.wait([working])
        said = [str(message.content).split() async for message in chat.messages()]
        assert len(said) == 8
        assert all(words == [str(number) for number in range(len(words))] for words in said)


async def test_an_answer_that_is_cancelled_while_its_stream_starts_is_ended(service: Service, app: str) -> None:
    started, answered = asyncio.Event(), asyncio.Event()

    class Slow(httpx.AsyncHTTPTransport):
        @override
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            response = await super().handle_async_request(request)
            if request.url.path.endswith("/streams"):
                started.set()
                await answered.wait()
            return response

    async with httpx.AsyncClient(transport=Slow()) as http, AsyncReprise(service.url, app, http=http) as client:
        chat = await client.create_chat("Picnic")

        async def short() -> AsyncIterator[str]:
            yield "Hello"

        async def work() -> None:
            async for _ in chat.stream(short()):
                pass

        working = asyncio.create_task(work())
        await started.wait()
        working.cancel()
        await asyncio.sleep(0)
        answered.set()
        await asyncio.wait([working])
        assert working.cancelled()
        (stream,) = await chat.streams()
        assert stream.state is models.StreamState.cancelled
