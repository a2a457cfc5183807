"""Measures the checkpointer of LangGraph: ``RepriseSaver`` beside ``MongoDBSaver`` of langgraph-checkpoint-mongodb.

    PYTHONPATH=src REPRISE_BIN=…/reprise python -m benchmarks.langgraph [--rounds 3] [--quick]

A graph of one node talks for 300 turns: a question and an answer of 1 KB each. Both savers use the same private mongod, with
write concern majority and journal, and run in one process; their turns alternate. A turn is one call of the graph, which stores
three checkpoints. Then each saver lists all checkpoints of the thread, with a new saver that has read nothing. Printed are the
medians over all rounds, the bytes of the BSON documents in the database, and how many times as much ``MongoDBSaver`` takes.
"""

# LangGraph itself has no types.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
import uuid
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.mongodb import MongoDBSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from pymongo import MongoClient
from tests.conftest import Service

from reprise import Reprise
from reprise.stores.langgraph import RepriseSaver

from .private_mongod import DATABASE, mongo_uri

Make = Callable[[], BaseCheckpointSaver[Any]]
OURS, PEER = "RepriseSaver", "MongoDBSaver"
COLLECTIONS = {"bench_checkpoints", "bench_writes"}
LISTINGS = 5


class Talk(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


def answer(state: Talk) -> dict[str, Any]:
    return {"messages": [AIMessage(content=f"{len(state['messages'])}: " + "It rains in Oslo. " * 55)]}


def talk(saver: BaseCheckpointSaver[Any]) -> Any:
    builder = StateGraph(Talk)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    builder.add_edge("answer", END)
    return builder.compile(checkpointer=saver)


@contextmanager
def timed(times: list[float]) -> Generator[None, None, None]:
    began = time.perf_counter()
    yield
    times.append(time.perf_counter() - began)


def stored(mongo: MongoClient[dict[str, Any]], name: str) -> int:
    """Returns the bytes of the BSON documents of a saver."""
    database = mongo[DATABASE]
    collections = {each for each in database.list_collection_names() if (each in COLLECTIONS) == (name == PEER)}
    total = 0
    for collection in collections:
        for group in database[collection].aggregate([{"$group": {"_id": None, "bytes": {"$sum": {"$bsonSize": "$$ROOT"}}}}]):
            total += int(group["bytes"])
    return total


def measure(mongo: MongoClient[dict[str, Any]], savers: dict[str, Make], rounds: int, turns: int) -> None:
    times: dict[str, dict[str, list[float]]] = {name: {"turn": [], "list": []} for name in savers}
    before = {name: stored(mongo, name) for name in savers}
    # The first turns open connections, and create indexes.
    for make in savers.values():
        talk(make()).invoke({"messages": [HumanMessage(content="?")]}, {"configurable": {"thread_id": uuid.uuid4().hex}})
    for _ in range(rounds):
        thread: Any = {"configurable": {"thread_id": uuid.uuid4().hex}}
        graphs = {name: talk(make()) for name, make in savers.items()}
        for number in range(turns):
            for name, graph in graphs.items():
                question = HumanMessage(content=f"{number}: " + "Where does it rain? " * 50)
                with timed(times[name]["turn"]):
                    graph.invoke({"messages": [question]}, thread)
        for _ in range(LISTINGS):
            for name, make in savers.items():
                saver = make()
                with timed(times[name]["list"]):
                    found = list(saver.list(thread))
                assert len(found) == 3 * turns
                assert len(found[0].checkpoint["channel_values"]["messages"]) == 2 * turns
    sizes = {name: (stored(mongo, name) - before[name]) / rounds / 1_000_000 for name in savers}
    rows = {
        "a turn, p50, ms": {name: statistics.median(times[name]["turn"]) * 1_000 for name in savers},
        "a turn, p95, ms": {name: statistics.quantiles(times[name]["turn"], n=20)[-1] * 1_000 for name in savers},
        f"list {3 * turns} checkpoints, s": {name: statistics.median(times[name]["list"]) for name in savers},
        f"stored by {turns} turns, MB": sizes,
    }
    print(f"| case | {PEER} | {OURS} | ratio |\n|---|---|---|---|")
    for case, values in rows.items():
        print(f"| {case} | {values[PEER]:.2f} | {values[OURS]:.2f} | {values[PEER] / values[OURS]:.1f} |", flush=True)


def main(data_dir: Path, url: str, rounds: int, turns: int) -> None:
    mongo: MongoClient[dict[str, Any]] = MongoClient(mongo_uri(data_dir))
    with mongo, Reprise(url, "bench") as client:
        assert mongo.write_concern.document == {"w": "majority", "j": True}
        checkpoints, writes = sorted(COLLECTIONS)
        savers: dict[str, Make] = {
            PEER: lambda: MongoDBSaver(mongo, DATABASE, checkpoints, writes),
            OURS: lambda: RepriseSaver(client),
        }
        measure(mongo, savers, rounds, turns)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="only shows that it runs")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="reprise-bench-") as directory:
        service = Service(Path(directory))
        try:
            rounds, turns = (1, 5) if arguments.quick else (arguments.rounds, 300)
            main(Path(directory), service.url, rounds, turns)
        finally:
            service.stop()
