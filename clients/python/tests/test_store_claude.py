"""The store of the Claude Agent SDK, judged by the SDK's own suite."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any, cast

import httpx
import pytest
from claude_agent_sdk import SessionKey, SessionStoreEntry
from claude_agent_sdk.testing import run_session_store_conformance

from reprise import AsyncReprise
from reprise.stores.claude import RepriseSessionStore

from .conftest import Line, Service
from .faults import AsyncFaults, nothing, refused
from .page import run_example

KEY: SessionKey = {"project_key": "-home-ada-lake", "session_id": "session-1"}


def entry(name: str | None = None, **fields: Any) -> SessionStoreEntry:
    return cast("SessionStoreEntry", {"type": "user", **({"uuid": name} if name else {}), **fields})


async def names(store: RepriseSessionStore, key: SessionKey = KEY) -> list[str | None]:
    return [stored.get("uuid") for stored in await store.load(key) or []]


async def test_the_contracts_of_the_sdk_hold(service: Service, app: str) -> None:
    async with AsyncReprise(service.url, app) as client:
        await run_session_store_conformance(lambda: RepriseSessionStore(client, prefix=uuid.uuid4().hex))


async def test_an_entry_is_stored_once_by_its_id(service: Service, app: str) -> None:
    async with AsyncReprise(service.url, app) as client:
        store, other = RepriseSessionStore(client), RepriseSessionStore(client)
        await store.append(KEY, [entry("a"), entry(), entry("b")])
        await store.append(KEY, [entry("b"), entry("c"), entry("c")])
        await other.append(KEY, [entry("a"), entry("d")])
        await store.append(KEY, [entry("d"), entry()])
        await other.append(KEY, [entry("c"), entry("a")])
        assert await names(store) == ["a", None, "b", "c", "d", None]


async def test_several_writers_lose_nothing_and_keep_their_order(service: Service, app: str) -> None:
    async with AsyncReprise(service.url, app) as client:
        stores = [RepriseSessionStore(client) for _ in range(4)]

        async def write(number: int) -> None:
            for count in range(15):
                new = [entry(f"{number}-{count}-0"), entry(f"{number}-{count}-1"), entry(mode="same")]
                await stores[number].append(KEY, new if count % 2 else new[:2])

        await asyncio.gather(*map(write, range(4)))
        stored = await names(stores[0])
        for number in range(4):
            expected = [f"{number}-{count}-{part}" for count in range(15) for part in range(2)]
            assert [name for name in stored if name and name.startswith(f"{number}-")] == expected
        assert stored.count(None) == 4 * 7


async def test_a_summary_has_every_entry_of_every_writer(service: Service, app: str) -> None:
    async with AsyncReprise(service.url, app) as client:
        stores = [RepriseSessionStore(client) for _ in range(3)]
        written = [[entry(f"{number}-{count}", customTitle=f"{number}-{count}") for count in range(6)] for number in range(3)]

        async def write(number: int) -> None:
            for new in written[number]:
                await stores[number].append(KEY, [new])

        await asyncio.gather(*map(write, range(3)))
        (summary,) = await stores[0].list_session_summaries(KEY["project_key"])
        assert summary["data"]["custom_title"] == (await names(stores[0]))[-1]


async def test_a_session_that_was_deleted_elsewhere_begins_again(service: Service, app: str) -> None:
    async with AsyncReprise(service.url, app) as client:
        store, other = RepriseSessionStore(client), RepriseSessionStore(client)
        await store.append(KEY, [entry("a"), entry("b")])
        await other.delete(KEY)
        await store.append(KEY, [entry("a"), entry("c")])
        assert await names(store) == ["a", "c"]
        await other.delete(KEY)
        await other.append(KEY, [entry("x"), entry("y")])
        await store.append(KEY, [entry("c")])
        assert await names(store) == ["x", "y", "c"]
        (summary,) = await store.list_session_summaries(KEY["project_key"])
        assert summary["session_id"] == KEY["session_id"]


async def test_a_batch_whose_answer_is_lost_is_stored_once(line: Line, app: str) -> None:
    async with AsyncReprise(line.url, app) as client:
        store = RepriseSessionStore(client)
        for number in range(4):
            line.lost_answers = 1 + number % 2
            await store.append(KEY, [entry(str(number)), entry()] if number % 2 else [entry()])
        assert await names(store) == [None, "1", None, None, "3", None]


async def test_an_append_whose_summary_fails_has_stored_its_entries(service: Service, app: str) -> None:
    faults = AsyncFaults(refused("PUT", "/summaries/"))
    async with httpx.AsyncClient(transport=faults) as http, AsyncReprise(service.url, app, http=http, retry_for=0) as client:
        store = RepriseSessionStore(client)
        await store.append(KEY, [entry("a"), entry(customTitle="By the lake")])
        faults.fault = nothing
        await store.append(KEY, [entry("b")])
        assert await names(store) == ["a", None, "b"]
        (summary,) = await store.list_session_summaries(KEY["project_key"])
        assert summary["data"]["custom_title"] == "By the lake"


async def test_entries_of_any_text_and_size_come_back(service: Service, app: str) -> None:
    key: SessionKey = {"project_key": "a/b %", "session_id": "..", "subpath": "subagents/x//é"}
    large = [entry(f"large-{number}", text="x" * 3_000_000) for number in range(4)]
    odd = [entry("odd", text="line\u2028 \ud83d \n", number=2**70)]
    async with AsyncReprise(service.url, app) as client:
        store = RepriseSessionStore(client)
        await store.append(key, large + odd)
        assert await store.load(key) == large + odd
        assert await store.list_subkeys({"project_key": "a/b %", "session_id": ".."}) == ["subagents/x//é"]
        with pytest.raises(ValueError, match="too long"):
            await store.load({"project_key": "p" * 257, "session_id": "s"})


async def test_the_example_of_the_page_runs(service: Service, app: str) -> None:
    names = await run_example("reprise.stores.claude", service, app)
    assert isinstance(names["options"].session_store, RepriseSessionStore)
