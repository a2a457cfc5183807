"""A client of the wrong kind is refused when the store is made, not when its calls do nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from reprise import AsyncReprise, Reprise
from reprise.stores.adk import RepriseSessionService
from reprise.stores.claude import RepriseSessionStore
from reprise.stores.langchain import RepriseChatMessageHistory
from reprise.stores.langgraph import RepriseSaver, RepriseStore
from reprise.stores.openai_agents import RepriseSession
from reprise.stores.pydantic_ai import RepriseMessageHistory

ASYNC: list[Callable[[Any], object]] = [
    RepriseSessionService,
    RepriseSessionStore,
    lambda client: RepriseChatMessageHistory("s1", async_client=client),
    lambda client: RepriseSession("s1", client=client),
    lambda client: RepriseMessageHistory("s1", client=client),
]
SYNC: list[Callable[[Any], object]] = [
    RepriseSaver,
    RepriseStore,
    lambda client: RepriseChatMessageHistory("s1", client=client),
]


def test_a_store_refuses_a_client_of_the_wrong_kind() -> None:
    with Reprise("http://127.0.0.1:1", "acme_corp") as client:
        for make in ASYNC:
            with pytest.raises(TypeError, match="class AsyncReprise, and not Reprise"):
                make(client)
        for make in SYNC:
            make(client)


async def test_a_store_for_threads_refuses_a_client_for_asyncio() -> None:
    async with AsyncReprise("http://127.0.0.1:1", "acme_corp") as client:
        for make in SYNC:
            with pytest.raises(TypeError, match="class Reprise, and not AsyncReprise"):
                make(client)
        for make in ASYNC:
            make(client)
