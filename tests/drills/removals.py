"""What takes away: persons who are erased, and chats whose retention is over."""

from __future__ import annotations

import asyncio
import datetime
import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from client import Refused
from processes import Fault, Service
from world import Chat, World, make_text

PEOPLE, SHORT = "people", "short"
MESSAGES = 5
ERASED_WITHIN_SEC = 600


@dataclass
class Erasures:
    """Persons who write and are erased."""

    world: World
    erased: int = 0
    shared: Chat = field(init=False)

    async def start(self, every_sec: float) -> list[asyncio.Task[None]]:
        """Creates the chat of all persons, and starts to erase."""
        self.shared = await self.world.create_chat(PEOPLE, "people-shared", "alice")
        return [asyncio.create_task(self._erase_repeatedly(every_sec))]

    async def _erase_repeatedly(self, every_sec: float) -> None:
        draw = self.world.draw("erasures")
        while not self.world.is_stopping:
            try:
                await self._erase_one(self.erased)
            except (Refused, Fault) as found:
                self.world.find(f"an erasure: {found}")
            self.erased += 1
            await self.world.rest(draw, every_sec * self.world.pace)

    async def _erase_one(self, number: int) -> None:
        world, client, user_id = self.world, self.world.orchestrator, f"person-{number}"
        draw, word = world.draw(f"person {number}"), f"secret{number}word"
        person = client.as_person(user_id)
        own = await world.create_chat(PEOPLE, f"people-{number}", user_id)
        await client.call("add a member", "PUT", f"{self.shared.path}/members/{user_id}", {"role": "member"})
        said: list[int] = []
        for count in range(4):
            chat = (own, self.shared)[count % 2]
            body = {"event_id": f"person-{number}-{count}", "role": "user", "name": "user"}
            content = f"{word} {make_text(draw)}"
            answer = await person.call("say something", "POST", f"{chat.path}/messages", {**body, "content": content})
            places = chat.acknowledge_all(answer, [(f"person-{number}-{count}", content)])
            said += places if chat is self.shared else []
            event_id = f"{chat.chat_id}-{number}-answer-{count}"
            await world.append(chat, [(event_id, make_text(draw))], "append a message")
        fork = own.fork(f"people-{number}-fork", 3, "bob")
        body = {"chat_id": fork.chat_id, "sequence": 3, "user_id": "bob"}
        await client.call("fork", "POST", f"{own.path}/fork", body)
        world.chats.append(fork)
        await person.close()
        await self._erase(user_id)
        own.is_gone = True
        for sequence in said:
            self.shared.delete(sequence)
        # All that a fork took over from a chat of the person goes, also messages of others.
        for sequence in list(fork.messages):
            fork.delete(sequence)
        found = await client.call("search", "GET", f"/api/search/{PEOPLE}?q={word}")
        if found["data"]:
            world.find(f"{user_id} was erased, and the search finds {found['data']}")

    async def _erase(self, user_id: str) -> None:
        world = self.world
        base = f"/api/apps/{PEOPLE}"
        await world.operator.call("revoke tokens", "PUT", f"{base}/revocations/{user_id}", {})
        begun = await world.operator.call("erase a person", "POST", f"{base}/erasures", {"user_id": user_id})
        until = time.monotonic() + ERASED_WITHIN_SEC
        receipt = begun
        while receipt["finished_at"] is None:
            if time.monotonic() > until:
                raise Fault(f"{user_id} was not erased within {ERASED_WITHIN_SEC} s: {receipt}")
            await asyncio.sleep(0.5)
            receipt = await world.operator.call("read a receipt", "GET", f"{base}/erasures/{begun['pseudonym']}")
        if receipt["held"]:
            world.find(f"{user_id}: the erasure has left out {receipt['held']}")


@dataclass
class Retention:
    """Old chats that are imported: the sweeps of the services purge them, because nothing has happened in them for long."""

    world: World
    service: Service
    folder: Path
    imported: list[Chat] = field(default_factory=list[Chat])

    async def start(self, every_sec: float) -> list[asyncio.Task[None]]:
        """Gives the app a retention, and starts to import."""
        settings = {"settings": {"abandoned_days": 1, "completed_days": 1, "failed_days": 1, "deleted_days": 1}}
        await self.world.operator.call("register an app", "PUT", f"/api/apps/{SHORT}")
        await self.world.operator.call("change an app", "PATCH", f"/api/apps/{SHORT}", settings)
        return [asyncio.create_task(self._import_repeatedly(every_sec))]

    async def _import_repeatedly(self, every_sec: float) -> None:
        draw = self.world.draw("imports")
        while not self.world.is_stopping:
            await self._import(len(self.imported), 3)
            await self.world.rest(draw, every_sec * self.world.pace)

    async def _import(self, first: int, count: int) -> None:
        draw = self.world.draw(f"import {first}")
        folder = self.folder / f"import-{first}"
        folder.mkdir()
        old = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=400)
        time_text = old.strftime("%Y-%m-%dT%H:%M:%S.000Z")
        index: dict[str, Any] = {}
        texts: dict[str, list[str]] = {}
        for number in range(first, first + count):
            chat_id = f"old-{number}"
            texts[chat_id] = [f"{it} {make_text(draw)}" for it in range(MESSAGES)]
            lines = [
                {"timestamp": time_text, "type": "user", "content": it, "metadata": {"userId": "bob"}} for it in texts[chat_id]
            ]
            (folder / f"session_{chat_id}.jsonl").write_text("".join(f"{json.dumps(it)}\n" for it in lines))
            file = {"file": f"session_{chat_id}.jsonl", "status": "active", "title": f"Old {number}"}
            index[chat_id] = {**file, "createdAt": time_text, "lastActivityAt": time_text, "messageCount": MESSAGES}
        (folder / "index.json").write_text(json.dumps(index))
        # An import that fails because the database is away is repeated.
        for _ in range(20):
            said = await self.service.run("import", "jsonl", folder, "--app", SHORT)
            self.world.tally.answers["import (a command)", f"status {said.status}"] += 1
            if said.status == 0 or await self._is_purged_meanwhile(said.text, index):
                break
            await asyncio.sleep(3)
        else:
            self.world.find(f"an import does not succeed: {said.text[-600:]}")
            return
        self.world.tally.acknowledged["import (a command)"] += 1
        self.imported += [Chat(SHORT, it, "bob") for it in index]

    async def _is_purged_meanwhile(self, text: str, index: dict[str, Any]) -> bool:
        """A chat that an earlier attempt has imported may be purged before the next one: then its id is taken."""
        taken = {it for it in index if f"the id {it} is taken" in text}
        errors = [it for it in text.splitlines() if it.startswith("error:")]
        return bool(taken) and len(errors) == len(taken) and all([await self._is_gone(Chat(SHORT, it, "bob")) for it in taken])

    async def verify(self) -> None:
        """Counts what the sweeps have purged; the command purges the rest."""
        purged = [it for it in self.imported if await self._is_gone(it)]
        self.world.events["(old chats imported)"] = len(self.imported)
        self.world.events["(old chats purged by sweeps)"] = len(purged)
        await self.service.tell("purge", "--app", SHORT)
        for chat in self.imported:
            if not await self._is_gone(chat):
                self.world.find(f"{chat.chat_id}: its retention is over, and it is not purged")

    async def _is_gone(self, chat: Chat) -> bool:
        """A chat is whole, or it is gone."""
        try:
            page = await self.world.orchestrator.call("read an old chat", "GET", f"{chat.path}/messages")
        except Refused as refused:
            return refused.status == 404
        if len(page["data"]) != MESSAGES:
            self.world.find(f"{chat.chat_id}: has {len(page['data'])} of {MESSAGES} messages")
        return False
