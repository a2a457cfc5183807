"""What is different with asyncio: cancellation."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from reprise import AsyncReprise, Fenced, InvalidRequest, Reprise, models

from .conftest import Service

HELLO = {"role": "user", "name": "user", "content": "Hello"}


async def test_a_chat_is_written_and_read(service: Service, app: str) -> None:
    async with AsyncReprise(service.url, app) as client:
        chat = await client.create_chat("Picnic")
        await asyncio.gather(*(chat.append(HELLO) for _ in range(20)))
        assert [message.sequence async for message in chat.messages(page_size=7)] == list(range(20))
        heard: list[str] = []
        async for event in chat.events(after=17):
            heard.append(event.name)
            if event.name == "caught-up":
                break
        assert heard == ["message", "message", "caught-up"]


async def test_a_lost_lease_cancels_the_block(service: Service, app: str) -> None:
    async with AsyncReprise(service.url, app) as client:
        chat = await client.create_chat("Picnic")
        with pytest.raises(Fenced):
            async with chat.lease("worker-1", ttl=0.6) as held:
                await client.request("DELETE", f"/api/chats/{app}/{chat.chat_id}/lease/{held.fencing_token}")
                await asyncio.sleep(30)
        async with chat.lease("worker-1", ttl=0.6) as held:
            await asyncio.sleep(1.5)
            await held.append(HELLO)


async def test_a_cancelled_turn_is_written_as_interrupted(service: Service, app: str) -> None:
    async with AsyncReprise(service.url, app) as client:
        chat = await client.create_chat("Picnic")

        async def work() -> None:
            async with chat.turn("req-1") as turn:
                turn.say("user", "Hello", name="user")
                with turn.step("llm", assistant_id="planner"):
                    await asyncio.sleep(30)

        working = asyncio.create_task(work())
        await asyncio.sleep(0.1)
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working
        plan = await chat.resume()
        assert plan.action == models.Action.continue_
        assert plan.step is not None and plan.step.assistant_id == "planner"


async def test_a_question_is_answered_while_it_is_waited_for(service: Service, app: str) -> None:
    async with AsyncReprise(service.url, app) as client:
        chat = await client.create_chat("Picnic")
        asking = asyncio.create_task(chat.ask("Go?", request_id="ask-1", kind="confirm"))
        async for event in chat.events():
            if event.name == "input-request":
                await chat.answer("ask-1", True)
                break
        question = await asking
        assert question.answer is not None and question.answer.content is True


@pytest.mark.parametrize("size", [9 * 2**20, 20 * 2**20])
async def test_a_body_that_is_too_large_is_refused_at_once(service: Service, app: str, size: int) -> None:
    async with AsyncReprise(service.url, app, retry_for=5) as client:
        with pytest.raises(InvalidRequest) as refused:
            await client.documents.put("notes/lake", b"x" * size)
        assert refused.value.status == 413
        chat = await client.create_chat("Picnic")
        with pytest.raises(InvalidRequest) as refused:
            await chat.set_context({"notes": "x" * size})
        assert refused.value.status == 413
    with Reprise(service.url, app, retry_for=5) as threaded, pytest.raises(InvalidRequest):
        threaded.documents.put("notes/lake", b"x" * size)


async def test_a_task_that_is_cancelled_holds_no_lease(service: Service, app: str) -> None:
    answered, inside = asyncio.Event(), asyncio.Event()

    class Slow(httpx.AsyncHTTPTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            response = await super().handle_async_request(request)
            if request.method == "POST":
                answered.set()
                await asyncio.sleep(0.05)
            return response

    async with httpx.AsyncClient(transport=Slow()) as http, AsyncReprise(service.url, app, http=http) as client:

        async def work() -> None:
            async with chat.lease("worker-1"):
                inside.set()

        for event in (answered, inside):
            chat = await client.create_chat("Picnic")
            event.clear()
            working = asyncio.create_task(work())
            await event.wait()
            working.cancel()
            with pytest.raises(asyncio.CancelledError):
                await working
            await chat.lease("worker-2").acquire()


async def test_a_turn_that_is_cancelled_while_it_is_written_is_stored(service: Service, app: str) -> None:
    async def work() -> None:
        async with chat.turn() as turn:
            turn.say("user", "Hello", name="user")

    started = asyncio.Event()

    class Slow(httpx.AsyncHTTPTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            started.set()
            await asyncio.sleep(0.1)
            return await super().handle_async_request(request)

    async with AsyncReprise(service.url, app) as client:
        chat_id = (await client.create_chat("Picnic")).chat_id
        async with httpx.AsyncClient(transport=Slow()) as http:
            chat = AsyncReprise(service.url, app, http=http).chat(chat_id)
            working = asyncio.create_task(work())
            await started.wait()
            working.cancel()
            with pytest.raises(asyncio.CancelledError):
                await working
        assert [message.content async for message in client.chat(chat_id).messages()] == ["Hello"]


async def test_a_timeout_goes_on_although_the_turn_is_not_written(app: str) -> None:
    async def work() -> None:
        async with chat.turn():
            await asyncio.sleep(30)

    async with AsyncReprise("http://127.0.0.1:9", app, retry_for=0.2) as client:
        chat = client.chat("chat_1")
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(work(), 0.05)
