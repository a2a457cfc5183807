"""Upgrades a database from one release to the next under load, and back, and finds nothing lost.

    local-mongod run -- python tests/upgrade/drill.py --previous BINARY --new BINARY [--cycles N] [--plant lose|double|reorder]

Two databases, one after the other. The first is as the previous release makes it, filled with everything that the API stores.
The second is as the oldest releases have left it, so that its format grows during the drill. Two services take turns; writers,
readers and subscribers go on through every step. With --plant the first database is made wrong before it is read back, and the
drill fails; without it, each fault is planted at the end, and must be found.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Awaitable
from dataclasses import replace
from pathlib import Path

import pending
from client import Client, Counts
from load import Chat, Load
from processes import BUSY_APP, STEADY_APP, Database, Fault, Fleet, Format, Release, read_format, run, tell
from records import CHAT as RECORDS_CHAT
from records import Records
from steady import Steady, find_difference
from verify import FAR_FORMAT, PLANTS, Raw, verify_chat, verify_found, verify_refusal, verify_sums, verify_untouched

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures/stored"
GOLDEN = Chat("chat_golden")
GOLDEN_APP = "acme_corp"
GOLDEN_PATH = f"/api/chats/{GOLDEN_APP}/{GOLDEN.chat_id}"
OLDEST_DOCUMENTS = {"chat_sessions": "chat_session", "chat_segments": "chat_segment", "chat_blobs": "chat_blob"}
PERSONS = {"alice": "blue", "bob": "blue", "carol": "red", "dora": None}


class Drill:
    """One database, the services on it, and the clients of these."""

    def __init__(self, database: Database, previous: Release, new: Release, *, is_oldest: bool, cycles: int) -> None:
        self.database = database
        self.previous = previous
        self.new = new
        self.is_oldest = is_oldest
        self.cycles = cycles
        self.counts = Counts()
        self.fleet = Fleet(database)
        self.raw = Raw(database)
        self.chats = [Chat(f"busy-{database.name}-{number}") for number in range(1 if is_oldest else 2)]
        self.clients: list[Client] = []
        self.persons: dict[str, Client] = {}

    async def run(self, plant: str | None) -> None:
        """Goes through all steps; ends every process, also after a fault."""
        try:
            await self._go(plant)
        finally:
            if hasattr(self, "load"):
                await self.load.abandon()
            for client in self.clients:
                await client.close()
            await self.fleet.end()
            self.raw.close()

    async def _go(self, plant: str | None) -> None:
        await self._step("the previous release fills it", self._fill(), 0)
        await self._step("load on two processes", self._begin_load(), 2)
        await self._step("replace one", self.fleet.replace(0, self.new), 3)
        await self._step("compare what the two show", self._compare_releases(), 0)
        await self._step("replace the other", self.fleet.replace(1, self.new), 2)
        for _ in range(self.cycles):
            await self._step("kill one and roll it back", self.fleet.replace(0, self.previous, killed=True), 2)
            await self._step("and forward again", self.fleet.replace(0, self.new), 1)
        await self._step("finish", self._finish(), 3)
        if self.is_known_to_previous:
            await self._step("roll one back", self.fleet.replace(1, self.previous), 2)
        else:
            print(f"  {self.previous.name}: {await verify_refusal(self.previous, self.database)}", flush=True)
        await self._step("stop writing", self.load.stop(), 0)
        if plant:
            self.raw.plant(plant, self.chats[0])
        await self._step("read everything back", self._read_back(), 0)
        if not self.is_oldest:
            await self._step("planted faults", self._find_plants(), 0)
            await self._step("a format of the future", self._refuse(), 0)
        for service in self.fleet.services:
            await service.stop()

    async def _step(self, title: str, change: Awaitable[None], seconds: float) -> None:
        """Makes a change under load, lets the load go on, and prints a line of the table."""
        started, before = time.monotonic(), replace(self.counts)
        await change
        if seconds:
            await self.load.run_for(seconds)
        now = self.counts
        numbers = (
            now.acknowledged - before.acknowledged,
            now.retried - before.retried,
            now.events - before.events,
            now.reads - before.reads,
        )
        cells = "".join(f"{it:>10,}" for it in numbers)
        print(f"{title:<32}{self.fleet.describe():<22}{time.monotonic() - started:>6.1f} s{cells}", flush=True)

    async def _client(self, token: str) -> Client:
        client = Client(self.fleet, token, self.counts)
        self.clients.append(client)
        return client

    async def _mint(self, user: str, *more: str) -> Client:
        apps = [part for app in (BUSY_APP, STEADY_APP, GOLDEN_APP) for part in ("--app", app)]
        token = await tell(self.previous, self.database, "tokens", "mint", "--user", user, *apps, *more)
        return await self._client(token.strip())

    async def _fill(self) -> None:
        """The previous release fills the database, alone."""
        if self.is_oldest:
            documents = {name: (FIXTURES / record / "v1.json").read_text() for name, record in OLDEST_DOCUMENTS.items()}
            self.raw.make_oldest(documents)
        for _ in range(2):
            await self.fleet.add(self.previous)
        self.before = await read_format(self.previous, self.database)
        self.client = await self._mint("orchestrator", "--role", "service")
        self.operator = await self._mint("olga", "--role", "operator")
        for name, team in PERSONS.items():
            self.persons[name] = await self._mint(name, *(("--team", team) if team else ()))
        key = await tell(
            self.previous, self.database, "keys", "create", "--role", "user", "--user", "karl", "--app", STEADY_APP
        )
        self.persons["karl, with a key"] = await self._client(key.split()[-1])
        self.steady = Steady(self.before.pending)
        await self.steady.fill(self.client, self.operator)
        await pending.create(self.client)
        if self.is_oldest:
            self.steady.paths += [
                GOLDEN_PATH,
                f"{GOLDEN_PATH}/messages?after=-1",
                f"{GOLDEN_PATH}/history",
                f"{GOLDEN_PATH}/context",
            ]
        self.shown = await self.steady.show(self.client, self.persons, self.fleet.services[0].url)

    async def _begin_load(self) -> None:
        self.records = Records(self.before.pending)
        await self.records.create(self.client)
        for chat in self.chats:
            body = {"chat_id": chat.chat_id, "workflow_name": "Busy", "user_id": "alice"}
            await self.client.call("POST", f"/api/chats/{BUSY_APP}", body)
        self.load = Load(self.client, self.chats)
        self.load.start(self.records.write(self.client, self.load))

    async def _compare_releases(self) -> None:
        """Every service shows the steady chats as the previous release has shown them, and refuses what waits for the end."""
        for service in self.fleet.services:
            shown = await self.steady.show(self.client, self.persons, service.url)
            if found := find_difference(self.shown, shown):
                raise Fault(f"{service.release.name} shows something else: {found}")
            await pending.verify_refused(self.client, service, self.before.pending)

    async def _finish(self) -> None:
        """Finishes the upgrade; from then on everything is served."""
        waiting = await read_format(self.new, self.database)
        if waiting.stored != self.before.stored:
            raise Fault(f"the format was {self.before.stored}, and is {waiting.stored} before the end of the upgrade")
        await tell(self.new, self.database, "upgrade", "--finish")
        self.after: Format = await read_format(self.new, self.database)
        if self.after.stored != self.after.newest or self.after.pending:
            raise Fault(f"the upgrade is not finished: {self.after}")
        self.is_known_to_previous = self.after.stored <= self.before.newest
        self.records.pending = frozenset()

    async def _read_back(self) -> None:
        for service in self.fleet.services:
            for chat in self.chats:
                await verify_chat(self.client, chat, service)
            await self.records.verify(self.client, service.url)
        await self._compare_after()
        for service in self.fleet.services:
            await verify_found(self.client, service, STEADY_APP, "small 199")
            await verify_found(self.client, service, BUSY_APP, f"ship {self.records.rounds - 1}")
        await pending.verify_served(self.client, self.fleet.services[0], self.before.pending)
        releases = [self.previous, self.new] if self.is_known_to_previous else [self.new]
        # The documents of the oldest release are single ones, of which sums say nothing.
        apps = [BUSY_APP, STEADY_APP] if self.is_oldest else [None]
        await asyncio.gather(*(verify_sums(it, self.database, list(apps)) for it in releases))
        if self.is_oldest:
            await self.client.call("POST", f"{GOLDEN_PATH}/fork", {"chat_id": "golden-fork"})

    async def _compare_after(self) -> None:
        for service in self.fleet.services:
            shown = await self.steady.show(self.client, self.persons, service.url)
            if found := find_difference(self.shown, shown):
                raise Fault(f"after the upgrade, {service.release.name} shows something else: {found}")
        chats = [f"/api/chats/{BUSY_APP}/{it.chat_id}/history?dialect=openai" for it in self.chats]
        for path in [
            *chats,
            f"{RECORDS_CHAT}/history?dialect=ag2",
            f"{RECORDS_CHAT}/messages?after=-1",
            f"/api/chats/{BUSY_APP}",
        ]:
            one, other = [(await self.client.ask(it.url, "GET", path)).json() for it in self.fleet.services]
            if found := find_difference(one, other) or find_difference(other, one):
                raise Fault(f"two services show {path} differently: {found}")

    async def _find_plants(self) -> None:
        """Each fault that is planted is found by each service; then it is undone."""
        chat = self.chats[0]
        for what in PLANTS:
            whole = self.raw.session(chat)
            wanted = self.raw.plant(what, chat)
            for service in self.fleet.services:
                try:
                    await verify_chat(self.client, chat, service)
                except Fault as fault:
                    if wanted not in str(fault):
                        raise Fault(f"planted: {what}; found something else: {fault}") from fault
                else:
                    raise Fault(f"planted, and not found: {what}")
            self.raw.put_session(whole)

    async def _refuse(self) -> None:
        """Both releases refuse what a release that is newer than both would write."""
        whole = self.raw.find_format()
        if whole is None:
            raise Fault("the database has no format")
        for service in self.fleet.services:
            await verify_untouched(self.client, self.chats[0], service, self.raw)
        self.raw.put_format({**whole, "format": type(whole["format"])(FAR_FORMAT)})
        await asyncio.gather(*(verify_refusal(it, self.database) for it in (self.previous, self.new)))
        self.raw.put_format(whole)


async def main() -> int:
    """Runs the drill; returns the status of the process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--previous", type=Path, required=True)
    parser.add_argument("--new", type=Path, required=True)
    parser.add_argument("--cycles", type=int, default=1, help="how often a process is rolled back and forward again (1)")
    parser.add_argument("--plant", choices=list(PLANTS))
    arguments = parser.parse_args()
    previous, new = Release("previous", arguments.previous.resolve()), Release("new", arguments.new.resolve())
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as logs:
        for name in ("newest", "oldest"):
            database = Database(os.environ["MONGODB_URI"], name, Path(logs) / f"{name}.log")
            drill = Drill(database, previous, new, is_oldest=name == "oldest", cycles=arguments.cycles)
            header = "".join(f"{it:>10}" for it in ("appends", "retried", "events", "reads"))
            title = "from the format of the previous" if name == "newest" else "from the oldest format"
            print(f"\n{title:<32}{'processes':<22}{'time':>8}{header}", flush=True)
            try:
                await drill.run(arguments.plant if name == "newest" else None)
            except Fault as fault:
                print(f"FAULT: {fault}", file=sys.stderr)
                log = database.log.read_text(errors="replace")
                print(f"the services said:\n{log[-4000:]}", file=sys.stderr)
                return 1
            after = drill.after
            print(f"format {drill.before.stored} became {after.stored}; {drill.records.rounds} rounds of records", flush=True)
    said = await run(new, Database("unused", "unused", Path()), "--version")
    print(f"\nnothing is lost: {said.text.strip()}, {time.monotonic() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
