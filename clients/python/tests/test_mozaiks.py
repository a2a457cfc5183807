"""Code that was written for MozaiksAI's persistence runs unchanged."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import datetime, timezone
from typing import Any

import pytest

from reprise import AsyncReprise, Conflict, RepriseError, mozaiks
from reprise.mozaiks import AG2PersistenceManager, InvalidAppIdError, PersistenceManager

from .conftest import Line, Service


@pytest.fixture
async def persistence(service: Service, app: str) -> AsyncIterator[AG2PersistenceManager]:
    manager = AG2PersistenceManager(app, base_url=service.url)
    yield manager
    await manager.aclose()


@pytest.fixture
def trip(app: str) -> str:
    """The id of a chat: ids are unique among all apps."""
    return f"trip_{app}"


async def test_a_chat_is_resumed_from_what_was_stored(persistence: AG2PersistenceManager, app: str, trip: str) -> None:
    assert await persistence.load_chat_history(trip, app) == []
    await persistence.create_chat_session(chat_id=trip, app_id=app, workflow_name="Trips", user_id="alice", cache_seed=1_234)
    first = [{"role": "user", "name": "user", "content": "Plan a trip"}]
    for _ in range(2):
        await persistence.persist_initial_messages(chat_id=trip, app_id=app, messages=first)
    said = {"role": "assistant", "name": "planner", "content": {"days": 3}, "sequence": 1, "event_id": "evt-1"}
    for _ in range(2):
        stamped = {**said, "timestamp": datetime(2026, 1, 2, tzinfo=timezone.utc).isoformat()}
        assert await persistence.append_message(chat_id=trip, message=stamped) == 1
    await persistence.append_message(trip, {"role": "system", "content": "hidden"})
    history = await persistence.load_chat_history(chat_id=trip, app_id=app)
    assert history == [*first, {"role": "assistant", "name": "planner", "content": {"days": 3}}]
    assert mozaiks._normalize_to_strict_ag2(history) == history


async def test_context_artifact_and_end_are_kept(
    persistence: AG2PersistenceManager, service: Service, app: str, trip: str
) -> None:
    await persistence.create_chat_session(trip, app, "Trips", metadata=None)
    assert await persistence.load_context_snapshot(trip, app) == {}
    await persistence.update_context_snapshot(chat_id=trip, context_data={"done": True})
    assert await persistence.load_context_snapshot(trip, app) == {"done": True}
    artifact = {
        "ui_tool_id": "map",
        "event_id": "evt-2",
        "display": "artifact",
        "workflow_name": "Trips",
        "payload": {"zoom": 3},
    }
    await persistence.update_last_artifact(chat_id=trip, app_id=app, artifact=artifact)
    async with AsyncReprise(service.url, app) as client:
        meta: Any = await client.request("GET", f"/api/chats/{app}/{trip}/meta")
        assert meta["last_artifact"]["payload"] == {"zoom": 3}
        assert (await client.chat(trip).session()).visibility.value == "link"
    assert await persistence.mark_chat_completed(chat_id=trip, app_id=app)
    assert not await persistence.mark_chat_completed("no_such_chat", app)


async def test_a_second_creation_is_a_duplicate_key_and_a_repeat_is_none(
    persistence: AG2PersistenceManager, line: Line, app: str, trip: str
) -> None:
    retrying = AG2PersistenceManager(app, base_url=line.url)
    line.lost_answers = 2
    await retrying.create_chat_session(trip, app, "Trips")
    await retrying.aclose()
    with pytest.raises(Exception, match="duplicate key"):
        await persistence.create_chat_session(trip, app, "Trips")


async def test_an_app_id_that_is_none_is_refused(service: Service) -> None:
    persistence = AG2PersistenceManager(base_url=service.url)
    with pytest.raises(InvalidAppIdError):
        await persistence.create_chat_session(chat_id="trip", app_id="no app")
    with pytest.raises(InvalidAppIdError):
        await persistence.append_message("trip", {"role": "user", "content": "Hello"})
    await persistence.aclose()
    with pytest.raises(InvalidAppIdError, match="8080' is no app_id"):
        AG2PersistenceManager("http://127.0.0.1:8080")


async def test_tokens_are_counted(service: Service, app: str) -> None:
    manager = PersistenceManager(app, base_url=service.url)
    assert await manager.get_wallet_balance("alice") == 0
    assert await manager.ensure_wallet("alice", initial_balance=10) == 10
    for _ in range(2):
        assert await manager.credit_tokens("alice", 5, entry_id="gift") == 15
    assert await manager.debit_tokens("alice", 12, app) == 3
    with pytest.raises(RepriseError) as refused:
        await manager.debit_tokens("alice", 12)
    assert refused.value.code == "insufficient-tokens" and not isinstance(refused.value, Conflict)
    await manager.aclose()


def test_the_module_is_found_where_the_original_was() -> None:
    mozaiks.install()
    from core.data.persistence_manager import AG2PersistenceManager as Found  # type: ignore[import-not-found]

    assert Found is AG2PersistenceManager


def test_only_messages_that_ag2_accepts_are_kept() -> None:
    given = [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "nameless"},
        {"role": "assistant", "name": "planner", "content": ["a", "list"]},
        {"role": "assistant", "name": "planner", "content": None},
        {"role": "system", "name": "system", "content": "hidden"},
        "no message",
    ]
    assert mozaiks._normalize_to_strict_ag2(given, default_user_name="alice") == [
        {"role": "user", "name": "alice", "content": "Hello"},
        {"role": "assistant", "name": "planner", "content": ["a", "list"]},
    ]
    assert mozaiks._normalize_to_strict_ag2(None) == []


async def test_initial_messages_and_artifacts_are_taken_as_the_original_takes_them(
    persistence: AG2PersistenceManager, app: str, trip: str
) -> None:
    await persistence.create_chat_session(trip, app, "Trips")
    said: list[dict[str, Any]] = [
        {"role": "user", "content": None},
        {"content": "Plan a trip"},
        {"role": "assistant", "content": "Where?"},
        {"role": "assistant", "agent_name": "planner", "content": "When?"},
    ]
    await persistence.persist_initial_messages(trip, app, said)
    assert await persistence.load_chat_history(trip, app) == [
        {"role": "user", "name": "user", "content": "Plan a trip"},
        {"role": "assistant", "name": "assistant", "content": "Where?"},
        {"role": "assistant", "name": "planner", "content": "When?"},
    ]
    await persistence.update_last_artifact(trip, app, {"ui_tool_id": "map", "payload": {"zoom": 3}, "extra": 1})
