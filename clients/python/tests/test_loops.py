"""One client, and one store, in several event loops: one after the other, or at the same time in threads."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any

import httpx
import pytest
from google.adk.agents import BaseAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events.event import Event
from google.adk.runners import Runner
from google.genai import types
from typing_extensions import override

from reprise import AsyncReprise
from reprise.stores._locks import LoopLock
from reprise.stores.adk import RepriseSessionService

from .conftest import Line, Service

HELLO = {"role": "user", "name": "user", "content": "Hello"}


def in_threads(count: int, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Runs coroutines in as many threads, each with its own event loop, and waits for all of them."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            asyncio.run(work())
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads)
    assert errors == []


def test_a_client_works_in_one_loop_after_the_other(line: Line, app: str) -> None:
    client = AsyncReprise(line.url, app, retry_for=5)

    async def work() -> None:
        for _ in range(3):
            await client.documents.append("notes/lake", b"x")

    for _ in range(3):
        asyncio.run(work())
    assert line.accepted == 3
    asyncio.run(client.aclose())
    gc.collect()
    assert len(client._transport._places) == 0

    async def read() -> bytes:
        async with AsyncReprise(line.url, app) as other:
            return (await other.documents.read("notes/lake")).data

    assert asyncio.run(read()) == b"x" * 9


def test_a_client_works_in_the_loops_of_several_threads(service: Service, app: str) -> None:
    client = AsyncReprise(service.url, app, retry_for=5)

    async def work() -> None:
        chat = await client.create_chat("Picnic")
        for _ in range(10):
            await chat.append(HELLO)
        assert [message.sequence async for message in chat.messages()] == list(range(10))
        await client.aclose()

    in_threads(4, work)


def test_connections_that_the_caller_brought_belong_to_one_loop(service: Service, app: str) -> None:
    client = AsyncReprise(service.url, app, http=httpx.AsyncClient())

    async def work() -> None:
        await client.documents.put("notes/lake", b"x")

    asyncio.run(work())
    with pytest.raises(RuntimeError, match=r"http= .* another event loop"):
        asyncio.run(work())
    asyncio.run(client.aclose())


class Echo(BaseAgent):
    """Says one word in each run."""

    @override
    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        content = types.Content(role="model", parts=[types.Part(text="Hello")])
        yield Event(author=self.name, invocation_id=ctx.invocation_id, content=content)


def test_a_runner_of_the_adk_makes_a_loop_for_each_run(service: Service, app: str) -> None:
    sessions = RepriseSessionService(AsyncReprise(service.url, app, retry_for=5))
    runner = Runner(app_name="picnic", agent=Echo(name="echo"), session_service=sessions, auto_create_session=True)
    asked = types.Content(role="user", parts=[types.Part(text="Hi")])
    for _ in range(3):
        said = list(runner.run(user_id="ada", session_id="lake", new_message=asked))
        assert [event.author for event in said] == ["echo"]
    session = asyncio.run(sessions.get_session(app_name="picnic", user_id="ada", session_id="lake"))
    assert session is not None
    assert [event.author for event in session.events] == ["user", "echo"] * 3


def test_a_session_service_of_the_adk_works_in_the_loops_of_several_threads(service: Service, app: str) -> None:
    sessions = RepriseSessionService(AsyncReprise(service.url, app, retry_for=5))

    async def work() -> None:
        session = await sessions.create_session(app_name="picnic", user_id="ada")
        for _ in range(5):
            await sessions.append_event(session, Event(author="user"))
        found = await sessions.get_session(app_name="picnic", user_id="ada", session_id=session.id)
        assert found is not None and len(found.events) == 5

    in_threads(4, work)


def test_a_lock_excludes_the_tasks_of_all_loops() -> None:
    lock, inside, most = LoopLock(), 0, 0

    async def enter() -> None:
        nonlocal inside, most
        async with lock:
            inside += 1
            most = max(most, inside)
            try:
                await asyncio.sleep(0.002)
            finally:
                inside -= 1

    async def work() -> None:
        leaving = asyncio.create_task(enter())
        await asyncio.sleep(0)
        leaving.cancel()
        await asyncio.gather(*(enter() for _ in range(5)))

    in_threads(4, work)
    assert most == 1
