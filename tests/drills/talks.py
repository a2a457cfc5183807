"""Long chats with several writers, a subscriber each, and readers of everything."""

from __future__ import annotations

import asyncio
from typing import Any

from client import Refused
from world import Chat, Follower, World, make_text

APP = "soak"
DIALECTS = ("ag2", "openai", "anthropic", "gemini", "langchain", "openai-responses", "ui-message", "acp", "pydantic-ai")
WRITERS = 2


class Talks:
    """The long chats."""

    def __init__(self, world: World, count: int) -> None:
        self._world = world
        self._count = count
        self.chats: list[Chat] = []
        self.followers: list[Follower] = []

    async def start(self) -> list[asyncio.Task[None]]:
        """Creates the chats, and starts their clients."""
        tasks: list[asyncio.Task[None]] = []
        for number in range(self._count):
            chat = await self._world.create_chat(APP, f"talk-{number}", "alice", visibility="app")
            self.chats.append(chat)
            self.followers.append(Follower(self._world, chat, chat.chat_id))
            tasks += [asyncio.create_task(self._write(chat, it)) for it in range(WRITERS)]
        return [*tasks, asyncio.create_task(self._read_pages()), asyncio.create_task(self._read_views())]

    async def _write(self, chat: Chat, number: int) -> None:
        world = self._world
        draw = world.draw(f"writer {chat.chat_id} {number}")
        mine: list[tuple[int, str, str]] = []
        count = 0
        while not world.is_stopping:
            what = draw.random()
            if what < 0.12 and mine:
                await self._repeat(chat, draw.choice(mine[-200:]))
            elif what < 0.2 and mine:
                sequence, event_id, _ = draw.choice(mine[-200:])
                if not chat.messages[sequence].is_deleted:
                    text = f"edited {make_text(draw)}"
                    await self._edit(chat, sequence, event_id, text, is_by_id=draw.random() < 0.5)
            elif what < 0.24 and mine:
                sequence, event_id, _ = mine.pop(draw.randrange(len(mine)))
                await world.orchestrator.call("delete a message", "DELETE", f"{chat.path}/messages/{sequence}")
                chat.delete(sequence)
            elif what < 0.25 and len(mine) > 10:
                await self._delete_batch(chat, [mine.pop(draw.randrange(len(mine))) for _ in range(3)])
            else:
                # From 32 messages on, a batch may be stored as a segment at once.
                size = draw.choice([1, 1, 1, 1, 1, 2, 3, 5, 40]) if draw.random() < 0.5 else 1
                batch = [(f"{chat.chat_id}-w{number}-{count + it}", f"{count + it} {make_text(draw)}") for it in range(size)]
                count += size
                places = await world.append(chat, batch, "append a batch" if size > 1 else "append a message")
                mine += [(place, it, text) for place, (it, text) in zip(places, batch, strict=True)]
            await world.rest(draw, 1)

    async def _repeat(self, chat: Chat, message: tuple[int, str, str]) -> None:
        sequence, event_id, text = message
        body = {"event_id": event_id, "role": "assistant", "name": "writer", "content": text}
        answer = await self._world.orchestrator.call("repeat a message", "POST", f"{chat.path}/messages", body)
        placed = answer["messages"][0]
        if placed != {"event_id": event_id, "sequence": sequence, "duplicate": True}:
            self._world.find(f"{chat.chat_id}: the repeat of {event_id} at {sequence} gets {placed}")

    async def _edit(self, chat: Chat, sequence: int, event_id: str, text: str, *, is_by_id: bool) -> None:
        place = f"by-id/{event_id}" if is_by_id else str(sequence)
        await self._world.orchestrator.call("edit a message", "PATCH", f"{chat.path}/messages/{place}", {"content": text})
        chat.edit(sequence, text)

    async def _delete_batch(self, chat: Chat, messages: list[tuple[int, str, str]]) -> None:
        body = {"event_ids": [it for _, it, _ in messages]}
        answer = await self._world.orchestrator.call("delete messages", "POST", f"{chat.path}/messages/delete", body)
        if len(answer["deleted"]) != len(messages):
            self._world.find(f"{chat.chat_id}: {body} deletes {answer}")
        for sequence, _, _ in messages:
            chat.delete(sequence)

    async def _read_pages(self) -> None:
        """Reads pages; what they show must stay, and what was acknowledged before must be in them."""
        world, draw = self._world, self._world.draw("pages")
        while not world.is_stopping:
            chat = draw.choice(self.chats)
            count = len(chat.messages)
            start = max(-1, count - draw.choice([20, 100, count + 1]))
            page = await world.orchestrator.call("read a page", "GET", f"{chat.path}/messages?after={start}&limit=200")
            for message in page["data"]:
                known = chat.shown.setdefault(message["sequence"], message["event_id"])
                if known != message["event_id"]:
                    world.find(f"{chat.chat_id}: {known} and {message['event_id']} were shown at {message['sequence']}")
            # The known majority of a new primary may be older than that of the one before.
            world.events["(stale pages)"] += page["last_sequence"] < count
            await world.rest(draw, 0.7)

    async def _read_views(self) -> None:
        """Reads everything else that the API shows, in turn."""
        world, draw = self._world, self._world.draw("views")
        while not world.is_stopping:
            for kind, path, is_for_person in self._views():
                client = world.persons["alice"] if is_for_person else world.orchestrator
                try:
                    answer = await client.send(kind, "GET", path)
                    self._judge(kind, answer.json())
                except Refused as refused:
                    world.find(f"{kind}: {refused}")
                await world.rest(draw, 0.8)
                if world.is_stopping:
                    return

    def _views(self) -> list[tuple[str, str, bool]]:
        draw = self._world.draw(f"view {self._world.tally.acknowledged['read a page']}")
        chat = draw.choice(self.chats)
        chats, word = f"/api/chats/{APP}", draw.choice(["rain", "lake", "umbrella tent"])
        dialect = draw.choice(DIALECTS)
        newest = draw.choice([20, 100, 400])
        return [
            ("read a plan", f"{chat.path}/resume?dialect={dialect}&newest={newest}", False),
            ("read a history", f"{chat.path}/history?dialect={dialect}&newest={newest}", False),
            ("list chats", f"{chats}?limit=50&order_by={draw.choice(['created', 'active', 'title'])}", False),
            ("list chats of a person", f"{chats}?limit=50&summary=calls", True),
            ("list chats in any state", f"{chats}?user_id=bob&lifecycle=all&total=true&order_by=active", False),
            ("search", f"/api/search/{APP}?q={word.replace(' ', '+')}&limit=10", False),
            ("search as a person", f"/api/search/{APP}?q=boat&scope=app&limit=10", True),
            ("read stats", f"/api/stats/{APP}", False),
            ("read stats of users", f"/api/user-stats/{APP}?order_by=tokens", False),
            ("read the inbox", f"/api/input-requests/{APP}", False),
            ("read meta", f"{chat.path}/meta", True),
            ("read a proof", f"{chat.path}/messages/{draw.randrange(max(1, len(chat.messages)))}/proof", False),
            ("select messages", f"{chat.path}/messages?role=assistant&newest=20", False),
            ("read tool stats", f"/api/tool-stats/{APP}", False),
        ]

    def _judge(self, kind: str, answer: dict[str, Any]) -> None:
        if kind == "read a proof":
            self._world.events[f"(proof {answer['verdict']})"] += 1
            if answer["verdict"] == "broken":
                self._world.find(f"a proof is broken: {answer}")
        elif kind == "search":
            self._world.events["(searches with results)"] += bool(answer["data"])
