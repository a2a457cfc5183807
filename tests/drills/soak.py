"""A load of everything at once against two services on one replica set, while faults strike.

    tests/drills/run.sh soak [BINARY] [--minutes N] [--seed N] [--pace N] [--plant lose|tamper] [--report FILE]

Every acknowledged write is remembered, and must be there at the end, unless the load has deleted, purged or erased it. Then
`check --deep`, `stats verify` and `wallets verify` must find nothing. With --plant the database is made wrong before it is read
back, and the command must fail. It ends with 1 if anything is found, and prints a report.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from client import Refused
from processes import Fault, Member, ReplicaSet, Service, run_checks
from records import Records
from removals import Erasures, Retention
from sessions import Workers
from strikes import Samples, Strikes, settle_database
from talks import Talks
from world import Chat, World

DATABASE = "soak"
PASS_MS = 5000
SIGNED_WITHIN_SEC = 60
FINISHED_WITHIN_SEC = 400


class Soak:
    """One run."""

    def __init__(self, arguments: argparse.Namespace, folder: Path) -> None:
        self.arguments = arguments
        self.folder = folder
        self.members = ReplicaSet([Member(folder, number) for number in range(3)])
        self.checks: list[tuple[str, int, str, float]] = []
        self.took: dict[str, float] = {}
        self.cpu: dict[str, float] = {}

    async def run(self) -> bool:
        """Runs everything; returns whether nothing was found."""
        key = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        (self.folder / "integrity.pem").write_bytes(key)
        try:
            await self._start()
            await self._load()
            await self._read_back()
            await self._check()
        except Fault as fault:
            if not hasattr(self, "world"):
                raise
            self.world.find(f"the soak has broken off: {fault}")
        finally:
            for service in getattr(self, "services", []):
                await service.kill() if service.running else None
            await self.members.end()
        self._report()
        return not self.world.findings

    async def _start(self) -> None:
        await self.members.start()
        settings = {
            "mongo.uri": self.members.uri,
            "mongo.database": DATABASE,
            "integrity.key_file": self.folder / "integrity.pem",
            "integrity.interval_ms": PASS_MS,
            "limits.recheck_ms": 5000,
        }
        self.services = [Service(self.folder, f"service-{it}", settings) for it in (1, 2)]
        for service in self.services:
            service.start()
            await service.wait_until_ready()
        self.world = World(self.services, str(self.arguments.seed), self.arguments.pace)
        self.samples = Samples(self.services, self.arguments.sample_sec)
        self.strikes = Strikes(self.world, self.members, self.services)

    async def _load(self) -> None:
        """Lets every part of the load go on for the given time, and then lets it finish what it has begun."""
        world, seconds = self.world, self.arguments.minutes * 60
        self.talks = Talks(world, 4)
        self.records = Records(world)
        self.erasures = Erasures(world)
        self.retention = Retention(world, self.services[0], self.folder)
        tasks = [
            *await self.talks.start(),
            *Workers(world, 3).start(),
            *await self.records.start(),
            *await self.erasures.start(min(150, seconds / 3)),
            *await self.retention.start(min(150, seconds / 3)),
        ]
        striking = self.strikes.start(self.arguments.strike_sec)
        for task in [*tasks, striking]:
            task.add_done_callback(self._note_failure)
        sampling = asyncio.create_task(self.samples.take())
        began = time.monotonic()
        await asyncio.sleep(seconds)
        world.is_stopping = True
        # It heals what it has struck.
        await asyncio.wait([striking], timeout=FINISHED_WITHIN_SEC)
        await settle_database(self.members, self.services)
        _, late = await asyncio.wait(tasks, timeout=FINISHED_WITHIN_SEC)
        for task in late:
            world.find(f"a part of the load has not finished what it had begun: {task.get_coro()}")
            task.cancel()
        self.took["load"] = time.monotonic() - began
        self.cpu = {it.name: it.cpu_sec() for it in self.services}
        self.cpu["the members"] = sum(it.cpu_sec() for it in self.members.members)
        self.cpu["the load itself"] = time.process_time()
        for follower in self.talks.followers:
            await follower.verify()
        sampling.cancel()

    def _note_failure(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()):
            self.world.find(f"a part of the load has failed: {error!r}")

    async def _read_back(self) -> None:
        began = time.monotonic()
        await self._wait_until_signed()
        if self.arguments.plant:
            self._plant(self.arguments.plant)
        for chat in self.world.chats:
            await self._read_chat(chat)
        await self.records.verify()
        await self.retention.verify()
        self.took["read everything back"] = time.monotonic() - began
        await self.world.close()

    async def _wait_until_signed(self) -> None:
        """Waits for a pass over all chats, so that `check --deep` compares every message."""
        chat = max(self.talks.chats, key=lambda it: len(it.messages))
        path = f"{chat.path}/messages/{len(chat.messages) - 1}/proof"
        until = time.monotonic() + SIGNED_WITHIN_SEC
        while (await self.world.orchestrator.call("read a proof", "GET", path))["verdict"] != "signed":
            if time.monotonic() > until:
                return self.world.find(f"{path}: not signed within {SIGNED_WITHIN_SEC} s")
            await asyncio.sleep(1)
        await asyncio.sleep(2 * PASS_MS / 1000)

    async def _read_chat(self, chat: Chat) -> None:
        world = self.world
        try:
            found = await world.orchestrator.call("read everything back", "GET", chat.path)
        except Refused as refused:
            if refused.status != 404 or not chat.is_gone:
                world.find(f"acknowledged and lost: {chat.chat_id}: {refused}")
            return
        if chat.is_gone:
            return world.find(f"{chat.chat_id}: was deleted, purged or erased, and is read")
        for difference in chat.find_differences(await world.read_all(chat))[:5]:
            world.find(difference)
        if chat.status != "running" and found["status"] != chat.status:
            world.find(f"{chat.chat_id}: was {chat.status}, and is {found['status']}")
        await self._read_parts(chat)

    async def _read_parts(self, chat: Chat) -> None:
        """Reads what a chat has besides messages."""
        world, kind = self.world, "read everything back"
        wanted: list[tuple[str, Any, Any]] = []
        if chat.context is not None:
            answer = await world.orchestrator.call(kind, "GET", f"{chat.path}/context")
            wanted.append(("the context", answer["context_snapshot"], chat.context))
        if chat.artifact is not None:
            answer = await world.orchestrator.call(kind, "GET", f"{chat.path}/artifact")
            wanted.append(("the artifact", answer["last_artifact"]["payload"], chat.artifact))
        for name, key, known in (
            ("calls", "call_id", chat.calls),
            ("tool-runs", "run_id", chat.tool_runs),
        ):
            if known:
                records = await world.orchestrator.read_list(kind, f"{chat.path}/{name}", 100)
                wanted.append((name, sorted(it[key] for it in records), sorted(known)))
        if chat.questions:
            records = await world.orchestrator.read_list(kind, f"{chat.path}/input-requests", 100)
            wanted.append(("questions", {it["request_id"]: it["state"] for it in records}, chat.questions))
        for what, stored, acknowledged in wanted:
            if stored != acknowledged:
                world.find(f"{chat.chat_id}: {what}: stored {str(stored)[:300]}, acknowledged {str(acknowledged)[:300]}")

    def _plant(self, what: str) -> None:
        """Makes the newest message of a chat wrong, behind the back of the services."""
        chat = self.talks.chats[0]
        with self.members.client() as client:
            sessions = client[DATABASE]["chat_sessions"]
            session = sessions.find_one({"_id": chat.chat_id})
            assert session
            tail: list[dict[str, Any]] = session["messages"]
            if what == "lose":
                tail.pop()
                session["last_sequence"] = session["first_sequence"] + len(tail)
            else:
                tail[-1]["content"] = "what was never said"
            sessions.replace_one({"_id": chat.chat_id}, session)

    async def _check(self) -> None:
        began = time.monotonic()
        for command, said in await run_checks(self.services[0]):
            lines = said.text.strip().splitlines()
            self.checks.append((command, said.status, " · ".join(lines[-3:]), time.monotonic() - began))
            if said.status != 0:
                faults = "\n".join(it for it in lines if it.startswith("FAULT"))
                self.world.find(f"`{command}` ends with {said.status}: {faults or said.text[-2000:]}")
        self.took["check"] = time.monotonic() - began
        for service in self.services:
            text = service.log.read_text(errors="replace")
            self.world.events[f"(lines of {service.name}'s log)"] = text.count("\n")
            if "panicked" in text:
                self.world.find(f"{service.name} has panicked: {text[text.index('panicked') - 200 :][:1500]}")

    def _report(self) -> None:
        text = self._describe()
        print(text, flush=True)
        if self.arguments.report:
            self.arguments.report.write_text(text)

    def _describe(self) -> str:
        world, tally = self.world, self.world.tally
        messages = sum(len(it.messages) for it in world.chats)
        gone = sum(it.is_gone for it in world.chats)
        lines = [f"# Soak of {self.arguments.minutes} min, seed {self.arguments.seed}, pace {self.arguments.pace}", ""]
        lines += [
            f"{tally.acknowledged.total():,} requests answered for good, {tally.retried:,} retries, {messages:,} messages "
            f"in {len(world.chats):,} chats, of which {gone:,} were deleted, purged or erased; longest request "
            f"{tally.longest_sec:.1f} s, longest time without an acknowledged append {world.longest_outage_sec:.1f} s.",
            "",
        ]
        outcomes: dict[str, list[str]] = {}
        for (kind, outcome), count in sorted(tally.answers.items(), key=lambda it: -it[1]):
            outcomes.setdefault(kind, []).append(f"{outcome}: {count:,}")
        lines += ["| operation | acknowledged | answers |", "|---|---|---|"]
        lines += [f"| {it} | {tally.acknowledged[it]:,} | {', '.join(outcomes[it])} |" for it in sorted(outcomes)]
        lines += ["", "| fault | times |", "|---|---|"]
        lines += [f"| {it} | {count} |" for it, count in sorted(self.strikes.applied.items())]
        head = ["memory of", "samples", "processes", "medians of the quarters, MB", "most, MB", "verdict"]
        lines += ["", f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
        lines += self.samples.lines()
        lines += ["", "| processor time of | seconds | cores |", "|---|---|---|"]
        lines += [f"| {it} | {sec:.0f} | {sec / self.took['load']:.2f} |" for it, sec in self.cpu.items()]
        lines += ["", "| events and counts | number |", "|---|---|"]
        lines += [f"| {it} | {count:,} |" for it, count in sorted(world.events.items())]
        lines += ["", "| check | status | said |", "|---|---|---|"]
        lines += [f"| `{command}` | {status} | {said} |" for command, status, said, _ in self.checks]
        if tally.without_retry_after:
            lines += ["", "Answers without `Retry-After`:"]
            lines += [f"- {it}: {count}" for it, count in tally.without_retry_after.items()]
        lines += ["", f"{len(world.findings)} findings" if world.findings else "Nothing is wrong."]
        lines += [f"- {it[:1500]}" for it in world.findings]
        times = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in self.took.items())
        return "\n".join([*lines, "", times, ""])


def main() -> None:
    """Runs the command."""
    parser = argparse.ArgumentParser(prog="soak.py")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pace", type=float, default=1, help="how fast the clients are, compared with the default")
    parser.add_argument("--strike-sec", type=float, default=60, help="the time between two faults")
    parser.add_argument("--sample-sec", type=float, default=10, help="the time between two samples of the memory")
    parser.add_argument("--plant", choices=["lose", "tamper"], help="what to make wrong before everything is read back")
    parser.add_argument("--report", type=Path, help="the file for the report")
    parser.add_argument("--keep", type=Path, help="a new folder for data and logs, which is kept")
    arguments = parser.parse_args()
    if arguments.keep:
        arguments.keep.mkdir(parents=True)
        is_clean = asyncio.run(Soak(arguments, arguments.keep).run())
    else:
        with tempfile.TemporaryDirectory(prefix="soak-") as folder:
            is_clean = asyncio.run(Soak(arguments, Path(folder)).run())
    sys.exit(0 if is_clean else 1)


if __name__ == "__main__":
    try:
        main()
    except Fault as fault:
        print(f"FOUND: {fault}", file=sys.stderr)
        sys.exit(1)
