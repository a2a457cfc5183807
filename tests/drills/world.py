"""What a load knows: the services, its clients, and every write that was acknowledged."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import httpx

from client import Client, Refused, Tally
from processes import Fault, Service
from tokens import bearer

WORDS = "rain lake boat picnic cheese bread map train ticket umbrella wind sun hill road river bridge tent fire".split()
PERSONS = ("alice", "bob", "carol", "dora")
CATCH_UP_SEC = 120
MAX_FINDINGS = 200


@dataclass
class Known:
    """A message as its writer knows it."""

    event_id: str
    content: Any
    is_deleted: bool = False

    @classmethod
    def of(cls, stored: dict[str, Any]) -> Known:
        """Returns a stored message as its writer knows it."""
        is_deleted = stored.get("deleted_at") is not None
        return cls(stored["event_id"], None if is_deleted else stored["content"], is_deleted)


@dataclass
class Chat:
    """A chat, and what was acknowledged of it."""

    app_id: str
    chat_id: str
    owner: str
    messages: dict[int, Known] = field(default_factory=dict[int, Known])
    #: Whether no caller finds the chat any more, because of something that the load has done.
    is_gone: bool = False
    status: str = "running"
    context: dict[str, Any] | None = None
    artifact: Any = None
    calls: set[str] = field(default_factory=set[str])
    tool_runs: set[str] = field(default_factory=set[str])
    questions: dict[str, str] = field(default_factory=dict[str, str])
    #: Positions that a read has shown, with the ids of their messages.
    shown: dict[int, str] = field(default_factory=dict[int, str])

    @property
    def path(self) -> str:
        return f"/api/chats/{self.app_id}/{self.chat_id}"

    def acknowledge(self, sequence: int, event_id: str, content: Any) -> None:
        """Notes a message that a service has acknowledged at a position."""
        known = self.messages.setdefault(sequence, Known(event_id, content))
        if known.event_id != event_id:
            raise Fault(f"{self.chat_id}: position {sequence} was acknowledged to {known.event_id} and {event_id}")

    def acknowledge_all(self, answer: dict[str, Any], messages: list[tuple[str | None, Any]]) -> list[int]:
        """Notes the messages of an answer, and returns their positions; those without an id get theirs from it."""
        placed = answer["messages"]
        if len(placed) != len(messages):
            raise Fault(f"{self.chat_id}: {len(messages)} messages were sent, and {len(placed)} acknowledged")
        for (event_id, content), place in zip(messages, placed, strict=True):
            if event_id not in (None, place["event_id"]):
                raise Fault(f"{self.chat_id}: {event_id} was sent, and {place['event_id']} acknowledged")
            self.acknowledge(place["sequence"], place["event_id"], content)
        return [it["sequence"] for it in placed]

    def edit(self, sequence: int, content: Any) -> None:
        """Notes an edit."""
        self.messages[sequence] = Known(self.messages[sequence].event_id, content)

    def delete(self, sequence: int) -> None:
        """Notes a deletion."""
        self.messages[sequence] = Known(self.messages[sequence].event_id, None, is_deleted=True)

    def fork(self, chat_id: str, sequence: int, owner: str) -> Chat:
        """Returns what a fork of the chat holds."""
        shared = {it: replace(known) for it, known in self.messages.items() if it < sequence}
        return Chat(self.app_id, chat_id, owner, shared)

    def find_differences(self, stored: list[Known]) -> list[str]:
        """Compares what is stored with what was acknowledged."""
        found = [f"{self.chat_id}: stored twice: {it}" for it, count in count_ids(stored).items() if count > 1]
        for sequence in sorted(set(range(len(stored))) | set(self.messages)):
            known = self.messages.get(sequence)
            message = stored[sequence] if sequence < len(stored) else None
            if known is None:
                found.append(f"{self.chat_id}: {message and message.event_id} at {sequence} was never acknowledged")
            elif message is None or known.event_id != message.event_id:
                there = message and message.event_id
                found.append(f"{self.chat_id}: acknowledged and lost: {known.event_id} at {sequence}, there is {there}")
            elif known.is_deleted != message.is_deleted:
                word = "is not deleted" if known.is_deleted else "is deleted"
                found.append(f"{self.chat_id}: {known.event_id} at {sequence} {word}")
            elif known.content != message.content:
                texts = f"{str(message.content)[:60]!r}, acknowledged was {str(known.content)[:60]!r}"
                found.append(f"{self.chat_id}: another text: {known.event_id} at {sequence}: {texts}")
        for sequence, event_id in self.shown.items():
            if sequence >= len(stored) or stored[sequence].event_id != event_id:
                found.append(f"{self.chat_id}: {event_id} was shown at {sequence}, and is not there")
        return found


def count_ids(messages: list[Known]) -> Counter[str]:
    """Counts the messages by id."""
    return Counter(it.event_id for it in messages)


@dataclass
class World:
    """Everything that the parts of a load share."""

    services: list[Service]
    seed: str
    pace: float
    tally: Tally = field(default_factory=Tally)
    chats: list[Chat] = field(default_factory=list[Chat])
    findings: list[str] = field(default_factory=list[str])
    events: Counter[str] = field(default_factory=Counter[str])
    is_stopping: bool = False
    last_append: float = field(default_factory=time.monotonic)
    longest_outage_sec: float = 0
    started: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        draw = self.draw("clients")
        self.orchestrator = Client(self.services, bearer("orchestrator", "service"), self.tally, draw)
        self.operator = Client(self.services, bearer("olga", "operator"), self.tally, draw)
        self.persons = {it: self.orchestrator.as_person(it) for it in PERSONS}

    async def close(self) -> None:
        """Closes all connections."""
        for client in [self.orchestrator, self.operator, *self.persons.values()]:
            await client.close()

    def draw(self, name: str) -> random.Random:
        """Returns the random numbers of one part of the load."""
        return random.Random(f"{self.seed} {name}")

    def find(self, what: str) -> None:
        """Notes a finding."""
        print(f"FOUND at {time.monotonic() - self.started:.0f} s: {what[:1500]}", flush=True)
        if len(self.findings) < MAX_FINDINGS:
            self.findings.append(what)

    def note_append(self) -> None:
        """Notes that an append was acknowledged."""
        now = time.monotonic()
        self.longest_outage_sec = max(self.longest_outage_sec, now - self.last_append)
        self.last_append = now

    async def rest(self, draw: random.Random, seconds: float) -> None:
        """Waits for about some seconds at full pace, less as soon as the load stops."""
        until = time.monotonic() + seconds / self.pace * draw.uniform(0.5, 1.5)
        while not self.is_stopping and (left := until - time.monotonic()) > 0:
            await asyncio.sleep(min(left, 0.5))

    async def create_chat(self, app_id: str, chat_id: str, owner: str, **more: Any) -> Chat:
        """Creates a chat."""
        body = {"chat_id": chat_id, "workflow_name": "Picnic", "user_id": owner, "title": f"The {chat_id} chat", **more}
        await self.orchestrator.call("create a chat", "POST", f"/api/chats/{app_id}", body)
        chat = Chat(app_id, chat_id, owner)
        self.chats.append(chat)
        return chat

    async def append(self, chat: Chat, messages: list[tuple[str, str]], kind: str, **request: Any) -> list[int]:
        """Appends messages of the role assistant, and notes and returns their positions."""
        body = [{"event_id": it, "role": "assistant", "name": "writer", "content": text} for it, text in messages]
        answer = await self.orchestrator.call(kind, "POST", f"{chat.path}/messages", {"messages": body}, **request)
        places = chat.acknowledge_all(answer, list(messages))
        self.note_append()
        return places

    async def read_all(self, chat: Chat, kind: str = "read everything back") -> list[Known]:
        """Reads all messages of a chat."""
        messages = await self.orchestrator.read_list(kind, f"{chat.path}/messages?after=-1")
        for sequence, message in enumerate(messages):
            if message["sequence"] != sequence:
                raise Fault(f"{chat.chat_id}: position {sequence} is taken by {message['sequence']}")
        return [Known.of(it) for it in messages]


def make_text(draw: random.Random, most: int = 60) -> str:
    """Makes a text, long enough now and then for messages to be sealed soon."""
    return " ".join(draw.choices(WORDS, k=draw.randint(4, most)))


class Follower:
    """A subscriber of a chat, which reconnects with the id of its last event."""

    def __init__(self, world: World, chat: Chat, name: str) -> None:
        self.picture: list[Known] = []
        self._world = world
        self._chat = chat
        self._draw = world.draw(f"follower {name}")
        self._task = asyncio.create_task(self._follow())

    async def _follow(self) -> None:
        last_id: str | None = None
        while True:
            try:
                async with asyncio.timeout(self._draw.expovariate(1 / 25) + 1):
                    async for name, event_id, data in self._world.orchestrator.events(self._chat.path, last_id):
                        last_id = event_id or last_id
                        self._world.events[name] += 1
                        if name.startswith("message"):
                            self._receive(name, json.loads(data))
            except (TimeoutError, httpx.TransportError):
                pass
            except Refused as refused:
                # The chat was deleted, or a service that has just started has not heard of it yet.
                if refused.status != 404 or not self._chat.is_gone:
                    self._world.find(f"a subscriber of {self._chat.chat_id} was refused: {refused}")
                return
            self._world.events["(reconnected)"] += 1
            await asyncio.sleep(self._draw.uniform(0, 0.5))

    def _receive(self, name: str, message: dict[str, Any]) -> None:
        sequence, place = message["sequence"], len(self.picture)
        if name == "message":
            if sequence != place:
                self._world.find(f"{self._chat.chat_id}: a subscriber has {place} messages and receives {sequence}")
            self.picture.append(Known.of(message))
        elif sequence >= place:
            self._world.find(f"{self._chat.chat_id}: a subscriber has {place} messages and hears of an edit of {sequence}")
        else:
            self.picture[sequence] = Known.of(message)

    async def verify(self) -> None:
        """Waits until the subscriber has what was acknowledged, and ends it."""
        until = time.monotonic() + CATCH_UP_SEC
        found: list[str] = []
        while time.monotonic() < until:
            if not (found := self._chat.find_differences(self.picture)):
                break
            await asyncio.sleep(0.1)
        # Should something be sent twice, it comes now.
        await asyncio.sleep(0.2)
        for it in (found or self._chat.find_differences(self.picture))[:5]:
            self._world.find(f"a subscriber, after {CATCH_UP_SEC} s: {it}")
        self.end()

    def end(self) -> None:
        """Disconnects."""
        self._task.cancel()
