"""The knowledge and the streams of AG2 1.x, kept by Reprise.

::

    from ag2 import Agent, MemoryStream
    from reprise import AsyncReprise
    from reprise.stores.ag2 import RepriseKnowledgeStore, RepriseStorage

    client = AsyncReprise("http://127.0.0.1:8080", "acme_corp")
    knowledge = RepriseKnowledgeStore(client)
    stream = MemoryStream(RepriseStorage(client), id=stream_id)

Needs ``ag2`` 1.2.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Iterable

from ag2.annotations import Context
from ag2.context import StreamId
from ag2.events import BaseEvent, UnknownEvent

# AG2 has no public functions for the form of its logs.
from ag2.events._serialization import import_event_class, qualified_name
from ag2.history import Storage
from ag2.knowledge import ChangeCallback, ChangeSubscription, KnowledgeStore

from .._async.client import AsyncReprise
from .._async.documents import AsyncDocuments
from ..errors import NotFound, Unavailable
from ._clients import checked_client
from ._paths import join, name_of

LINES = "application/jsonl"
#: How long a subscription waits before it lists again what it could not list, in seconds.
PAUSE = 5.0
logger = logging.getLogger(__name__)


class RepriseKnowledgeStore(KnowledgeStore):
    """Keeps each file as a document.

    What it does not do: ``delete`` has no condition: one that is sent again, because its answer was lost, deletes what
    another client has written to the file in between. A ``write`` or an ``append`` that is sent again counts as another one
    if there were 64 others in between. One write holds at most 8 MiB, a file at most 1 GiB. ``list`` and ``exists`` of a
    directory go through all files below it. ``on_change`` tells several changes of a file as one if the connection was broken
    meanwhile. A name in a path has at most 256 bytes, a path at most 30 names. Together with ``prefix``, it has at most 1,024
    bytes, in which a ``%`` or a control character counts as 3.

    :param client: the client of the app; the caller closes it
    :param prefix: the namespace of the documents
    """

    def __init__(self, client: AsyncReprise, *, prefix: str = "ag2-knowledge") -> None:
        self._documents, self._prefix = checked_client(client, AsyncReprise).documents, prefix

    async def read(self, path: str) -> str | None:
        """Returns the content of a file; ``None`` if there is none."""
        try:
            return (await self._documents.read(self._path(path))).text
        except NotFound:
            return None

    async def write(self, path: str, content: str) -> None:
        """Replaces the content of a file, or creates it."""
        await self._documents.put(self._path(path), content)

    async def list(self, path: str = "/") -> list[str]:
        """Returns the names in a directory; those of directories end with ``/``."""
        namespace = self._path(path)
        below = [document.path.removeprefix(f"{namespace}/") async for document in self._documents.list(namespace)]
        names = [name.split("/", 1) for name in below]
        return sorted({name_of(name) + "/" * bool(rest) for name, *rest in names})

    async def delete(self, path: str) -> None:
        """Deletes a file, and a directory with all that is in it."""
        await self._documents.delete(self._path(path))
        await self._documents.delete_all(self._path(path))

    async def exists(self, path: str) -> bool:
        """Tells whether there is a file or a directory."""
        try:
            await self._documents.head(self._path(path))
        except NotFound:
            async for _ in self._documents.list(self._path(path), page_size=1):
                return True
            return False
        return True

    async def append(self, path: str, content: str) -> int:
        """Appends to a file, or creates it; returns the byte at which the content begins."""
        return (await self._documents.append(self._path(path), content)).offset

    async def read_range(self, path: str, start: int, end: int | None = None) -> str:
        """Returns the bytes from ``start`` to before ``end`` as text; empty if there are none. A negative ``start`` counts from
        the end."""
        try:
            if start < 0:
                start = max((await self._documents.head(self._path(path))).size + start, 0)
            if end is not None and end <= start:
                return ""
            return (await self._documents.read_range(self._path(path), start, end)).text
        except NotFound:
            return ""

    async def on_change(self, path: str, callback: ChangeCallback) -> ChangeSubscription:
        """Calls a function with the path of each file that changes at or below a path, until the subscription is closed.

        It returns once every later change is told.
        """
        follower = _Follower(self._documents, self._path(path), lambda changed: callback(self._name(changed)))
        await follower.start()
        return follower

    def _path(self, path: str) -> str:
        return "/".join((self._prefix, *(join(name) for name in path.split("/") if name)))

    def _name(self, path: str) -> str:
        return "/" + "/".join(map(name_of, path.split("/")[1:]))


class _Follower:
    """Follows the documents at and below a path."""

    def __init__(self, documents: AsyncDocuments, path: str, callback: Callable[[str], Awaitable[None]]) -> None:
        self._documents, self._path, self._callback = documents, path, callback
        #: The version and the entity tag of each document; the tag is empty if only an event has told the version.
        self._known: dict[str, tuple[int, str]] = {}
        self._started: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begins to follow, and waits until every later change is told."""
        self._task = asyncio.create_task(self._follow())
        try:
            await self._started
        except BaseException:
            # The caller did not get the subscription, and cannot close it.
            await self.close()
            raise

    async def close(self) -> None:
        """Ends the subscription."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _follow(self) -> None:
        try:
            # Of a namespace come the documents below it, and not the one at it.
            async for event in self._documents.events(self._path.rpartition("/")[0]):
                if event.name == "resync":
                    await self._resync_with_retries()
                elif f"{event.data['path']}/".startswith(f"{self._path}/"):
                    await self._change(event.data["path"], event.data.get("version"))
        except Exception as error:
            if not self._started.done():
                self._started.set_exception(error)
            else:
                logger.exception("changes below %s are not told any more", self._path)

    async def _resync_with_retries(self) -> None:
        while True:
            try:
                return await self._resync()
            except Unavailable as error:
                if not self._started.done():
                    raise
                logger.warning("changes below %s are told once the service is reached: %s", self._path, error)
            await asyncio.sleep(PAUSE)

    async def _resync(self) -> None:
        """Tells what has changed since the last list."""
        found = self._documents.list(self._path)
        listed = {document.path: (document.version, document.entity_tag) async for document in found}
        try:
            tag = (await self._documents.head(self._path)).entity_tag
            listed[self._path] = (int(tag.rpartition("-")[2]), tag)
        except NotFound:
            pass
        known, self._known = self._known, listed
        if not self._started.done():
            self._started.set_result(None)
            return
        for path in sorted(known.keys() | listed.keys()):
            if known.get(path) != listed.get(path):
                await self._tell(path)

    async def _change(self, path: str, version: int | None) -> None:
        """Tells a change, unless the list had it already; ``None`` is a deletion."""
        if version is None:
            self._known.pop(path, None)
        elif version <= self._known.get(path, (0, ""))[0]:
            return
        else:
            self._known[path] = (version, "")
        await self._tell(path)

    async def _tell(self, path: str) -> None:
        try:
            await self._callback(path)
        except Exception:
            logger.exception("the callback for %s failed", path)


class RepriseStorage(Storage):
    """Keeps the history of each stream as a document of JSON lines, to which events are appended.

    Events are stored in the form that AG2 itself gives them in its logs. What that form does not keep is lost: an exception
    becomes its text, and a value that is not JSON becomes text. An event whose class is gone is read as ``UnknownEvent``.
    Reading imports the modules of the classes that are named in the document, as AG2 does with its logs: do not read
    documents that others may write.

    What it does not do: an event that is sent again, because its answer was lost, is stored twice if there were 64 others in
    between. A history that is set as a whole has at most 8 MiB, as does one event; a history that grows has at
    most 1 GiB.

    :param client: the client of the app; the caller closes it
    :param prefix: the namespace of the documents
    """

    def __init__(self, client: AsyncReprise, *, prefix: str = "ag2-streams") -> None:
        self._documents, self._prefix = checked_client(client, AsyncReprise).documents, prefix

    async def save_event(self, event: BaseEvent, context: Context) -> None:
        """Appends an event to the history of its stream."""
        await self._documents.append(self._path(context.stream.id), line(event), content_type=LINES)

    async def get_history(self, stream_id: StreamId) -> Iterable[BaseEvent]:
        """Returns the events of a stream."""
        try:
            found = await self._documents.read(self._path(stream_id))
        except NotFound:
            return []
        return [event_of(each) for each in found.data.splitlines()]

    async def set_history(self, stream_id: StreamId, events: Iterable[BaseEvent]) -> None:
        """Replaces the events of a stream."""
        await self._documents.put(self._path(stream_id), b"".join(map(line, events)), content_type=LINES)

    async def drop_history(self, stream_id: StreamId) -> None:
        """Deletes the events of a stream."""
        await self._documents.delete(self._path(stream_id))

    def _path(self, stream_id: StreamId) -> str:
        return f"{self._prefix}/{join(str(stream_id))}"


def line(event: BaseEvent) -> bytes:
    """Returns an event as a line, in the form of AG2's own logs."""
    return json.dumps({"type": qualified_name(event), "data": event.to_dict()}, default=str).encode() + b"\n"


def event_of(stored: bytes) -> BaseEvent:
    """Returns the event that a line has."""
    record = json.loads(stored)
    kind = import_event_class(record["type"])
    if kind is not None:
        try:
            return kind.from_dict(record["data"])
        except Exception as error:
            logger.warning("%s could not be read from its stored form: %s", record["type"], error)
    return UnknownEvent(type_name=record["type"], data=record["data"])
