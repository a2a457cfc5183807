"""The stores of AG2 1.x, judged by its own ones in memory."""

from __future__ import annotations

import asyncio
import random
from typing import Any
from uuid import uuid4

import httpx
import pytest
from ag2 import Agent, MemoryStream, tool
from ag2.events import BaseEvent, ModelMessage, ModelResponse, ToolCallEvent
from ag2.history import MemoryStorage
from ag2.knowledge import EventLogWriter, KnowledgeStore, MemoryKnowledgeStore
from ag2.testing import TestConfig

from reprise import AsyncReprise, InvalidValue
from reprise.stores.ag2 import RepriseKnowledgeStore, RepriseStorage

from .conftest import Line, Service
from .faults import AsyncFaults, nothing, refused
from .page import run_example


@pytest.mark.parametrize("seed", range(4))
async def test_files_are_as_in_memory(service: Service, app: str, seed: int) -> None:
    chance = random.Random(seed)
    async with AsyncReprise(service.url, app) as client:
        ours, theirs = RepriseKnowledgeStore(client), MemoryKnowledgeStore()
        paths = ["/a/b.txt", "a//b.txt/", "/a/c/d", "/a", "/ä %2F/x", "/a/..", "/ab"]
        for number in range(150):
            path, directory = chance.choice(paths), chance.choice([*paths, "/", "/none"])
            text = chance.choice(["", "ü\n", f"text {number}"])
            start, end = chance.randrange(12), chance.choice([None, 0, 5, 1_000])
            calls: list[tuple[str, tuple[Any, ...]]] = [
                ("read", (path,)),
                ("write", (path, text)),
                ("append", (path, text or "x")),
                ("list", (directory,)),
                ("delete", (directory,) if chance.random() < 0.3 else ("/a/b.txt",)),
                ("exists", (directory,)),
                ("read_range", (path, start, end)),
            ]
            name, arguments = chance.choice(calls)
            outcomes = [await outcome(store, name, arguments) for store in (ours, theirs)]
            assert outcomes[0] == outcomes[1], (name, arguments)


async def test_text_that_utf_8_does_not_have_is_refused(service: Service, app: str) -> None:
    async with AsyncReprise(service.url, app) as client:
        knowledge = RepriseKnowledgeStore(client)
        for call in (knowledge.write("/a", "b\ud83d"), knowledge.append("/a", "b\ud83d"), knowledge.write("/\ud83d", "b")):
            with pytest.raises(InvalidValue, match="replace it"):
                await call
        assert not await knowledge.exists("/a")


async def outcome(store: KnowledgeStore, name: str, arguments: tuple[Any, ...]) -> Any:
    try:
        return await getattr(store, name)(*arguments)
    except UnicodeDecodeError:
        return UnicodeDecodeError


async def test_appends_of_several_writers_say_where_they_are(service: Service, line: Line, app: str) -> None:
    async with AsyncReprise(service.url, app) as client, AsyncReprise(line.url, app) as broken:
        stores = [RepriseKnowledgeStore(client), RepriseKnowledgeStore(broken)]
        line.lost_answers = 3

        async def write(number: int) -> list[int]:
            return [await stores[number % 2].append("/log", f"{number:02}") for _ in range(10)]

        offsets = await asyncio.gather(*map(write, range(6)))
        text = await stores[0].read("/log")
        assert text is not None and len(text) == 120
        for number, places in enumerate(offsets):
            assert [text[place : place + 2] for place in places] == [f"{number:02}"] * 10


async def test_changes_are_told(service: Service, app: str) -> None:
    async with AsyncReprise(service.url, app) as client:
        store = RepriseKnowledgeStore(client)
        await store.write("/a/old", "1")
        changed: asyncio.Queue[str] = asyncio.Queue()
        subscription = await store.on_change("/a", changed.put)
        changes = [
            (store.append("/a/new", "1"), "/a/new"),
            (store.write("/a/old", "2"), "/a/old"),
            (store.delete("/a/new"), "/a/new"),
        ]
        for change, path in changes:
            await change
            assert await asyncio.wait_for(changed.get(), 5) == path
        await subscription.close()
        await store.write("/a/old", "3")
        await asyncio.sleep(0.2)
        assert changed.empty()


async def test_a_subscription_whose_start_is_cancelled_tells_nothing(service: Service, app: str) -> None:
    faults = AsyncFaults(refused("GET", f"/api/documents/{app}"))
    async with httpx.AsyncClient(transport=faults) as http, AsyncReprise(service.url, app, http=http) as client:
        store = RepriseKnowledgeStore(client)
        changed: asyncio.Queue[str] = asyncio.Queue()
        starting = asyncio.create_task(store.on_change("/a", changed.put))
        await asyncio.sleep(0.5)
        starting.cancel()
        await asyncio.wait([starting])
        faults.fault = nothing
        await store.write("/a/new", "1")
        await asyncio.sleep(2)
        assert changed.empty()


async def test_a_subscription_survives_a_list_that_fails(service: Service, app: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reprise.stores.ag2.PAUSE", 0.2)
    faults = AsyncFaults()
    count = 0

    def refuses_the_first_lists(request: httpx.Request) -> None:
        nonlocal count
        if request.url.path == f"/api/documents/{app}":
            count += 1
            if count <= 2:
                raise httpx.ConnectError("refused by the test")

    async with (
        httpx.AsyncClient(transport=faults) as http,
        AsyncReprise(service.url, app, http=http, retry_for=0) as client,
        AsyncReprise(service.url, app) as other,
    ):
        changed: asyncio.Queue[str] = asyncio.Queue()
        subscription = await RepriseKnowledgeStore(client).on_change("/a", changed.put)
        faults.fault = refuses_the_first_lists
        await asyncio.to_thread(service.restart)
        await RepriseKnowledgeStore(other).write("/a/new", "1")
        assert await asyncio.wait_for(changed.get(), 20) == "/a/new"
        assert count > 2
        await subscription.close()


async def test_the_parts_of_ag2_that_use_a_store_work(service: Service, app: str) -> None:
    async with AsyncReprise(service.url, app) as client:
        store = RepriseKnowledgeStore(client)
        assert isinstance(store, KnowledgeStore)
        log, stream_id = EventLogWriter(store), uuid4()
        events = [ModelMessage("one"), ModelMessage("two")]
        await log.persist_dropped(stream_id, events[:1])
        await log.persist(stream_id, events[1:])
        assert [event.to_dict() for event in await log.load(stream_id)] == [event.to_dict() for event in events]


@tool
def weather(place: str) -> str:
    """Tells the weather."""
    return f"It rains in {place}."


def forms(events: Any) -> list[tuple[type[BaseEvent], dict[str, Any]]]:
    return [(type(event), event.to_dict()) for event in events]


async def test_an_agent_goes_on_in_another_process(service: Service, app: str) -> None:
    async with AsyncReprise(service.url, app) as client:
        stream_id = uuid4()
        ours, theirs = RepriseStorage(client), MemoryStorage()

        async def ask(text: str, *answers: Any) -> None:
            for storage in (RepriseStorage(client), theirs):
                agent = Agent("planner", config=TestConfig(*answers), tools=[weather])
                await agent.ask(text, stream=MemoryStream(storage, id=stream_id))

        await ask("Where?", ToolCallEvent(id="1", name="weather", arguments='{"place": "Oslo"}'), "In Oslo.")
        first = forms(await ours.get_history(stream_id))
        await ask("Sure?", "Yes.")
        stored = forms(await ours.get_history(stream_id))
        assert stored[: len(first)] == first
        expected = forms(await theirs.get_history(stream_id))
        assert [kind for kind, _ in stored] == [kind for kind, _ in expected]
        assert ModelResponse in {kind for kind, _ in stored}
        texts = [event.content for event in await ours.get_history(stream_id) if isinstance(event, ModelResponse)]
        assert texts[-1] == "Yes."


async def test_a_history_is_replaced_and_dropped(service: Service, app: str) -> None:
    async with AsyncReprise(service.url, app) as client:
        storage, stream_id = RepriseStorage(client), uuid4()
        stream = MemoryStream(storage, id=stream_id)
        assert list(await stream.history.get_events()) == []
        events = [ModelMessage("one"), ModelMessage("zwei ü")]
        await stream.history.replace(events)
        assert forms(await storage.get_history(stream_id)) == forms(events)
        await storage.drop_history(stream_id)
        assert list(await storage.get_history(stream_id)) == []


async def test_the_example_of_the_page_runs(service: Service, app: str) -> None:
    stream_id = uuid4()
    await run_example("reprise.stores.ag2", service, app, stream_id=stream_id, config=TestConfig("Hi."))
    async with AsyncReprise(service.url, app) as client:
        assert await RepriseKnowledgeStore(client).list("/notes") == ["lake.md"]
        assert any(isinstance(event, ModelResponse) for event in await RepriseStorage(client).get_history(stream_id))
