"""A document to which records are appended, with a copy of what it says in memory."""

from __future__ import annotations

import os
import struct
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

from ..._documents import MAX_BODY
from ..._sync.documents import Documents
from ...errors import NotFound, OutcomeUnknown, PreconditionFailed
from ._history import History

#: A frame is the length of what follows, a record, and a mark that no other frame has.
LENGTH = struct.Struct(">I")
MARK_SIZE = 8
MAX_RECORD = MAX_BODY - LENGTH.size - MARK_SIZE
#: How long a record that depends on no other waits for one that takes it along, in seconds.
MAX_WAIT = 0.005
#: How many logs stay in memory.
MAX_LOGS = 1_000
CONTENT_TYPE = "application/vnd.reprise.langgraph-checkpoints"

T = TypeVar("T")
#: Makes a record that fits to the records so far.
Encode: TypeAlias = Callable[[History], bytes]


@dataclass(eq=False)
class _Pending:
    """A record that waits to be appended."""

    encode: Encode
    #: Whether the record depends on those before it.
    is_dependent: bool
    done: threading.Event = field(default_factory=threading.Event)
    error: Exception | None = None


class Log:
    """The records of one document.

    Every read asks the service for what was appended since, and compares the last mark: a document that was replaced or
    deleted is read again. Appends of several threads that meet are one request. An append is conditional on the version of
    the document, so that no record is written on top of records that this process has not seen.
    """

    def __init__(self, documents: Documents, path: str) -> None:
        self._documents, self._path = documents, path
        self._lock = threading.Lock()
        self._queue: list[_Pending] = []
        self._queue_lock = threading.Lock()
        self._clear()

    @property
    def size(self) -> int:
        """How many bytes the document has, as far as is known."""
        return self._end

    def _clear(self) -> None:
        #: Whether the rest is what the document said when it was read.
        self._is_read = False
        self._history = History()
        self._end, self._mark, self._entity_tag = 0, b"", ""

    def read(self, extract: Callable[[History], T]) -> T:
        """Returns what a function takes from the history, as it is now in the service."""
        with self._lock:
            self._refresh()
            return extract(self._history)

    def append(self, encode: Encode, *, is_dependent: bool) -> None:
        """Appends a record. When the call returns, the record is stored."""
        pending = _Pending(encode, is_dependent)
        with self._queue_lock:
            self._queue.append(pending)
        try:
            if not is_dependent:
                # A checkpoint mostly follows at once, and takes the record along.
                pending.done.wait(MAX_WAIT)
            if not pending.done.is_set():
                with self._lock:
                    # Another thread may have appended the record while this one waited.
                    while not pending.done.is_set():
                        self._append(self._next_batch())
        finally:
            # A call that was interrupted leaves no record behind that a later one would take along.
            with self._queue_lock:
                self._queue.remove(pending)
        if pending.error is not None:
            raise pending.error

    def replace(self, choose: Callable[[History], Collection[str]]) -> None:
        """Removes the checkpoints that a function chooses, in one write."""
        with self._lock:
            while True:
                self._refresh()
                removed = choose(self._history)
                if not removed:
                    return
                content = b"".join(map(frame, self._history.without(removed)))
                if len(content) > MAX_BODY:
                    raise ValueError(f"{self._path} would keep {len(content)} bytes; one write holds at most {MAX_BODY}")
                try:
                    if content:
                        self._documents.put(self._path, content, content_type=CONTENT_TYPE, if_match=self._entity_tag)
                    else:
                        self._documents.delete(self._path, if_match=self._entity_tag)
                except PreconditionFailed:
                    continue
                return

    def copy_to(self, path: str) -> None:
        """Copies the records to another document, which must not exist, or be a copy that was broken off."""
        data = self._documents.read(self._path).data
        at = self._copied(data, path)
        for part in grouped(frames(data[at:])):
            if at == 0:
                self._documents.put(path, part, content_type=CONTENT_TYPE, if_none_match="*")
            else:
                self._documents.append(path, part, offset=at, content_type=CONTENT_TYPE)
            at += len(part)

    def _copied(self, data: bytes, path: str) -> int:
        """Returns how much of the records a document has. Each has a mark of its own, so that only a copy begins with them."""
        try:
            copied = self._documents.read(path).data
        except NotFound:
            return 0
        if not data.startswith(copied):
            raise PreconditionFailed(f"{path} has other records")
        return len(copied)

    def _next_batch(self) -> list[_Pending]:
        """Returns what is appended together: of the records that depend on those before them, only one."""
        with self._queue_lock:
            waiting = [pending for pending in self._queue if not pending.done.is_set()]
        dependent = [pending for pending in waiting if pending.is_dependent]
        return dependent[:1] + [pending for pending in waiting if not pending.is_dependent]

    def _append(self, batch: list[_Pending]) -> None:
        waiting = batch
        try:
            if not self._is_read:
                self._refresh()
            while waiting:
                waiting = self._append_some(waiting)
        except Exception as error:
            fail(waiting, error)
        except BaseException as error:
            fail(waiting, OutcomeUnknown(f"the thread that stored the record was interrupted: {error!r}"))
            raise
        finally:
            for pending in batch:
                pending.done.set()

    def _append_some(self, waiting: list[_Pending]) -> list[_Pending]:
        """Appends as many records as one request can hold, and returns the others."""
        records: list[bytes] = []
        room = MAX_BODY
        for count, pending in enumerate(waiting):
            record = self._encoded(pending)
            if record is not None:
                room -= len(record) + LENGTH.size + MARK_SIZE
                if room < 0:
                    rest = waiting[count:]
                    break
                records.append(record)
        else:
            rest = []
        content = b"".join(map(frame, records))
        if not content:
            return rest
        try:
            seen = self._entity_tag if self._end > 0 else None
            appended = self._documents.append(self._path, content, offset=self._end, if_match=seen, content_type=CONTENT_TYPE)
        except PreconditionFailed:
            self._refresh()
            return waiting
        self._entity_tag = appended.entity_tag
        self._take(content)
        return rest

    def _encoded(self, pending: _Pending) -> bytes | None:
        """Returns the record; ``None`` if it cannot be stored, which is the error of its own call alone."""
        pending.error = None
        try:
            record = pending.encode(self._history)
            if len(record) > MAX_RECORD:
                raise ValueError(f"a record of {len(record)} bytes cannot be stored: one write holds at most {MAX_RECORD}")
        except Exception as error:
            pending.error = error
            return None
        return record

    def _refresh(self) -> None:
        """Reads what was appended since; everything, unless the document is the one that was read before."""
        if not self._is_read:
            self._clear()
        try:
            found = self._documents.read_range(self._path, self._end - len(self._mark))
            if not found.data.startswith(self._mark):
                self._clear()
                found = self._documents.read_range(self._path, 0)
        except NotFound:
            self._clear()
            self._is_read = True
        else:
            self._entity_tag = found.entity_tag
            self._take(found.data[len(self._mark) :])

    def _take(self, content: bytes) -> None:
        # If it is interrupted, everything is read again.
        self._is_read = False
        for found in frames(content):
            self._history.apply(found[LENGTH.size : -MARK_SIZE])
            self._end += len(found)
            self._mark = found[-MARK_SIZE:]
        self._is_read = True


class Logs:
    """The logs of a namespace, of which the ones that were used last stay in memory."""

    def __init__(self, documents: Documents, max_bytes: int) -> None:
        self._documents, self._max_bytes = documents, max_bytes
        self._logs: OrderedDict[str, Log] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, path: str) -> Log:
        """Returns the log of a document."""
        with self._lock:
            log = self._logs.get(path) or Log(self._documents, path)
            self._logs[path] = log
            self._logs.move_to_end(path)
            total = sum(each.size for each in self._logs.values())
            while len(self._logs) > 1 and (total > self._max_bytes or len(self._logs) > MAX_LOGS):
                total -= self._logs.popitem(last=False)[1].size
            return log

    def below(self, namespace: str) -> list[str]:
        """Lists the paths of the documents below a namespace."""
        return [document.path for document in self._documents.list(namespace)]

    def delete_all(self, namespace: str) -> None:
        """Deletes the documents below a namespace."""
        self._documents.delete_all(namespace)


def fail(waiting: Iterable[_Pending], error: Exception) -> None:
    """Gives an error to records that have none of their own."""
    for pending in waiting:
        pending.error = pending.error or error


def frame(record: bytes) -> bytes:
    """Returns a record with its length and a new mark."""
    return LENGTH.pack(len(record) + MARK_SIZE) + record + os.urandom(MARK_SIZE)


def frames(content: bytes) -> Iterator[bytes]:
    """Splits what was stored into frames."""
    at = 0
    while at < len(content):
        end = at + LENGTH.size + LENGTH.unpack_from(content, at)[0]
        if end > len(content):
            raise ValueError(f"the record at byte {at} is not complete: something else has written to the document")
        yield content[at:end]
        at = end


def grouped(parts: Iterator[bytes]) -> Iterator[bytes]:
    """Joins parts, as many as one write can hold."""
    group: list[bytes] = []
    size = 0
    for part in parts:
        if size + len(part) > MAX_BODY:
            yield b"".join(group)
            group, size = [], 0
        group.append(part)
        size += len(part)
    if group:
        yield b"".join(group)
