"""The checkpointer of LangGraph, judged by LangGraph's own suite, and its store, judged by the one in memory."""

# LangGraph itself has no types, and its config says that nothing in it is required.
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportTypedDictNotRequiredAccess=false

from __future__ import annotations

import operator
import random
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Annotated, Any, TypedDict, cast

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver, Checkpoint, CheckpointTuple, empty_checkpoint
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.store.base import GetOp, ListNamespacesOp, MatchCondition, Op, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, interrupt

from reprise import InvalidValue, Reprise
from reprise.stores.langgraph import RepriseSaver, RepriseStore

from .conftest import Line, Service
from .page import run_example


@pytest.fixture
def client(service: Service, app: str) -> Iterator[Reprise]:
    with Reprise(service.url, app) as client:
        yield client


def config(thread_id: str, checkpoint_id: str | None = None, checkpoint_ns: str = "") -> RunnableConfig:
    named = {"checkpoint_id": checkpoint_id} if checkpoint_id else {}
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": checkpoint_ns, **named}}


def size_of(client: Reprise) -> int:
    return sum(document.size for document in client.documents.list())


def put(saver: RepriseSaver, where: RunnableConfig, **values: Any) -> RunnableConfig:
    """Stores a checkpoint in which all channels changed."""
    versions = {channel: saver.get_next_version(None, None) for channel in values}
    checkpoint: Checkpoint = {**empty_checkpoint(), "channel_values": values, "channel_versions": dict(versions)}
    return saver.put(where, checkpoint, {"source": "loop", "step": 0}, dict(versions))


def values_of(found: CheckpointTuple | None) -> dict[str, Any]:
    assert found is not None
    return found.checkpoint["channel_values"]


# The suite of LangGraph


async def test_all_capabilities_of_the_suite_are_there(client: Reprise) -> None:
    @checkpointer_test(name="RepriseSaver")
    async def saver() -> AsyncGenerator[BaseCheckpointSaver[str], None]:
        yield RepriseSaver(client)

    report = await validate(saver)
    failures = {name: result.failures for name, result in report.results.items() if not result.passed}
    assert not failures
    assert len(report.results) == 8 and report.passed_all()


# Graphs


class Talk(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    count: Annotated[int, operator.add]


def answer(state: Talk) -> dict[str, Any]:
    number = len(state["messages"])
    return {"messages": [AIMessage(content=f"{number} " + "x" * 1_000, id=f"ai-{number}")], "count": 1}


def talk(saver: BaseCheckpointSaver[str]) -> Any:
    builder = StateGraph(Talk)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    builder.add_edge("answer", END)
    return builder.compile(checkpointer=saver)


def ask(graph: Any, thread_id: str, number: int) -> Any:
    message = HumanMessage(content=f"{number} " + "y" * 1_000, id=f"human-{number}")
    return graph.invoke({"messages": [message]}, {"configurable": {"thread_id": thread_id}})


def plain(found: CheckpointTuple) -> Any:
    """Returns what two savers must agree on: everything but ids, versions and times."""
    metadata = {key: value for key, value in found.metadata.items() if key in ("source", "step", "run_id")}
    writes = [(channel, value) for _, channel, value in found.pending_writes or []]
    return found.checkpoint["channel_values"], metadata, writes, found.parent_config is None


def test_a_conversation_is_stored_as_the_saver_in_memory_stores_it(client: Reprise) -> None:
    ours, theirs = RepriseSaver(client), InMemorySaver()
    for number in range(6):
        for saver in (ours, theirs):
            ask(talk(saver), "thread", number)
    listed = [plain(found) for found in ours.list(config("thread"))]
    assert listed == [plain(found) for found in theirs.list(config("thread"))]
    assert len(listed) == 18
    # What another process reads is the same.
    assert [plain(found) for found in RepriseSaver(client).list(config("thread"))] == listed


def test_a_conversation_grows_by_what_is_said(client: Reprise) -> None:
    graph = talk(RepriseSaver(client))
    for number in range(20):
        ask(graph, "thread", number)
    first = size_of(client)
    for number in range(20, 40):
        ask(graph, "thread", number)
    # Each turn says 2 KB.
    assert size_of(client) < 2.1 * first < 2.1 * 20 * 9_000


def test_a_branch_does_not_change_the_others(client: Reprise) -> None:
    graph = talk(RepriseSaver(client))
    for number in range(3):
        ask(graph, "thread", number)
    before = {found.config["configurable"]["checkpoint_id"]: values_of(found) for found in RepriseSaver(client).list(None)}
    past = next(state for state in graph.get_state_history(config("thread")) if len(state.values["messages"]) == 2)
    graph.invoke({"messages": [HumanMessage(content="another", id="other")]}, past.config)
    after = {found.config["configurable"]["checkpoint_id"]: values_of(found) for found in RepriseSaver(client).list(None)}
    assert {checkpoint_id: after[checkpoint_id] for checkpoint_id in before} == before
    assert [message.id for message in graph.get_state(config("thread")).values["messages"]] == [
        "human-0",
        "ai-1",
        "other",
        "ai-3",
    ]


def test_a_message_that_was_changed_in_place_is_stored_as_it_is(client: Reprise) -> None:
    saver = RepriseSaver(client)
    messages = [HumanMessage(content=[{"type": "text", "text": str(number)}], id=str(number)) for number in range(3)]
    first = put(saver, config("thread"), messages=messages)
    assert isinstance(messages[1].content, list)
    messages[1].content.append("more")
    second = put(saver, first, messages=messages)
    assert values_of(saver.get_tuple(second))["messages"] == messages
    kept = values_of(saver.get_tuple(first))["messages"]
    assert kept[1].content == [{"type": "text", "text": "1"}]
    # Nor do changes of what was read come back.
    kept.clear()
    assert len(values_of(saver.get_tuple(first))["messages"]) == 3


def test_an_interrupted_graph_goes_on_in_another_process(client: Reprise) -> None:
    def decide(state: Talk) -> dict[str, Any]:
        return {"messages": [AIMessage(content=interrupt("Park or lake?"), id="answer")], "count": 1}

    def graph() -> Any:
        builder = StateGraph(Talk)
        builder.add_node("decide", decide)
        builder.add_edge(START, "decide")
        return builder.compile(checkpointer=RepriseSaver(client))

    ask(graph(), "thread", 0)
    assert graph().get_state(config("thread")).interrupts[0].value == "Park or lake?"
    result = graph().invoke(Command(resume="lake"), config("thread"))
    assert result["messages"][-1].content == "lake"


async def test_a_graph_runs_with_asyncio(client: Reprise) -> None:
    graph = talk(RepriseSaver(client))
    for number in range(3):
        await graph.ainvoke({"messages": [HumanMessage(content=str(number))]}, config("thread"))
    assert len((await graph.aget_state(config("thread"))).values["messages"]) == 6
    assert len([state async for state in graph.aget_state_history(config("thread"))]) == 9


FORKED = """
import asyncio, os, sys
from reprise import Reprise
from reprise.stores.langgraph import RepriseSaver

saver = RepriseSaver(Reprise(sys.argv[1], sys.argv[2]))
asyncio.run(saver.aget_tuple({"configurable": {"thread_id": "thread-1"}}))
child = os.fork()
asyncio.run(saver.aget_tuple({"configurable": {"thread_id": "thread-1"}}))
if child == 0:
    os._exit(0)
sys.exit(os.waitpid(child, 0)[1])
"""


def test_a_forked_process_has_its_own_threads(service: Service, app: str) -> None:
    subprocess.run([sys.executable, "-c", FORKED, service.url, app], check=True, timeout=20)


# Values


@pytest.mark.parametrize(
    "value",
    [None, b"\x00", [], [None, b"x", "y", {"a": [1]}], [1, 2, 3], ["a", 1], {"x": {1: 2}}, {1, 2}, 2**60, "\u2028"],
)
def test_values_come_back_as_they_were(client: Reprise, value: Any) -> None:
    saver = RepriseSaver(client)
    stored = put(saver, config("thread"), value=value)
    found = values_of(RepriseSaver(client).get_tuple(stored))["value"]
    assert found == value and type(found) is type(value)


def test_lists_that_change_in_any_way_come_back(client: Reprise) -> None:
    chance = random.Random(20)
    saver, where, items = RepriseSaver(client), config("thread"), list[str]()
    expected: dict[str, list[str]] = {}
    for _ in range(120):
        match chance.randrange(4):
            case 0 if items:
                del items[chance.randrange(len(items)) :]
            case 1 if items:
                items[chance.randrange(len(items))] = str(chance.random())
            case _:
                items += [str(chance.random()) for _ in range(chance.randrange(4))]
        parent = chance.choice([where, config("thread", chance.choice(list(expected)))]) if expected else where
        where = put(saver, parent, items=list(items))
        expected[where["configurable"]["checkpoint_id"]] = list(items)
    for reader in (saver, RepriseSaver(client)):
        found = {each.config["configurable"]["checkpoint_id"]: values_of(each)["items"] for each in reader.list(None)}
        assert found == expected


def test_pickle_is_not_used(client: Reprise) -> None:
    saver = RepriseSaver(client)
    with pytest.raises(TypeError):
        put(saver, config("thread"), value=Unknown())
    assert saver.get_tuple(config("thread")) is None


class Unknown:
    pass


def test_a_write_that_is_too_large_is_refused_alone(client: Reprise) -> None:
    saver = RepriseSaver(client)
    first = put(saver, config("thread"), value="small")
    with ThreadPoolExecutor() as pool:
        large = pool.submit(saver.put_writes, first, [("a", "x" * 9_000_000)], "task-1")
        small = [pool.submit(saver.put_writes, first, [("a", "x" * 3_000_000)], f"task-{number}") for number in range(2, 6)]
    with pytest.raises(ValueError, match="one write holds at most"):
        large.result()
    for each in small:
        each.result()
    found = RepriseSaver(client).get_tuple(first)
    assert found is not None and sorted(write[0] for write in found.pending_writes or []) == [f"task-{n}" for n in range(2, 6)]


# Several processes, and faults


def test_several_writers_of_one_thread_lose_nothing(client: Reprise) -> None:
    savers = [RepriseSaver(client) for _ in range(4)]

    def write(number: int) -> list[str]:
        stored: list[str] = []
        where = config("thread")
        for count in range(8):
            where = put(savers[number], where, items=[f"{number}-{each}" for each in range(count)])
            savers[number].put_writes(where, [("items", count)], f"task-{number}")
            stored.append(where["configurable"]["checkpoint_id"])
        return stored

    with ThreadPoolExecutor() as pool:
        stored = list(pool.map(write, range(4)))
    for saver in (*savers, RepriseSaver(client)):
        found = {each.config["configurable"]["checkpoint_id"]: each for each in saver.list(config("thread"))}
        assert len(found) == 32
        for number, ids in enumerate(stored):
            for count, checkpoint_id in enumerate(ids):
                assert values_of(found[checkpoint_id])["items"] == [f"{number}-{each}" for each in range(count)]
                assert found[checkpoint_id].pending_writes == [(f"task-{number}", "items", count)]


def test_what_was_deleted_or_replaced_elsewhere_is_not_remembered(client: Reprise) -> None:
    saver, other = RepriseSaver(client), RepriseSaver(client)
    first = put(saver, config("thread"), items=["a", "b"])
    other.delete_thread("thread")
    assert saver.get_tuple(config("thread")) is None
    second = put(saver, config("thread"), items=["a", "b", "c"])
    other.delete_thread("thread")
    third = put(saver, second, items=["a", "b", "c", "d"])
    for reader in (saver, RepriseSaver(client)):
        assert [each.config for each in reader.list(None)] == [third]
        assert values_of(reader.get_tuple(third))["items"] == ["a", "b", "c", "d"]
    other.delete_thread("thread")
    fourth = put(other, config("thread"), items=["x", "y", "z", "!"])
    assert [each.config for each in saver.list(None)] == [fourth]
    assert saver.get_tuple(first) is None


def test_a_write_whose_answer_is_lost_is_stored_once(line: Line, service: Service, app: str) -> None:
    graph = talk(RepriseSaver(Reprise(line.url, app)))
    for number in range(4):
        line.lost_answers = number % 3
        ask(graph, "thread", number)
    assert len(list(RepriseSaver(Reprise(service.url, app)).list(None))) == 12
    assert len(graph.get_state(config("thread")).values["messages"]) == 8


def test_a_restart_of_the_service_is_not_seen(client: Reprise, service: Service) -> None:
    graph = talk(RepriseSaver(client))
    restarting = threading.Thread(target=service.restart)
    for number in range(12):
        if number == 3:
            restarting.start()
        ask(graph, "thread", number)
    restarting.join()
    said = [message.id for message in graph.get_state(config("thread")).values["messages"]]
    assert said == [each for number in range(12) for each in (f"human-{number}", f"ai-{2 * number + 1}")]
    assert len(list(RepriseSaver(client).list(None))) == 36


# Copies and removals


def test_a_copy_is_independent(client: Reprise) -> None:
    saver = RepriseSaver(client)
    ask(talk(saver), "source", 0)
    saver.copy_thread("source", "target/…")
    ask(talk(saver), "target/…", 1)
    assert len(list(saver.list(config("source")))) == 3
    assert len(list(saver.list(config("target/…")))) == 6
    with pytest.raises(ValueError, match="has checkpoints already"):
        saver.copy_thread("source", "target/…")


def test_namespaces_of_any_depth_are_kept_apart(client: Reprise) -> None:
    saver = RepriseSaver(client)
    names = ["", "|", "a", "a|b", "a/b", "|".join(f"node:{'x' * 60}{number}" for number in range(10))]
    for name in names:
        put(saver, config("thread", None, name), name=name)
    listed = list(RepriseSaver(client).list({"configurable": {"thread_id": "thread"}}))
    assert sorted(each.config["configurable"]["checkpoint_ns"] for each in listed) == sorted(names)
    for each in listed:
        assert values_of(each)["name"] == each.config["configurable"]["checkpoint_ns"]


def test_pruning_keeps_what_the_newest_checkpoint_needs(client: Reprise) -> None:
    saver = RepriseSaver(client)
    graph = talk(saver)
    for number in range(5):
        ask(graph, "thread", number)
    before = values_of(saver.get_tuple(config("thread")))
    saver.prune(["thread"])
    for reader in (saver, RepriseSaver(client)):
        assert [values_of(found) for found in reader.list(None)] == [before]
    ask(graph, "thread", 5)
    assert len(graph.get_state(config("thread")).values["messages"]) == 12


class Notes(TypedDict):
    notes: Annotated[list[str], DeltaChannel(lambda notes, writes: [*notes, *(each for write in writes for each in write)])]


def take_note(name: str, state: Notes) -> dict[str, Any]:
    return {"notes": [f"{name} {len(state['notes'])}"]}


def note_taker(saver: BaseCheckpointSaver[str]) -> Any:
    builder = StateGraph(Notes)
    for name in ("one", "two"):
        builder.add_node(name, partial(take_note, name))
        builder.add_edge(START, name)
    return builder.compile(checkpointer=saver)


def test_a_channel_that_stores_differences_is_read_and_pruned(client: Reprise) -> None:
    ours, theirs = RepriseSaver(client), InMemorySaver()
    for number in range(5):
        for saver in (ours, theirs):
            note_taker(saver).invoke({"notes": [str(number)]}, config("thread"))
    states = [
        [state.values for state in note_taker(saver).get_state_history(config("thread"))]
        for saver in (ours, RepriseSaver(client), theirs)
    ]
    assert states[0] == states[1] == states[2] and len(states[0][0]["notes"]) == 15
    where, found = config("thread"), list[Any]()
    for saver in (ours, theirs):
        history = saver.get_delta_channel_history(config=where, channels=["notes", "other"])
        found.append({channel: [value for *_, value in each["writes"]] for channel, each in history.items()})
    assert found[0] == found[1] and len(found[0]["notes"]) == 15
    ours.prune(["thread"])
    assert note_taker(RepriseSaver(client)).get_state(config("thread")).values == states[0][0]


def test_a_run_is_removed_and_the_others_are_as_before(client: Reprise) -> None:
    saver = RepriseSaver(client)
    graph = talk(saver)
    for number in range(4):
        run: RunnableConfig = {"configurable": {"thread_id": "thread"}, "metadata": {"run_id": f"run-{number}"}}
        graph.invoke({"messages": [HumanMessage(content=str(number), id=str(number))]}, run)
    before = {each.config["configurable"]["checkpoint_id"]: plain(each) for each in saver.list(None)}
    saver.delete_for_runs(["run-1", "run-2"])
    after = {each.config["configurable"]["checkpoint_id"]: plain(each) for each in RepriseSaver(client).list(None)}
    assert after == {key: value for key, value in before.items() if value[1]["run_id"] in ("run-0", "run-3")}
    assert len(after) == 6
    saver.delete_for_runs(["run-0", "run-3"])
    assert not list(saver.list(None)) and not list(client.documents.list())


# Items


def test_the_store_answers_as_the_one_in_memory(client: Reprise) -> None:
    chance = random.Random(7)
    ours, theirs = RepriseStore(client), InMemoryStore()
    namespaces: list[tuple[str, ...]] = [("a",), ("a", "b"), ("a", "b", "c/ä"), ("b", "*"), ("bc",)]
    filters: list[dict[str, Any] | None] = [None, {"x": 1}, {"x": {"$gt": 1}}, {"y": {"z": [1, 2]}}, {"x": {"$ne": 2}}]
    for _ in range(150):
        namespace, key = chance.choice(namespaces), chance.choice(["k1", "k2", "b", ".."])
        value = {"x": chance.randrange(4), "y": {"z": [1, chance.randrange(3)]}, "text": "ü"}
        depth = chance.choice([None, 1, 2])
        condition = MatchCondition(chance.choice(["prefix", "suffix"]), chance.choice([("a",), ("*", "b"), ("c/ä",)]))
        ops: list[Op] = [
            GetOp(namespace, key),
            SearchOp(namespace[: chance.randrange(3)], filter=chance.choice(filters), limit=100),
            PutOp(namespace, key, chance.choice([value, value, None])),
        ]
        found, expected = ours.batch(ops), theirs.batch(ops)
        assert items_of(found) == items_of(expected)
        # The store in memory goes on listing namespaces without items.
        if {item.namespace for item in theirs.search((), limit=1_000)} == set(namespaces):
            listing: list[Op] = [ListNamespacesOp((condition,), depth), ListNamespacesOp(None, depth, 2, 1)]
            assert ours.batch(listing) == theirs.batch(listing)


def test_a_key_of_a_filter_is_no_operator_and_a_page_is_a_slice(client: Reprise) -> None:
    ours, theirs = RepriseStore(client), InMemoryStore()
    for store in (ours, theirs):
        for number in range(5):
            store.put(("notes",), f"k{number}", {"$ref": number % 2, "x": {"$ref": number}})
    searches: list[SearchOp] = [SearchOp(("notes",), {"$ref": 1}), SearchOp(("notes",), {"$ref": {"$lt": 1}})]
    bounds = [(limit, offset) for limit in (-9, -1, 0, 2, 10) for offset in (-9, -1, 0, 2, 10)]
    searches += [SearchOp(("notes",), None, limit, offset) for limit, offset in bounds]
    for search in searches:
        (found,), (expected,) = ours.batch([search]), theirs.batch([search])
        assert [item.key for item in cast("Any", found)] == [item.key for item in cast("Any", expected)], search
    for store in (ours, theirs):
        with pytest.raises(ValueError, match=r"\$ref"):
            store.search(("notes",), filter={"x": {"$ref": 1}})


def items_of(results: list[Any]) -> list[Any]:
    def item(found: Any) -> Any:
        return (found.namespace, found.key, found.value)

    gotten, searched, _ = results
    return [gotten and item(gotten), sorted(map(item, searched))]


def test_a_value_that_is_no_dictionary_is_refused(client: Reprise) -> None:
    store = RepriseStore(client)
    for value in ([1], "text", 1):
        with pytest.raises(TypeError, match="is a dict, not a"):
            store.batch([PutOp(("users",), "ada", {}), PutOp(("users",), "bob", cast("dict[str, Any]", value))])
    assert store.search(("users",)) == []


def test_a_value_that_json_does_not_have_is_refused(client: Reprise) -> None:
    store = RepriseStore(client)
    for value in (float("nan"), "a\ud83d"):
        with pytest.raises(InvalidValue, match=r"^/value/places/0: "):
            store.put(("users",), "ada", {"places": [value]})
    names: dict[Any, str] = {1: "a", "1": "b"}
    with pytest.raises(InvalidValue, match=r"^/value \(a name of a field\): 1 is no text"):
        store.put(("users",), "ada", names)
    assert store.search(("users",)) == []


def test_an_item_has_its_times_and_ends(client: Reprise) -> None:
    store = RepriseStore(client)
    store.put(("a",), "k", {"x": 1})
    first = store.get(("a",), "k")
    store.put(("a",), "k", {"x": 2}, ttl=1)
    second = store.get(("a",), "k")
    assert first is not None and second is not None
    assert first.updated_at < second.updated_at
    (document,) = client.documents.list()
    assert document.expires_at is not None and 50 < (document.expires_at - document.last_updated_at).total_seconds() < 70


async def test_large_items_and_asyncio(client: Reprise) -> None:
    store = RepriseStore(client)
    value = {"text": "x" * 2_000_000}
    await store.aput(("a",), "large", value)
    found = await store.aget(("a",), "large")
    assert found is not None and found.value == value
    assert [item.value for item in await store.asearch(("a",))] == [value]


async def test_the_example_of_the_page_runs(service: Service, app: str, client: Reprise) -> None:
    builder = StateGraph(Talk)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    await run_example("reprise.stores.langgraph", service, app, builder=builder)
    assert len(list(RepriseSaver(client).list(config("thread-1")))) == 3
