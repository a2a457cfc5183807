"""Sessions of the Claude Agent SDK: what it writes, and how it loads what is rendered.

Claude Code writes the messages of a session; it is a program that needs a model, so that the messages of the fixture
are written by hand here, after the documented types. The entries of titles, of tags and of forks are those that the SDK
itself writes.
"""

import asyncio
import json
import os
import subprocess
import tempfile
from datetime import datetime, timezone
from pathlib import Path
from unittest import mock
from uuid import UUID

import claude_agent_sdk as sdk
from claude_agent_sdk._internal import session_mutations
from claude_agent_sdk._internal.message_parser import parse_message
from claude_agent_sdk.testing import run_session_store_conformance

DIRECTORY = "/trip"
PROJECT = sdk.project_key_for_directory(DIRECTORY)
SESSION = str(UUID(int=1))
AGENT = "a1b2c3d"


class Store(sdk.SessionStore):
    """Keeps sessions as batches of entries; the program parses, stores and renders them when they are loaded."""

    def __init__(self, program: subprocess.Popen) -> None:
        self.program = program
        self.batches: dict[str, list[list[dict]]] = {}

    async def append(self, key: sdk.SessionKey, entries: list[dict]) -> None:
        if entries:
            self.batches.setdefault(json.dumps(key, sort_keys=True), []).append(entries)

    async def load(self, key: sdk.SessionKey) -> list[dict] | None:
        batches = self.batches.get(json.dumps(key, sort_keys=True))
        if batches is None:
            return None
        self.program.stdin.write(json.dumps(batches) + "\n")
        self.program.stdin.flush()
        return json.loads(self.program.stdout.readline())


def conformance(path: str, written: list[list[dict]]) -> int:
    """Runs the suite of the SDK, then loads the fixture in batches of every size; returns the number of loads."""
    with subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        asyncio.run(run_session_store_conformance(lambda: Store(program)))
        loads = 0
        for session in written:
            for size in range(1, len(session) + 1):
                store = Store(program)
                for start in range(0, len(session), size):
                    asyncio.run(store.append(key(session), session[start : start + size]))
                assert asyncio.run(store.load(key(session))) == session, f"batches of {size}"
                loads += 1
        program.stdin.close()
    return loads


def load_session(entries: list[dict]) -> None:
    """Loads entries from a store and from a file, as every function of the SDK that reads a session does."""
    store = sdk.InMemorySessionStore()
    session = key(entries)
    asyncio.run(store.append(session, entries))
    given = [(entry["type"], entry["uuid"], entry["message"]) for entry in entries]
    loaded = asyncio.run(sdk.get_session_messages_from_store(store, session["session_id"], DIRECTORY))
    assert [(it.type, it.uuid, it.message) for it in loaded] == given
    assert {it.session_id for it in loaded} == {session["session_id"]}
    assert messages_in_file(session["session_id"], entries) == loaded
    for entry in entries:
        assert parse_message(entry).content
    forked = asyncio.run(sdk.fork_session_via_store(store, session["session_id"], directory=DIRECTORY))
    again = asyncio.run(sdk.get_session_messages_from_store(store, forked.session_id, DIRECTORY))
    assert [(it.type, it.message) for it in again] == [(kind, message) for kind, _, message in given]


def messages_in_file(session_id: str, entries: list[dict]) -> list[sdk.SessionMessage]:
    """Returns the messages that the SDK reads from a transcript of Claude Code."""
    with tempfile.TemporaryDirectory() as home, mock.patch.dict(os.environ, CLAUDE_CONFIG_DIR=home):
        project = Path(home, "projects", PROJECT)
        project.mkdir(parents=True)
        lines = "".join(json.dumps(entry) + "\n" for entry in entries)
        (project / f"{session_id}.jsonl").write_text(lines)
        return sdk.get_session_messages(session_id, DIRECTORY)


def key(entries: list[dict]) -> sdk.SessionKey:
    named = (entry["sessionId"] for entry in entries if "sessionId" in entry)
    return {"project_key": PROJECT, "session_id": next(named)}


def written_sessions() -> list[list[dict]]:
    """Returns a session that the SDK renamed and tagged, its fork, and the session of a sub-agent."""
    session = session_of_claude_code()
    store = sdk.InMemorySessionStore()
    asyncio.run(store.append(key(session), session))
    numbers = iter(range(0x100, 0x200))
    with mock.patch.object(session_mutations, "uuid_mod", mock.Mock(uuid4=lambda: UUID(int=next(numbers)))), \
            mock.patch.object(session_mutations, "datetime", Clock):
        asyncio.run(sdk.rename_session_via_store(store, SESSION, "A trip to Oslo", DIRECTORY))
        asyncio.run(sdk.tag_session_via_store(store, SESSION, "travel", DIRECTORY))
        forked = asyncio.run(sdk.fork_session_via_store(store, SESSION, directory=DIRECTORY))
    fork = {"project_key": PROJECT, "session_id": forked.session_id}
    renamed = asyncio.run(store.load(key(session)))
    return [renamed, asyncio.run(store.load(fork)), session_of_sub_agent()]


class Clock(datetime):
    """Always tells the same time."""

    @classmethod
    def now(cls, tz: timezone | None = None) -> datetime:
        return datetime(2026, 1, 1, 12, tzinfo=tz)


class Transcript:
    """Writes entries as Claude Code does: each follows the one before it."""

    def __init__(self, **fields: object) -> None:
        self.fields = fields
        self.entries: list[dict] = []
        self.last: str | None = None

    def note(self, kind: str, **fields: object) -> None:
        """Adds an entry that is no part of the chain."""
        self.entries.append({"type": kind, **fields})

    def add(self, kind: str, **fields: object) -> str:
        """Adds an entry, and returns its UUID."""
        number = len(self.entries)
        uuid = str(UUID(int=0x6F1D2C3B_0000_4000_8000_000000000000 + number))
        time = f"2026-01-01T08:{number // 60:02}:{number % 60:02}.{number:03}Z"
        entry = {
            "parentUuid": self.last, "isSidechain": False, "userType": "external", "cwd": DIRECTORY,
            "sessionId": SESSION, "version": "2.1.220", "gitBranch": "main", "type": kind, "uuid": uuid,
            "timestamp": time,
        }
        self.entries.append(entry | self.fields | fields)
        self.last = uuid
        return uuid

    def user(self, content: object, **fields: object) -> str:
        return self.add("user", message={"role": "user", "content": content}, **fields)

    def answer(self, number: int, *blocks: dict, **fields: object) -> list[str]:
        """Adds an answer of the model, with an entry for each of its blocks."""
        usage = {
            "input_tokens": 4, "cache_creation_input_tokens": 5120, "cache_read_input_tokens": 0, "output_tokens": 87,
            "cache_creation": {"ephemeral_5m_input_tokens": 5120, "ephemeral_1h_input_tokens": 0},
            "service_tier": "standard",
        }
        message = {
            "model": "claude-opus-4-5-20251101", "id": f"msg_01{number:022}", "type": "message", "role": "assistant",
            "stop_reason": None, "stop_sequence": None, "usage": usage,
        }
        return [
            self.add("assistant", message=message | {"content": [block]}, requestId=f"req_{number}", **fields)
            for block in blocks
        ]

    def result(self, call: str, content: object, output: object, source: str, **fields: object) -> str:
        """Adds the result of a call; it follows the entry of its call."""
        block = {"tool_use_id": call, "type": "tool_result", "content": content} | fields
        message = {"role": "user", "content": [block]}
        own = {"toolUseResult": output, "sourceToolAssistantUUID": source, "parentUuid": source}
        return self.add("user", message=message, **own)


def text(text: str, **fields: object) -> dict:
    return {"type": "text", "text": text} | fields


def call(name: str, number: int, **arguments: object) -> dict:
    return {"type": "tool_use", "id": f"toolu_01{number:022}", "name": name, "input": arguments}


def thinking(words: str, signature: str = "EtUBCkYICxgCKkD") -> dict:
    return {"type": "thinking", "thinking": words, "signature": signature}


def media(kind: str, media_type: str, data: str, **fields: object) -> dict:
    return {"type": kind, "source": {"type": "base64", "media_type": media_type, "data": data}} | fields


def session_of_claude_code() -> list[dict]:
    it = Transcript()
    it.note("queue-operation", operation="enqueue", timestamp="2026-01-01T08:00:00.000Z", sessionId=SESSION,
            content="Where is it sunny?")
    it.note("queue-operation", operation="dequeue", timestamp="2026-01-01T08:00:00.001Z", sessionId=SESSION)
    it.note("file-history-snapshot", messageId=str(UUID(int=2)), isSnapshotUpdate=False, snapshot={
        "messageId": str(UUID(int=2)), "timestamp": "2026-01-01T08:00:00.002Z",
        "trackedFileBackups": {"notes/plan.md": {"backupFileName": None, "version": 1}}})
    it.add("attachment", attachment={"type": "hook_success", "hookName": "SessionStart:startup", "content": "ready",
                                     "hookEvent": "SessionStart", "exitCode": 0, "stdout": "ready\n", "stderr": ""})
    it.user("Where is it sunny?", promptId=str(UUID(int=3)), permissionMode="default")
    reading = call("Read", 1, file_path="/trip/plan.md", limit=20)
    searching = call("mcp__weather__forecast", 2, city="Oslo", days=2.5) | {"caller": {"type": "direct"}}
    _, _, first, second = it.answer(
        1, thinking("Which city?"), text("Let me look at the plan."), reading, searching)
    it.add("progress", toolUseID=reading["id"], parentToolUseID=reading["id"],
           data={"type": "hook_progress", "hookEvent": "PreToolUse", "hookName": "PreToolUse:Read", "command": "check"})
    it.result(reading["id"], "     1→Oslo", {"type": "text", "file": {
        "filePath": "/trip/plan.md", "content": "Oslo", "numLines": 1, "startLine": 1, "totalLines": 1}}, first)
    it.result(searching["id"], [text("clear"), media("image", "image/png", "iVBORw0KGgo=")],
              [text("clear"), media("image", "image/png", "iVBORw0KGgo=")], second)
    hidden = {"type": "redacted_thinking", "data": "EmwKAhgBEgy3va3pzix"}
    it.answer(2, thinking("", "EqQBCgIYAhIM"), hidden, text("\n\n"), text("It is sunny in Oslo."))
    it.add("system", subtype="turn_duration", durationMs=4210, messageCount=9, isMeta=False)
    it.user([text("What is this?"), media("image", "image/jpeg", "/9j/4AAQ"),
             media("document", "application/pdf", "JVBERi0=", title="ticket.pdf"),
             {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "A ticket."}}],
            imagePasteIds=[1])
    found = {"type": "web_search_result", "title": "Ferry", "url": "https://example.org/ferry",
             "encrypted_content": "EqgfCioIARgB", "page_age": None}
    citation = {"type": "web_search_result_location", "cited_text": "at noon", "title": "Ferry",
                "url": "https://example.org/ferry", "encrypted_index": "Eo8B"}
    it.answer(
        3,
        {"type": "server_tool_use", "id": "srvtoolu_01", "name": "web_search", "input": {"query": "ferry"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_01", "content": [found]},
        text("A ticket for the ferry at noon.", citations=[citation]))
    failing = call("Bash", 3, command="ferry book", description="Book the ferry")
    (source,) = it.answer(4, failing)
    it.result(failing["id"], "Exit code 1\nno seats", "Error: Exit code 1\nno seats", source, is_error=True)
    waiting = call("Bash", 4, command="ferry wait")
    (source,) = it.answer(5, waiting)
    it.result(waiting["id"], "booked", {"stdout": "booked", "stderr": "", "interrupted": False, "isImage": False},
              source, is_error=False)
    it.user([text("[Request interrupted by user]")], interruptedMessageId="msg_5")
    it.user("<local-command-caveat>Caveat: local commands follow.</local-command-caveat>", isMeta=True)
    it.user("<command-name>/compact</command-name>\n<command-message>compact</command-message>")
    it.add("system", subtype="local_command", content="<local-command-stdout>Compacted</local-command-stdout>",
           level="info", isMeta=False)
    before = it.last
    it.add("system", subtype="compact_boundary", content="Conversation compacted", isMeta=False, level="info",
           parentUuid=None, logicalParentUuid=before, compactMetadata={"trigger": "manual", "preTokens": 9120})
    it.user("This session continues one that is over: the ferry is booked.", isVisibleInTranscriptOnly=True,
            isCompactSummary=True)
    it.user("Thanks.")
    asking = call("Task", 5, description="Find a hotel", prompt="Find a hotel.", subagent_type="general-purpose")
    (source,) = it.answer(6, asking)
    it.result(asking["id"], [text("The Harbour Hotel.")], {
        "status": "completed", "agentId": AGENT, "content": [text("The Harbour Hotel.")], "totalTokens": 912,
        "totalDurationMs": 812, "totalToolUseCount": 0, "usage": {"input_tokens": 4, "output_tokens": 9}}, source)
    message = {
        "id": str(UUID(int=4)), "container": None, "model": "<synthetic>", "role": "assistant", "type": "message",
        "stop_reason": "stop_sequence", "stop_sequence": "", "context_management": None,
        "usage": {"input_tokens": 0, "output_tokens": 0, "server_tool_use": {"web_search_requests": 0}},
        "content": [text("API Error: 529 overloaded")]}
    it.add("assistant", message=message, isApiErrorMessage=True, error="server_error")
    it.note("content-replacement", sessionId=SESSION, uuid=str(UUID(int=5)), timestamp="2026-01-01T08:01:00.000Z",
            replacements=[{"kind": "tool-result", "toolUseId": reading["id"], "replacement": "(a file)"}])
    it.note("summary", summary="A trip to Oslo", leafUuid=it.last)
    it.note("ai-title", aiTitle="Sunny cities", sessionId=SESSION)
    it.note("last-prompt", lastPrompt="Thanks.", sessionId=SESSION)
    it.note("permission-mode", permissionMode="acceptEdits", sessionId=SESSION)
    it.note("permission-mode", permissionMode="acceptEdits", sessionId=SESSION)
    return it.entries


def session_of_sub_agent() -> list[dict]:
    it = Transcript(isSidechain=True, agentId=AGENT)
    it.note("agent_metadata", agentType="general-purpose", description="Find a hotel")
    it.user("Find a hotel.")
    looking = call("Grep", 6, pattern="hotel")
    _, source = it.answer(7, text("Looking."), looking)
    it.result(looking["id"], "The Harbour Hotel", {"mode": "content", "numFiles": 1}, source)
    it.answer(8, text("The Harbour Hotel."))
    return it.entries
