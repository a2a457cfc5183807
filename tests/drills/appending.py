"""A small load for a case: writers, and what was acknowledged to them."""

from __future__ import annotations

import asyncio
import itertools
import time
from dataclasses import dataclass, field

import httpx

from client import Client
from processes import Fault, Service
from tokens import bearer
from world import Chat, World

APP = "drills"


@dataclass
class Appending:
    """Writers that append messages one by one, each to a chat of its own, until they are told to stop."""

    services: list[Service]
    writers: int = 4
    text: str = "what was said " * 20
    #: How many messages each chat has before.
    prefilled: int = 0
    interval_sec: float = 0.05
    acknowledged_at: list[float] = field(default_factory=list[float])

    async def start(self) -> None:
        """Creates the chats, and starts the writers."""
        self.world = World(self.services, "appending", 1)
        self.chats = [await self.world.create_chat(APP, f"chat-{it}", "alice") for it in range(self.writers)]
        for chat in self.chats:
            for first in range(0, self.prefilled, 200):
                batch = [(f"{chat.chat_id}-{it}", f"{it} {self.text}") for it in range(first, min(first + 200, self.prefilled))]
                await self.world.append(chat, batch, "append a batch")
        self.tasks = [asyncio.create_task(self._write(it)) for it in self.chats]

    @property
    def client(self) -> Client:
        return self.world.orchestrator

    async def _write(self, chat: Chat) -> None:
        while not self.world.is_stopping:
            number = len(chat.messages)
            await self.world.append(chat, [(f"{chat.chat_id}-{number}", f"{number} {self.text}")], "append a message")
            self.acknowledged_at.append(time.monotonic())
            await asyncio.sleep(self.interval_sec)

    async def stop(self) -> None:
        """Lets every writer finish what it has begun."""
        self.world.is_stopping = True
        await asyncio.gather(*self.tasks)

    def count(self) -> int:
        """Returns how many messages were acknowledged."""
        return sum(len(it.messages) for it in self.chats)

    def longest_gap_sec(self, since: float) -> float:
        """Returns the longest time without an acknowledged message since a time."""
        times = [since, *(it for it in self.acknowledged_at if it >= since)]
        return max((after - before for before, after in itertools.pairwise(times)), default=0)

    async def verify(self) -> None:
        """Every acknowledged message is stored once, at its position; nothing else is."""
        for chat in self.chats:
            if found := chat.find_differences(await self.world.read_all(chat)):
                raise Fault(f"{found[:5]}")
        if self.world.findings:
            raise Fault(str(self.world.findings[:5]))

    async def close(self) -> None:
        """Ends everything, also after a fault."""
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        await self.world.close()


async def ask_once(service: Service, method: str, path: str, body: object = None, **request: object) -> httpx.Response:
    """Sends one request of an orchestrator, once."""
    headers = {"authorization": f"Bearer {bearer('orchestrator', 'service')}"}
    async with httpx.AsyncClient(trust_env=False, verify=False, timeout=20, headers=headers) as client:
        return await client.request(method, f"{service.url}{path}", json=body, **request)  # type: ignore[arg-type]
