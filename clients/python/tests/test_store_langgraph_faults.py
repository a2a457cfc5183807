"""The document of a checkpointer whose requests fail, or whose threads are interrupted."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import Any

import httpx
import pytest

from reprise import OutcomeUnknown, Reprise, Unavailable
from reprise.stores.langgraph import RepriseSaver
from reprise.stores.langgraph._history import History, Value, Write, writes_record
from reprise.stores.langgraph._log import Encode, Log

from .faults import Faults, nothing
from .test_store_langgraph import config, put, values_of


@pytest.fixture
def log(client: Reprise) -> Log:
    return Log(client.documents, "checkpoints/thread")


def record(task: str, size: int = 1) -> bytes:
    return writes_record("checkpoint", [Write(task, 0, "channel", ("bytes", b"x" * size), "")])


def tasks(client: Reprise) -> list[str]:
    """Returns the tasks whose records are stored."""
    history = Log(client.documents, "checkpoints/thread").read(lambda history: history)
    return [write.task_id for write in history.writes("checkpoint")]


def append_together(log: Log, *encodes: Encode) -> list[BaseException | None]:
    """Appends records of several threads in one batch; returns how each call ended."""
    outcomes: list[BaseException | None] = [None] * len(encodes)

    def append(number: int) -> None:
        try:
            log.append(encodes[number], is_dependent=False)
        except BaseException as error:
            outcomes[number] = error

    threads = [threading.Thread(target=append, args=(number,)) for number in range(len(encodes))]
    with log._lock:
        for each in threads:
            each.start()
        until = time.monotonic() + 10
        while len(log._queue) < len(encodes) and time.monotonic() < until:
            time.sleep(0.01)
    for each in threads:
        each.join(10)
    return outcomes


def test_an_interrupted_append_is_an_error_of_every_record_of_the_batch(client: Reprise, faults: Faults, log: Log) -> None:
    def interrupted(request: httpx.Request) -> None:
        if request.method == "POST":
            faults.fault = nothing
            raise KeyboardInterrupt

    faults.fault = interrupted
    first, second = append_together(log, lambda _: record("one"), lambda _: record("two"))
    assert {type(first), type(second)} == {KeyboardInterrupt, OutcomeUnknown}
    log.append(lambda _: record("three"), is_dependent=True)
    assert tasks(client) == ["three"]


def test_records_that_an_earlier_request_has_stored_have_no_error(client: Reprise, faults: Faults, log: Log) -> None:
    count = 0

    def refused_after_the_first(request: httpx.Request) -> None:
        nonlocal count
        count += request.method == "POST"
        if count > 1:
            raise httpx.ConnectError("refused by the test")

    faults.fault = refused_after_the_first
    outcomes = append_together(log, lambda _: record("one", 5_000_000), lambda _: record("two", 5_000_000))
    faults.fault = nothing
    stored = tasks(client)
    assert len(stored) == 1
    assert [type(each) for each in outcomes] == [type(None) if name in stored else Unavailable for name in ("one", "two")]


def test_a_call_that_was_interrupted_while_it_waited_leaves_no_record(client: Reprise, log: Log) -> None:
    # A process that a shell has started in the background ignores this signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with log._lock:
        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            log.append(lambda _: record("one"), is_dependent=True)
    signal.signal(signal.SIGINT, before)
    log.append(lambda _: record("two"), is_dependent=True)
    log.append(lambda _: record("three"), is_dependent=True)
    assert tasks(client) == ["three", "two"]


def test_a_record_that_fits_after_others_were_read_has_no_error(client: Reprise, log: Log) -> None:
    log.append(lambda _: record("one"), is_dependent=True)
    Log(client.documents, "checkpoints/thread").append(lambda _: record("two"), is_dependent=True)

    def after_two(history: History) -> bytes:
        if len(history.writes("checkpoint")) < 2:
            raise ValueError("it does not fit yet")
        return record("four")

    assert append_together(log, lambda _: record("three"), after_two) == [None, None]
    assert tasks(client) == ["four", "one", "three", "two"]


def test_records_that_were_half_taken_are_read_again(client: Reprise, monkeypatch: pytest.MonkeyPatch) -> None:
    saver, other = RepriseSaver(client), RepriseSaver(client)
    first = put(saver, config("thread"), items=["a"], others=["b"])
    other.get_tuple(first)
    second = put(saver, first, items=["a", "c"], others=["b", "d"])
    unpacked = History._unpacked

    def interrupted(history: History, channel: str, version: str, content: list[Any]) -> Value:
        if channel == "others":
            raise KeyboardInterrupt
        return unpacked(history, channel, version, content)

    with monkeypatch.context() as patch:
        patch.setattr(History, "_unpacked", interrupted)
        with pytest.raises(KeyboardInterrupt):
            other.get_tuple(second)
    third = put(other, second, items=["a", "c", "e"], others=["b", "d", "f"])
    for reader in (other, RepriseSaver(client)):
        assert values_of(reader.get_tuple(second)) == {"items": ["a", "c"], "others": ["b", "d"]}
        assert values_of(reader.get_tuple(third)) == {"items": ["a", "c", "e"], "others": ["b", "d", "f"]}


@pytest.mark.parametrize("refused_write", [2, 3])
def test_a_copy_that_broke_off_is_repeated(client: Reprise, faults: Faults, refused_write: int) -> None:
    saver = RepriseSaver(client)
    where = put(saver, config("source"), value="x" * 5_000_000)
    where = put(saver, where, value="y" * 5_000_000)
    put(saver, config("source", checkpoint_ns="inner"), value="z")
    count = 0

    def refused_at(request: httpx.Request) -> None:
        nonlocal count
        is_write = request.method in ("PUT", "POST")
        count += is_write
        if is_write and count == refused_write:
            raise httpx.ConnectError("refused by the test")

    faults.fault = refused_at
    with pytest.raises(Unavailable):
        saver.copy_thread("source", "target")
    saver.copy_thread("source", "target")
    assert len(list(saver.list(config("target")))) == len(list(saver.list(config("source")))) == 2
    inner = config("target", checkpoint_ns="inner")
    assert values_of(saver.get_tuple(inner)) == {"value": "z"}
    put(saver, inner, value="other")
    with pytest.raises(ValueError, match="has checkpoints already"):
        saver.copy_thread("source", "target")
