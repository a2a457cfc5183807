"""Wallets and documents: several writers of the same ones."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from client import Refused
from talks import APP
from world import World, make_text

INITIAL = 5000


@dataclass
class Wallet:
    """A wallet, and the entries that were acknowledged."""

    user_id: str
    entries: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def path(self) -> str:
        return f"/api/wallets/{APP}/{self.user_id}"


@dataclass
class Records:
    """What the writers of wallets and documents have been acknowledged."""

    world: World
    wallets: list[Wallet] = field(default_factory=list[Wallet])
    lines: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    counted: int = 0
    plans: dict[str, str | None] = field(default_factory=dict[str, str | None])
    documents: str = f"/api/documents/{APP}"

    async def start(self) -> list[asyncio.Task[None]]:
        """Creates what is written, and starts the writers."""
        self.wallets = [Wallet(f"payer-{number}") for number in range(2)]
        for wallet in self.wallets:
            body = {"initial_balance": INITIAL}
            await self.world.orchestrator.call("ensure a wallet", "POST", f"{wallet.path}/ensure", body)
        json_type = {"content-type": "application/json"}
        await self.world.orchestrator.send(
            "put a document", "PUT", f"{self.documents}/state/count", content=b'{"count": 0}', headers=json_type
        )
        tasks = [self._pay(wallet, it) for wallet in self.wallets for it in range(2)]
        tasks += [self._log(it) for it in range(2)]
        tasks += [self._count(it) for it in range(2)]
        return [asyncio.create_task(it) for it in [*tasks, self._plan(), self._let_expire()]]

    async def _pay(self, wallet: Wallet, number: int) -> None:
        world, draw = self.world, self.world.draw(f"{wallet.user_id} {number}")
        count = 0
        while not world.is_stopping:
            entry_id = f"entry-{number}-{count}"
            count += 1
            kind, amount = draw.choice(["credit", "debit", "debit"]), draw.randint(1, 400)
            body = {"entry_id": entry_id, "amount": amount, "reason": "a load"}
            is_strict = kind == "credit" or draw.random() < 0.5
            if not is_strict:
                body["strict"] = False
            try:
                for _ in range(2 if draw.random() < 0.1 else 1):
                    answer = await world.orchestrator.call(kind, "POST", f"{wallet.path}/{kind}", body)
                    if answer["entry"]:
                        wallet.entries[entry_id] = amount if kind == "credit" else -amount
                    elif is_strict:
                        world.find(f"{wallet.user_id}: {entry_id} of {amount} was accepted without an entry")
            except Refused as refused:
                if refused.code != "insufficient-tokens":
                    world.find(f"{wallet.user_id}: {refused}")
            await world.rest(draw, 2.5)

    async def _log(self, number: int) -> None:
        world, draw = self.world, self.world.draw(f"log {number}")
        count = 0
        while not world.is_stopping:
            line = f"{number} {count} {make_text(draw, 20)}\n"
            headers = {"idempotency-key": f"line-{number}-{count}"}
            count += 1
            for _ in range(2 if draw.random() < 0.1 else 1):
                response = await world.orchestrator.send(
                    "append to a document", "POST", f"{self.documents}/logs/today", content=line.encode(), headers=headers
                )
            self.lines.append((response.json()["offset"], line))
            await world.rest(draw, 2.5)

    async def _count(self, number: int) -> None:
        """Counts in one document, each time in the version that was read."""
        world, draw, path = self.world, self.world.draw(f"count {number}"), f"{self.documents}/state/count"
        while not world.is_stopping:
            read = await world.orchestrator.send("read a document", "GET", path)
            count = read.json()["count"]
            content = f'{{"count": {count + 1}, "by": "{number}-{self.counted}-{draw.random()}"}}'
            headers = {"content-type": "application/json", "if-match": read.headers["etag"]}
            try:
                await world.orchestrator.send("put if unchanged", "PUT", path, content=content.encode(), headers=headers)
                self.counted += 1
            except Refused as refused:
                if refused.code != "precondition-failed":
                    world.find(f"{path}: {refused}")
            await world.rest(draw, 3)

    async def _plan(self) -> None:
        """Puts and deletes documents."""
        world, draw = self.world, self.world.draw("plans")
        while not world.is_stopping:
            name = f"plan-{draw.randrange(30)}"
            path = f"{self.documents}/plans/{name}"
            if self.plans.get(name) and draw.random() < 0.3:
                await world.orchestrator.send("delete a document", "DELETE", path)
                self.plans[name] = None
            else:
                text = make_text(draw) * draw.choice([1, 10, 2000])
                headers = {"content-type": "text/plain"}
                await world.orchestrator.send("put a document", "PUT", path, content=text.encode(), headers=headers)
                self.plans[name] = text
            await world.rest(draw, 3)

    async def _let_expire(self) -> None:
        world, draw = self.world, self.world.draw("expiry")
        count = 0
        while not world.is_stopping:
            path = f"{self.documents}/short/note-{count}"
            count += 1
            await world.orchestrator.send("put a short-lived document", "PUT", f"{path}?ttl_seconds=2", content=b"short")
            await asyncio.sleep(2.5)
            try:
                await world.orchestrator.send("read an expired document", "GET", path)
                world.find(f"{path} is read after it has expired")
            except Refused as refused:
                if refused.status != 404:
                    world.find(f"{path}: {refused}")
            await world.rest(draw, 20)

    async def verify(self) -> None:
        """Reads everything back."""
        client, world = self.world.orchestrator, self.world
        for wallet in self.wallets:
            entries = await client.read_list("read everything back", f"{wallet.path}/entries", 100)
            found = {it["entry_id"]: it["amount"] for it in entries if it["kind"] != "initial"}
            for entry_id in sorted(found.keys() ^ wallet.entries.keys()):
                word = "was acknowledged and is lost" if entry_id in wallet.entries else "was never acknowledged"
                world.find(f"{wallet.user_id}: {entry_id} {word}")
            balance = (await client.call("read everything back", "GET", wallet.path))["balance"]
            if found != wallet.entries or balance != INITIAL + sum(wallet.entries.values()):
                world.find(f"{wallet.user_id}: the balance {balance} is not the sum of what was acknowledged")
        path = f"{self.documents}/logs/today"
        if self.lines:
            content = (await client.send("read everything back", "GET", path, headers={"range": "bytes=0-"})).content
            wanted = b"".join(line.encode() for _, line in sorted(self.lines))
            if content != wanted:
                world.find(f"{path}: {len(content)} bytes are stored, {len(wanted)} were acknowledged at their offsets")
        count = (await client.send("read everything back", "GET", f"{self.documents}/state/count")).json()["count"]
        if count != self.counted:
            world.find(f"state/count: is {count}, and {self.counted} were acknowledged")
        for name, text in self.plans.items():
            try:
                found_text = (await client.send("read everything back", "GET", f"{self.documents}/plans/{name}")).text
            except Refused as refused:
                found_text = None if refused.status == 404 else str(refused)
            if found_text != text:
                world.find(f"plans/{name}: is {str(found_text)[:60]!r}, acknowledged was {str(text)[:60]!r}")
