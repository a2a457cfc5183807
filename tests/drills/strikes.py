"""Faults that strike processes while a load goes on, and the memory of the services meanwhile."""

from __future__ import annotations

import asyncio
import signal
import statistics
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pymongo.errors

from processes import Fault, ReplicaSet, Service
from world import World

HEALED_WITHIN_SEC = 180


@dataclass
class Strikes:
    """Strikes one process at a time, and heals it before the next strike.

    The first service is never killed, so that its memory can be compared over the whole run.
    """

    world: World
    members: ReplicaSet
    services: list[Service]
    applied: Counter[str] = field(default_factory=Counter[str])

    def start(self, every_sec: float) -> asyncio.Task[None]:
        """Starts to strike."""
        return asyncio.create_task(self._strike_repeatedly(every_sec))

    async def _strike_repeatedly(self, every_sec: float) -> None:
        draw = self.world.draw("strikes")
        faults: list[tuple[str, Callable[[], Awaitable[None]]]] = [
            ("kill -9 of the second service", self._kill_service),
            ("SIGTERM to the second service", self._stop_service),
            ("SIGSTOP of a service", self._pause_service),
            ("kill -9 of the primary", self._kill_primary),
            ("SIGSTOP of the primary", self._pause_primary),
            ("step down of the primary", self._step_down),
            ("kill -9 of a secondary", self._kill_secondary),
        ]
        pending: list[tuple[str, Callable[[], Awaitable[None]]]] = []
        self._draw = draw
        while True:
            await self.world.rest(draw, every_sec * self.world.pace)
            if self.world.is_stopping:
                return
            if not pending:
                pending = draw.sample(faults, len(faults))
            name, strike = pending.pop()
            print(f"  at {time.monotonic() - self.world.started:.0f} s: {name}", flush=True)
            try:
                await strike()
                self.applied[name] += 1
                await self.heal()
            except Fault as fault:
                self.world.find(f"after {name}: {fault}")

    async def heal(self) -> None:
        """Waits until everything works again."""
        await self.members.wait_until_whole()
        for service in self.services:
            await service.wait_until_ready(HEALED_WITHIN_SEC)

    async def _kill_service(self) -> None:
        await self.services[1].kill()
        await asyncio.sleep(self._draw.uniform(0, 4))
        self.services[1].start()

    async def _stop_service(self) -> None:
        if (status := await self.services[1].stop()) != 0:
            self.world.find(f"a service that is stopped ends with {status}")
        self.services[1].start()

    async def _pause_service(self) -> None:
        service = self._draw.choice(self.services)
        service.signal(signal.SIGSTOP)
        await asyncio.sleep(self._draw.uniform(2, 12))
        service.signal(signal.SIGCONT)

    async def _kill_primary(self) -> None:
        primary = await self.members.primary()
        await primary.kill()
        await asyncio.sleep(self._draw.uniform(0, 8))
        primary.start()

    async def _pause_primary(self) -> None:
        primary = await self.members.primary()
        primary.signal(signal.SIGSTOP)
        await asyncio.sleep(self._draw.uniform(2, 12))
        primary.signal(signal.SIGCONT)

    async def _step_down(self) -> None:
        primary = await self.members.primary()
        try:
            await asyncio.to_thread(primary.ask, "replSetStepDown", 5, secondaryCatchUpPeriodSecs=4)
        except pymongo.errors.PyMongoError as error:
            self.applied[f"(no step down: {type(error).__name__})"] += 1

    async def _kill_secondary(self) -> None:
        primary = await self.members.primary()
        secondary = self._draw.choice([it for it in self.members.members if it is not primary])
        await secondary.kill()
        await asyncio.sleep(self._draw.uniform(0, 8))
        secondary.start()


@dataclass
class Samples:
    """The memory of processes, sampled at an interval."""

    services: list[Service]
    every_sec: float
    resident: dict[str, list[tuple[float, int, int]]] = field(default_factory=dict[str, list[tuple[float, int, int]]])

    async def take(self) -> None:
        """Takes samples until it is cancelled: time, process and bytes."""
        started = time.monotonic()
        while True:
            for service in self.services:
                if (resident := service.resident_bytes()) is not None:
                    sample = (time.monotonic() - started, service.pid, resident)
                    self.resident.setdefault(service.name, []).append(sample)
            await asyncio.sleep(self.every_sec)

    def lines(self) -> list[str]:
        """Returns a line of the table for each service: the medians of its first and its last quarter."""
        lines: list[str] = []
        for name, samples in self.resident.items():
            sizes = [it / 1e6 for _, _, it in samples]
            if len(sizes) < 8:
                lines.append(f"| {name} | {len(sizes)} | too few | | | |")
                continue
            quarter = len(sizes) // 4
            first, last = statistics.median(sizes[:quarter]), statistics.median(sizes[-quarter:])
            processes = len({pid for _, pid, _ in samples})
            verdict = "flat" if last <= first * 1.15 else f"grows by {100 * (last / first - 1):.0f} %"
            quarters = " / ".join(f"{statistics.median(sizes[it * quarter : (it + 1) * quarter]):.0f}" for it in range(4))
            lines.append(f"| {name} | {len(sizes)} | {processes} | {quarters} | {max(sizes):.0f} | {verdict} |")
        return lines


async def settle_database(members: ReplicaSet, services: list[Service]) -> None:
    """Starts what has ended, wakes what is paused, and waits until everything works."""
    for process in [*members.members, *services]:
        process.signal(signal.SIGCONT)
        if not process.is_running:
            process.start()
    await members.wait_until_whole()
    for service in services:
        await service.wait_until_ready()
    if not all(it.is_running for it in [*members.members, *services]):
        raise Fault("a process has ended")
