"""Clients that go on during an upgrade: writers, readers and subscribers of the same chats."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any

import httpx

from client import Client
from processes import BUSY_APP, Fault

WORDS = "rain lake boat picnic cheese bread map train ticket umbrella wind sun".split()
PAGE = 1000
CATCH_UP_SEC = 30


@dataclass(frozen=True)
class Message:
    """A message as its writer knows it."""

    event_id: str
    content: str


@dataclass
class Chat:
    """A chat, and what clients know of it: what was acknowledged to writers, and what a subscriber has received."""

    chat_id: str
    acknowledged: dict[int, Message] = field(default_factory=dict[int, Message])
    received: list[Message] = field(default_factory=list[Message])

    @property
    def path(self) -> str:
        """The path of the chat."""
        return f"/api/chats/{BUSY_APP}/{self.chat_id}"

    def acknowledge(self, sequence: int, message: Message) -> None:
        """Notes a message that a service has acknowledged at a position."""
        known = self.acknowledged.setdefault(sequence, message)
        if known != message:
            raise Fault(f"{self.chat_id}: position {sequence} was acknowledged to {known.event_id} and {message.event_id}")


def make_text(draw: random.Random) -> str:
    """Makes a text that is long enough for messages to be sealed soon."""
    return " ".join(draw.choices(WORDS, k=draw.randint(5, 80)))


async def append(client: Client, chat: Chat, messages: list[Message]) -> None:
    """Appends messages until they are acknowledged, and notes their positions."""
    body = [{"event_id": it.event_id, "role": "assistant", "name": "writer", "content": it.content} for it in messages]
    answer = await client.call("POST", f"{chat.path}/messages", {"messages": body})
    placed = answer["messages"]
    if [it["event_id"] for it in placed] != [it.event_id for it in messages]:
        raise Fault(f"{chat.chat_id}: the answer to an append names other messages: {placed}")
    for message, place in zip(messages, placed, strict=True):
        chat.acknowledge(place["sequence"], message)
    client.counts.acknowledged += 1


async def read_all(client: Client, chat: Chat, url: str | None = None) -> list[dict[str, Any]]:
    """Reads all messages of a chat, page by page, of one service or of all in turn."""
    messages: list[dict[str, Any]] = []
    while True:
        path = f"{chat.path}/messages?limit={PAGE}&after={len(messages) - 1}"
        page = (await client.ask(url, "GET", path)).json() if url else await client.call("GET", path)
        for message in page["data"]:
            if message["sequence"] != len(messages):
                raise Fault(f"{chat.chat_id}: position {len(messages)} is followed by {message['sequence']}")
            messages.append(message)
        if page["next_cursor"] is None:
            return messages


class Load:
    """The clients of a few chats, until they are told to stop."""

    def __init__(self, client: Client, chats: list[Chat]) -> None:
        self.chats = chats
        self._client = client
        self._is_stopping = False
        self._writing: list[asyncio.Task[None]] = []
        self._following: list[asyncio.Task[None]] = []

    def start(self, *more: Coroutine[Any, Any, None]) -> None:
        """Starts two writers, a reader and a subscriber of each chat, and more writers."""
        for chat in self.chats:
            self._writing += [asyncio.create_task(self._write(chat, number)) for number in range(2)]
            self._writing.append(asyncio.create_task(self._read(chat)))
            self._following.append(asyncio.create_task(self._follow(chat)))
        self._writing += [asyncio.create_task(it) for it in more]

    @property
    def is_stopping(self) -> bool:
        """Whether writers begin nothing more."""
        return self._is_stopping

    async def run_for(self, seconds: float) -> None:
        """Lets the clients go on; fails as soon as one of them has found a fault."""
        done, _ = await asyncio.wait([*self._writing, *self._following], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
            raise Fault("a client has ended before it was told to")

    async def stop(self) -> None:
        """Lets every writer finish what it has begun, and every subscriber receive what was stored."""
        self._is_stopping = True
        await asyncio.gather(*self._writing)
        gives_up = time.monotonic() + CATCH_UP_SEC
        while behind := [it for it in self.chats if len(it.received) < len(it.acknowledged)]:
            if time.monotonic() > gives_up:
                numbers = ", ".join(f"{it.chat_id} {len(it.received)} of {len(it.acknowledged)}" for it in behind)
                raise Fault(f"a subscriber has not received everything after {CATCH_UP_SEC} s: {numbers}")
            await self.run_following(0.1)
        # Should something be sent twice, it comes now.
        await self.run_following(0.5)
        await self.abandon()

    async def run_following(self, seconds: float) -> None:
        """Lets the subscribers go on."""
        done, _ = await asyncio.wait(self._following, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()

    async def abandon(self) -> None:
        """Ends all clients at once, after a fault."""
        for task in [*self._writing, *self._following]:
            task.cancel()
        await asyncio.gather(*self._writing, *self._following, return_exceptions=True)

    async def _write(self, chat: Chat, number: int) -> None:
        draw = random.Random(f"{chat.chat_id} {number}")
        count = 0
        while not self._is_stopping:
            # From 32 messages on, a batch may be stored as a segment at once.
            size = draw.choice([1, 1, 1, 2, 3, 40])
            batch = [Message(f"w{number}-{count + it}", f"{count + it} {make_text(draw)}") for it in range(size)]
            count += size
            await append(self._client, chat, batch)
            await asyncio.sleep(draw.uniform(0.05, 0.2))

    async def _read(self, chat: Chat) -> None:
        while not self._is_stopping:
            known = dict(chat.acknowledged)
            messages = await read_all(self._client, chat)
            for sequence, message in known.items():
                if sequence >= len(messages):
                    raise Fault(f"{chat.chat_id}: a read lacks {message.event_id}, which was acknowledged before")
                if as_known(messages[sequence]) != message:
                    raise Fault(f"{chat.chat_id}: a read has {messages[sequence]['event_id']} instead of {message.event_id}")
            self._client.counts.reads += 1
            await asyncio.sleep(1)

    async def _follow(self, chat: Chat) -> None:
        last_id: str | None = None
        while True:
            try:
                async for name, event_id, data in self._client.events(chat.path, last_id):
                    last_id = event_id or last_id
                    if name == "message":
                        self._receive(chat, json.loads(data))
            except httpx.TransportError:
                pass
            await asyncio.sleep(0.1)

    def _receive(self, chat: Chat, message: dict[str, Any]) -> None:
        if message["sequence"] != len(chat.received):
            raise Fault(f"{chat.chat_id}: a subscriber has {len(chat.received)} messages and receives {message['sequence']}")
        chat.received.append(as_known(message))
        self._client.counts.events += 1


def as_known(message: dict[str, Any]) -> Message:
    """Returns a stored message as its writer knows it."""
    return Message(message["event_id"], message["content"])
