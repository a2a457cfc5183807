"""Links between a service and the members that are slow, lose packets, break, or swallow everything.

The links of the members among each other pass the same proxies, which leave them as they are.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pymongo

from appending import Appending
from conftest import Case
from processes import Member, ReplicaSet, Service, verify_database
from proxy import Link
from world import Follower

#: The deadline of a request is 10 s.
ANSWERED_WITHIN_SEC = 12
CONTINUES_WITHIN_SEC = 10
AWAY = {"503 store-unavailable", "503 overloaded", "504 outcome-unknown"}


@dataclass
class Trial:
    """What a fault of the links has struck, and when."""

    load: Appending
    links: list[Link]
    began: float
    ended: float

    def outcomes(self) -> set[str]:
        """Returns what the writers were answered."""
        return {outcome for kind, outcome in self.load.world.tally.answers if kind == "append a message"}

    def acknowledged_at(self) -> list[float]:
        """Returns when appends were acknowledged during the fault."""
        return [it for it in self.load.acknowledged_at if self.began + 1 < it < self.ended - 1]


async def strike(case: Case, strike_links: Callable[[list[Link], ReplicaSet], Awaitable[None]]) -> Trial:
    """Applies a fault to the links under load; everything must be there afterwards."""
    members = [Member(case.folder, number) for number in range(3)]
    links = [Link(it.port) for it in members]
    for link in links:
        await link.start()
    try:
        replica_set = await case.members(members, addresses=[it.address for it in links])
        service = await case.service(ReplicaSet.uri_of([it.address for it in links]))
        load = await case.load(service)
        follower = Follower(load.world, load.chats[0], "follower")
        await asyncio.sleep(2)
        began = time.monotonic()
        await strike_links(links, replica_set)
        ended = time.monotonic()
        for link in links:
            link.heal()
        await asyncio.sleep(3)
        await load.stop()
        await load.verify()
        await follower.verify()
        await verify_healed(load, service, ended)
        lost, passed = sum(it.lost for it in links), sum(it.passed for it in links)
        print(f"answers: {dict(load.world.tally.answers)}; {lost} of {passed} packets lost")
        return Trial(load, links, began, ended)
    finally:
        for link in links:
            await link.end()


async def verify_healed(load: Appending, service: Service, ended: float) -> None:
    """Nothing was found, and appends have continued soon."""
    assert not load.world.findings, load.world.findings
    assert not load.world.tally.without_retry_after
    assert min(it for it in load.acknowledged_at if it > ended) - ended < CONTINUES_WITHIN_SEC
    await verify_database(service)


def test_slow_links_cost_time_and_nothing_else(case: Case) -> None:
    async def slow(links: list[Link], _: ReplicaSet) -> None:
        for link in links:
            link.delay_sec, link.jitter_sec = 0.06, 0.04
        began = time.monotonic()
        await asyncio.to_thread(ping, links[0].address)
        assert time.monotonic() - began > 0.12, "the links are not slow"
        await asyncio.sleep(10)

    async def go() -> None:
        async with case.running():
            trial = await strike(case, slow)
            print(f"{len(trial.acknowledged_at())} appends in {trial.ended - trial.began - 2:.0f} s")
            assert trial.outcomes() == {"201"}, trial.outcomes()

    asyncio.run(go())


def ping(address: str) -> None:
    with pymongo.MongoClient(address, directConnection=True) as client:
        client.admin.command("ping")


def test_lost_packets_cost_time_and_nothing_else(case: Case) -> None:
    async def lose(links: list[Link], _: ReplicaSet) -> None:
        for link in links:
            link.loss, link.resend_sec = 0.1, 0.4
        await asyncio.sleep(10)

    async def go() -> None:
        async with case.running():
            trial = await strike(case, lose)
            assert sum(it.lost for it in trial.links) > 20, "no packets were lost"
            assert trial.outcomes() == {"201"}, trial.outcomes()

    asyncio.run(go())


def test_connections_that_break_lose_nothing(case: Case) -> None:
    async def reset(links: list[Link], _: ReplicaSet) -> None:
        for _ in range(20):
            for link in links:
                link.reset()
            await asyncio.sleep(0.5)

    async def go() -> None:
        async with case.running():
            trial = await strike(case, reset)
            assert sum(it.broken for it in trial.links) > 20, "no connections were broken"
            assert trial.acknowledged_at(), "nothing was acknowledged meanwhile"
            assert trial.outcomes() <= {"200", "201", *AWAY}, trial.outcomes()

    asyncio.run(go())


def test_a_primary_that_only_the_service_cannot_reach(case: Case) -> None:
    async def swallow(links: list[Link], replica_set: ReplicaSet) -> None:
        primary = await replica_set.primary()
        [link] = [it for it in links if it.target_port == primary.port]
        link.is_black_hole = True
        await asyncio.sleep(15)
        assert await replica_set.primary() is primary, "the members have noticed it"

    async def go() -> None:
        async with case.running():
            trial = await strike(case, swallow)
            assert not trial.acknowledged_at(), "acknowledged without the primary"
            assert trial.outcomes() & AWAY
            assert trial.outcomes() <= {"200", "201", *AWAY}, trial.outcomes()
            slowest = trial.load.world.tally.slowest_answer_sec
            print(f"the slowest answer took {slowest:.1f} s")
            assert slowest < ANSWERED_WITHIN_SEC

    asyncio.run(go())
