"""Measures sessions of the OpenAI Agents SDK: ``RepriseSession`` beside the SDK's own ``MongoDBSession``.

    PYTHONPATH=src REPRISE_BIN=…/reprise python -m benchmarks.openai_agents [--rounds 5] [--quick]

Both use the same private mongod, with write concern majority and journal, and run in one process and one event loop: the times
are those that an agent waits. The rounds alternate, and each round has sessions of its own. Printed are the medians over all
rounds, and how many times as long ``MongoDBSession`` takes: above 1 Reprise is faster. Reprise is measured with the connections
of httpx, which are the default, and with those of aiohttp, which need less time of the processor.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from agents import TResponseInputItem
from agents.extensions.memory import MongoDBSession
from agents.memory import SessionABC
from pymongo import AsyncMongoClient
from tests.conftest import Service

from reprise import AsyncReprise
from reprise.aiohttp import AiohttpClient
from reprise.stores.openai_agents import RepriseSession

from .private_mongod import DATABASE, mongo_uri

Make = Callable[[str], SessionABC]
#: Seconds of each call of a round.
Times = list[float]


def turn(number: int) -> list[TResponseInputItem]:
    """Returns what one turn of a conversation adds: about 2 KB."""
    question, answer = f"{number}: " + "Where does it rain? " * 10, f"{number}: " + "It rains in Oslo. " * 100
    text: Any = {"type": "output_text", "text": answer, "annotations": []}
    answered: Any = {"id": f"msg_{number}", "type": "message", "role": "assistant", "status": "completed", "content": [text]}
    return [{"role": "user", "content": question}, answered]


def new_name() -> str:
    return f"bench-{uuid.uuid4().hex}"


async def timed(call: Awaitable[Any], times: Times) -> None:
    began = time.perf_counter()
    await call
    times.append(time.perf_counter() - began)


async def add(make: Make, sessions: Sequence[str], turns: int) -> Times:
    """Each writer adds turns to its session; some may be the same one. All items must be there, and each writer's in order."""
    times: Times = []

    async def write(writer: int, session: SessionABC) -> None:
        for number in range(turns):
            await timed(session.add_items(turn(writer * turns + number)), times)

    await asyncio.gather(*(write(writer, make(session)) for writer, session in enumerate(sessions)))
    for session in set(sessions):
        found = [str(item.get("content")).split(":")[0] for item in (await make(session).get_items())[::2]]
        for writer in (writer for writer, its in enumerate(sessions) if its == session):
            own = [str(number) for number in range(writer * turns, (writer + 1) * turns)]
            assert [number for number in found if number in set(own)] == own, f"{session} has lost or mixed up items"
    return times


async def read(make: Make, count: int, limit: int | None) -> Times:
    times: Times = []
    session = make(new_name())
    for number in range(100):
        await session.add_items(turn(number))
    for _ in range(count):
        await timed(session.get_items(limit), times)
    return times


async def pop(make: Make, count: int) -> Times:
    times: Times = []
    session = make(new_name())
    for number in range(count):
        await session.add_items(turn(number))
    for _ in range(count):
        await timed(session.pop_item(), times)
    return times


async def measure(peers: dict[str, Make], rounds: int, size: int) -> None:
    one, many = 10 * size, 2 * size
    shared = [new_name() for _ in range(rounds * len(peers) + len(peers))]
    cases: dict[str, Callable[[Make], Awaitable[Times]]] = {
        "add a turn, 1 writer": lambda make: add(make, [new_name()], one),
        "add a turn, 16 writers, a session each": lambda make: add(make, [new_name() for _ in range(16)], many),
        "add a turn, 16 writers, one session": lambda make: add(make, [shared.pop()] * 16, many),
        "read the newest 20 items of 200": lambda make: read(make, one, 20),
        "read all 200 items": lambda make: read(make, many, None),
        "pop an item": lambda make: pop(make, many),
    }
    peer, *ours = peers
    columns = [f"{peer}, ms", *(f"{own}, ms | ratio" for own in ours)]
    print(f"| case | {' | '.join(columns)} |\n|---|---|{'---|---|' * len(ours)}")
    for case, run in cases.items():
        times: dict[str, Times] = {peer: [] for peer in peers}
        for number in range(rounds + 1):
            for peer_name, make in peers.items():
                measured = await run(make)
                # The first round opens connections, and fills caches.
                if number > 0:
                    times[peer_name] += measured
        medians = {peer: statistics.median(of) * 1_000 for peer, of in times.items()}
        results = [f"{medians[own]:.2f} | {medians[peer] / medians[own]:.2f}" for own in ours]
        print(f"| {case} | {medians[peer]:.2f} | {' | '.join(results)} |", flush=True)


async def main(data_dir: Path, url: str, rounds: int, size: int) -> None:
    mongo: AsyncMongoClient[Any] = AsyncMongoClient(mongo_uri(data_dir))
    async with mongo, AiohttpClient() as http, AsyncReprise(url, "bench") as client:
        faster = AsyncReprise(url, "bench", http=http)
        assert mongo.write_concern.document == {"w": "majority", "j": True}
        peers: dict[str, Make] = {
            "MongoDBSession": lambda session: MongoDBSession(session, client=mongo, database=DATABASE),
            "RepriseSession": lambda session: RepriseSession(session, client=client),
            "RepriseSession, aiohttp": lambda session: RepriseSession(session, client=faster),
        }
        await measure(peers, rounds, size)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="only shows that it runs")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="reprise-bench-") as directory:
        service = Service(Path(directory))
        try:
            rounds, size = (1, 1) if arguments.quick else (arguments.rounds, 20)
            asyncio.run(main(Path(directory), service.url, rounds, size))
        finally:
            service.stop()
