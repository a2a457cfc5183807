"""What MozaiksAI's own persistence guide shows in Python runs: on a real service, with real group chats of AG2.

The calls are those of the guide. README.md lists what is a stub here, and why.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, cast

import pytest

# AG2 has types, and does not say so.
from autogen import (  # pyright: ignore[reportMissingTypeStubs]
    Agent,
    ConversableAgent,
    GroupChat,
    GroupChatManager,
)
from autogen.agentchat.group import (  # pyright: ignore[reportMissingTypeStubs]
    ContextVariables as ConversableContext,
)

from reprise import AsyncReprise, mozaiks
from reprise.mozaiks import AG2PersistenceManager, InvalidAppIdError, _normalize_to_strict_ag2

from .conftest import Service

UTC = timezone.utc
APP = "acme_corp"
WORKFLOW = "Generator"
logger = logging.getLogger("workflow")


@pytest.fixture(autouse=True)
def environment(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """The manager of the guide is created without arguments."""
    monkeypatch.setenv("REPRISE_URL", service.url)
    monkeypatch.setenv("REPRISE_APP_ID", APP)


@pytest.fixture
async def persistence(environment: None) -> AsyncIterator[AG2PersistenceManager]:
    mozaiks.install()
    # isort: off
    from core.data.persistence_manager import AG2PersistenceManager  # type: ignore[import-not-found]

    persistence = cast("mozaiks.AG2PersistenceManager", AG2PersistenceManager())
    yield persistence
    await persistence.aclose()


@pytest.fixture
def chat_id(app: str) -> str:
    """An id of the test alone: those of chats are unique in a service."""
    return f"chat_{app}"


@pytest.fixture
async def chat(persistence: AG2PersistenceManager, chat_id: str) -> str:
    """A chat that was created as the guide does."""
    await persistence.create_chat_session(
        chat_id=chat_id,
        app_id="acme_corp",
        workflow_name="Generator",
        user_id="user_456",
        cache_seed=2847561923,
    )
    return chat_id


@pytest.fixture
async def client(service: Service) -> AsyncIterator[AsyncReprise]:
    async with AsyncReprise(service.url, APP) as client:
        yield client


class Orchestration:
    """Stands for ``run_workflow_orchestration``: a group chat of AG2 whose agents need no model, and its persistence."""

    def __init__(self, persistence: AG2PersistenceManager) -> None:
        self._persistence = persistence
        self.context = ConversableContext()
        interviewer, architect = self._agent("interviewer"), self._agent("architect")
        self.user = ConversableAgent("user", llm_config=False, human_input_mode="NEVER")
        #: The user speaks when asked; the two agents speak in turn, until the architect has spoken.
        self.group_chat = GroupChat(
            [self.user, interviewer, architect], messages=[], max_round=9, speaker_selection_method=self._next
        )

    def _next(self, last: Agent, group: GroupChat) -> Agent | None:
        return group.agent_by_name({"user": "interviewer", "interviewer": "architect"}.get(last.name, "nobody"))

    def _agent(self, name: str) -> ConversableAgent:
        def reply(recipient: Any, messages: Any = None, sender: Any = None, config: Any = None) -> tuple[bool, str]:
            self.context.set(f"{name}_complete", True)
            return True, f"{name} has {len(messages)} messages"

        agent: Any = ConversableAgent(name, llm_config=False, human_input_mode="NEVER")
        agent.register_reply([Agent, None], reply, position=0)
        return cast("ConversableAgent", agent)

    async def run(self, chat_id: str, initial_message: str | None, **_: Any) -> list[dict[str, Any]]:
        """Starts the chat, or continues it from ``group_chat.messages`` without an initial message."""
        seeded = list(self.group_chat.messages)
        manager = GroupChatManager(self.group_chat, llm_config=False, silent=True)
        if initial_message is None:
            speaker, last = manager.resume(seeded, silent=True)
            begun = asyncio.to_thread(speaker.initiate_chat, manager, message=last, clear_history=False, silent=True)
        else:
            begun = asyncio.to_thread(self.user.initiate_chat, manager, message=initial_message, silent=True)
        await begun
        messages: list[dict[str, Any]] = self.group_chat.messages
        # The first message comes from the user, and is persisted by persist_initial_messages.
        for number, message in enumerate(messages[max(1, len(seeded)) :]):
            said = {"role": "assistant", "name": message["name"], "content": message["content"]}
            await self._persistence.append_message(chat_id, {**said, "event_id": f"evt_{len(seeded)}_{number}"})
        return messages


@pytest.fixture
def orchestration(persistence: AG2PersistenceManager) -> Orchestration:
    return Orchestration(persistence)


FIRST = "Create a todo app"
SAID = ["interviewer has 1 messages", "architect has 2 messages"]


async def contents(persistence: AG2PersistenceManager, chat_id: str) -> list[Any]:
    return [message["content"] for message in await persistence.load_chat_history(chat_id, APP)]


async def test_create_chat_session(persistence: AG2PersistenceManager, chat: str, client: AsyncReprise) -> None:
    session = await client.chat(chat).session()
    assert (session.workflow_name, session.user_id, session.cache_seed) == ("Generator", "user_456", 2847561923)
    assert await persistence.load_chat_history(chat, APP) == []
    assert await persistence.load_context_snapshot(chat, APP) == {}


async def test_append_message(persistence: AG2PersistenceManager, chat: str, client: AsyncReprise) -> None:
    await persistence.append_message(
        chat_id=chat,
        message={
            "role": "assistant",
            "name": "planner",
            "content": "Here's the plan...",
            "sequence": 5,
            "timestamp": datetime.now(UTC).isoformat(),
            "event_id": "evt_msg_005",
        },
    )
    (message,) = [message async for message in client.chat(chat).messages()]
    assert (message.sequence, message.event_id, message.name) == (0, "evt_msg_005", "planner")


async def test_load_chat_history(persistence: AG2PersistenceManager, chat: str) -> None:
    await persistence.append_message(chat, {"role": "user", "name": "user", "content": FIRST})
    await persistence.append_message(chat, {"role": "assistant", "name": "interviewer", "content": "What features?"})
    messages = await persistence.load_chat_history(chat_id=chat, app_id="acme_corp")
    assert messages == [
        {"role": "user", "name": "user", "content": "Create a todo app"},
        {"role": "assistant", "name": "interviewer", "content": "What features?"},
    ]


async def test_resume_flow(persistence: AG2PersistenceManager, chat: str, orchestration: Orchestration) -> None:
    chat_id, app_id, workflow_name = chat, APP, WORKFLOW
    group_chat, run_workflow_orchestration = orchestration.group_chat, orchestration.run
    await persistence.append_message(chat, {"role": "user", "name": "user", "content": FIRST})
    await persistence.append_message(chat, {"role": "assistant", "name": "interviewer", "content": SAID[0]})

    persisted_messages = await persistence.load_chat_history(chat_id, app_id)
    normalized = _normalize_to_strict_ag2(persisted_messages, default_user_name="user")
    group_chat.messages = normalized
    await run_workflow_orchestration(chat_id=chat_id, workflow_name=workflow_name, initial_message=None)

    assert await contents(persistence, chat) == [FIRST, *SAID]


async def test_persist_initial_messages(persistence: AG2PersistenceManager, chat: str) -> None:
    # Twice: the second is a duplicate.
    for _ in range(2):
        await persistence.persist_initial_messages(
            chat_id=chat,
            app_id="acme_corp",
            messages=[{"role": "user", "name": "user", "content": "Create a todo app"}],
        )
    assert await contents(persistence, chat) == ["Create a todo app"]


async def test_mark_chat_completed(persistence: AG2PersistenceManager, chat: str, client: AsyncReprise) -> None:
    await persistence.mark_chat_completed(chat_id=chat, app_id="acme_corp")
    session = await client.chat(chat).session()
    assert session.status.value == "completed" and session.completed_at is not None and session.duration_sec is not None
    stats = await client.request("GET", f"/api/stats/{APP}/{WORKFLOW}")
    assert stats["chat_sessions"][chat]["duration_sec"] == session.duration_sec


async def test_update_last_artifact(persistence: AG2PersistenceManager, chat: str, client: AsyncReprise) -> None:
    await persistence.update_last_artifact(
        chat_id=chat,
        app_id="acme_corp",
        artifact={
            "ui_tool_id": "code_editor",
            "event_id": "evt_xyz789",
            "display": "artifact",
            "workflow_name": "Generator",
            "payload": {"language": "python", "code": "def hello():\n    print('Hello')"},
        },
    )
    meta = await client.chat(chat).get("meta")
    assert meta["last_artifact"]["ui_tool_id"] == "code_editor"
    assert meta["last_artifact"]["payload"] == {"language": "python", "code": "def hello():\n    print('Hello')"}


async def test_update_context_snapshot_and_restore_it(
    persistence: AG2PersistenceManager, chat: str, orchestration: Orchestration
) -> None:
    chat_id, run_workflow_orchestration = chat, orchestration.run
    await persistence.update_context_snapshot(
        chat_id=chat,
        context_data={
            "interview_complete": True,
            "user_requirements": "Todo app with priority tags",
            "architect_decisions": {"framework": "React", "backend": "FastAPI"},
        },
    )

    snapshot = await persistence.load_context_snapshot(chat_id=chat, app_id="acme_corp")
    context = ConversableContext()
    for key, value in snapshot.items():
        context.set(key, value)
    await run_workflow_orchestration(chat_id=chat_id, context=context, initial_message=FIRST)

    assert context.get("architect_decisions") == {"framework": "React", "backend": "FastAPI"}
    assert await persistence.load_context_snapshot(chat) == context.to_dict()


def test_normalization_rules() -> None:
    from typing import List, Optional  # noqa: UP035  # As the guide writes the signature.

    raw_msgs: Optional[List[Any]] = [  # noqa: UP006, UP045
        "no dict",
        {"role": "system", "name": "a", "content": "no such role"},
        {"role": "assistant", "content": "no name"},
        {"role": "assistant", "name": "", "content": "an empty name"},
        {"role": "assistant", "name": 7, "content": "a name that is no string"},
        {"role": "assistant", "name": "a", "content": None},
        {"role": "user", "content": "fixed up"},
        {"role": "assistant", "name": "a", "content": {"kept": True}},
    ]
    assert _normalize_to_strict_ag2(raw_msgs, default_user_name="user") == [
        {"role": "user", "name": "user", "content": "fixed up"},
        {"role": "assistant", "name": "a", "content": {"kept": True}},
    ]
    assert _normalize_to_strict_ag2(None) == []


def test_example_transformation() -> None:
    persisted = [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "name": "planner", "content": "Hi there"},
        {"role": "system", "content": "System msg"},
    ]
    assert _normalize_to_strict_ag2(persisted) == [
        {"role": "user", "name": "user", "content": "Hello"},
        {"role": "assistant", "name": "planner", "content": "Hi there"},
    ]


async def test_pattern_1_resume_existing_chat(persistence: AG2PersistenceManager, chat_id: str) -> None:
    app_id, workflow_name = APP, WORKFLOW

    async def start_or_resume() -> ConversableContext:
        orchestration = Orchestration(persistence)
        group_chat, context, run_workflow_orchestration = orchestration.group_chat, orchestration.context, orchestration.run

        existing = await persistence.load_chat_history(chat_id, app_id)
        if existing:
            normalized = _normalize_to_strict_ag2(existing)
            group_chat.messages = normalized
            context_data = await persistence.load_context_snapshot(chat_id, app_id)
            for key, value in context_data.items():
                context.set(key, value)
            await run_workflow_orchestration(chat_id=chat_id, workflow_name=workflow_name, initial_message=None)
        else:
            await persistence.create_chat_session(chat_id, app_id, workflow_name)
            await persistence.persist_initial_messages(
                chat_id=chat_id, messages=[{"role": "user", "name": "user", "content": FIRST}]
            )
            await run_workflow_orchestration(chat_id=chat_id, initial_message=FIRST)
        return context

    await start_or_resume()
    assert await contents(persistence, chat_id) == [FIRST, *SAID]
    await persistence.update_context_snapshot(chat_id=chat_id, context_data={"interview_complete": True})
    await persistence.append_message(chat_id, {"role": "user", "name": "user", "content": "And tags"})
    context = await start_or_resume()
    assert context.get("interview_complete") is True
    found = await contents(persistence, chat_id)
    assert found == [FIRST, *SAID, "And tags", "interviewer has 4 messages", "architect has 5 messages"]


async def test_pattern_2_pause_and_resume_with_user_input(
    persistence: AG2PersistenceManager, chat: str, client: AsyncReprise
) -> None:
    chat_id = chat

    async def user_input_tool(prompt: str) -> Any:
        """Stands for the tool, whose questions went through the transport: a question of Reprise."""
        question = await client.chat(chat_id).ask(prompt, request_id="input_abc123")
        assert question.answer is not None
        return question.answer.content

    async def answer_from_the_frontend() -> None:
        submitted = {"type": "user.input.response", "request_id": "input_abc123", "value": "User's answer"}
        async for event in client.chat(chat_id).events():
            if event.name == "input-request":
                await client.chat(chat_id).answer(submitted["request_id"], submitted["value"], name="user")
                return

    answering = asyncio.create_task(answer_from_the_frontend())
    user_response = await user_input_tool(prompt="What features?")
    await answering
    assert user_response == "User's answer"
    # Reprise has stored the answer with the end of the question, so that nothing is lost if the tool dies here.
    assert await contents(persistence, chat) == ["User's answer"]
    await persistence.append_message(
        chat_id=chat_id,
        message={"role": "user", "name": "user", "content": "User's answer"},
    )
    assert await contents(persistence, chat) == ["User's answer"] * 2


async def test_invalid_app_id(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, chat_id: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The app of the guide is a valid id, but no registered app."""
    monkeypatch.setenv("REPRISE__APPS__REQUIRE_REGISTERED", "true")
    strict = Service(tmp_path)
    monkeypatch.setenv("REPRISE_URL", strict.url)
    persistence = AG2PersistenceManager()
    for app_id in ("invalid_id", "no id"):
        try:
            await persistence.create_chat_session(chat_id=chat_id, app_id=app_id)
        except InvalidAppIdError as e:
            logger.error(f"Invalid app: {e}")
    await persistence.aclose()
    strict.stop()
    assert [record.message.split(":")[0] for record in caplog.records if record.name == "workflow"] == ["Invalid app"] * 2


async def test_duplicate_chat_session(persistence: AG2PersistenceManager, chat: str, caplog: pytest.LogCaptureFixture) -> None:
    chat_id = chat
    try:
        await persistence.create_chat_session(chat_id=chat_id)
    except Exception as e:
        if "duplicate key" in str(e).lower():
            logger.warning(f"Chat {chat_id} already exists, resuming...")
        else:
            raise
    assert f"Chat {chat_id} already exists, resuming..." in caplog.messages


async def test_message_append_failure(
    persistence: AG2PersistenceManager, chat_id: str, caplog: pytest.LogCaptureFixture
) -> None:
    message = {"role": "user", "name": "user", "content": FIRST}
    try:
        await persistence.append_message(chat_id, message)
    except Exception as e:
        logger.error(f"Failed to append message to {chat_id}: {e}")
    assert any(text.startswith(f"Failed to append message to {chat_id}: chat-not-found") for text in caplog.messages)


async def test_best_practice_1_persist_initial_messages(persistence: AG2PersistenceManager, chat_id: str) -> None:
    initial_message = FIRST
    await persistence.create_chat_session(chat_id)
    await persistence.persist_initial_messages(
        chat_id=chat_id, messages=[{"role": "user", "name": "user", "content": initial_message}]
    )
    assert await contents(persistence, chat_id) == [initial_message]
    # The practice that it warns of: the first message is missing.
    other = Orchestration(persistence)
    await persistence.create_chat_session(f"{chat_id}_lost")
    await other.run(chat_id=f"{chat_id}_lost", initial_message=initial_message)
    assert await contents(persistence, f"{chat_id}_lost") == SAID


async def test_best_practice_2_normalize_before_resume(
    persistence: AG2PersistenceManager, chat: str, orchestration: Orchestration
) -> None:
    chat_id, app_id, group_chat = chat, APP, orchestration.group_chat
    await persistence.append_message(chat, {"role": "user", "content": FIRST})
    await persistence.append_message(chat, {"role": "system", "content": "hidden"})

    raw_msgs = await persistence.load_chat_history(chat_id, app_id)
    normalized = _normalize_to_strict_ag2(raw_msgs)
    group_chat.messages = normalized
    await orchestration.run(chat_id, None)
    assert await contents(persistence, chat) == [FIRST, *SAID]

    # The practice that it warns of does no harm here: what is loaded is in the strict format already.
    raw_msgs = await persistence.load_chat_history(chat_id, app_id)
    group_chat.messages = raw_msgs
    assert _normalize_to_strict_ag2(raw_msgs) == raw_msgs


async def test_best_practice_3_save_the_context_at_the_end(
    persistence: AG2PersistenceManager, chat: str, orchestration: Orchestration, client: AsyncReprise
) -> None:
    chat_id, app_id, context, run_workflow_orchestration = chat, APP, orchestration.context, orchestration.run
    try:
        await run_workflow_orchestration(chat_id, FIRST)
    finally:
        await persistence.update_context_snapshot(chat_id=chat_id, context_data=context.to_dict())
        await persistence.mark_chat_completed(chat_id, app_id)
    assert await persistence.load_context_snapshot(chat_id) == {"interviewer_complete": True, "architect_complete": True}
    assert (await client.chat(chat_id).session()).status.value == "completed"

    # The practice that it warns of: the context is missing.
    await persistence.create_chat_session(f"{chat_id}_lost")
    await Orchestration(persistence).run(f"{chat_id}_lost", FIRST)
    await persistence.mark_chat_completed(f"{chat_id}_lost", app_id)
    assert await persistence.load_context_snapshot(f"{chat_id}_lost") == {}


def test_troubleshooting_normalization(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    raw_msgs = [{"role": "user", "content": "Hello"}, {"role": "tool", "content": "42"}]
    normalized = _normalize_to_strict_ag2(raw_msgs, default_user_name="user")
    logger.info(f"Normalized {len(raw_msgs)} → {len(normalized)} messages")
    assert "Normalized 2 → 1 messages" in caplog.messages
