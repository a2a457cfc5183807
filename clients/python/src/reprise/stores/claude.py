"""Sessions of the Claude Agent SDK, kept by Reprise.

::

    from claude_agent_sdk import ClaudeAgentOptions
    from reprise import AsyncReprise
    from reprise.stores.claude import RepriseSessionStore

    store = RepriseSessionStore(AsyncReprise("http://127.0.0.1:8080", "acme_corp"))
    options = ClaudeAgentOptions(session_store=store)

Needs ``claude-agent-sdk`` 0.2.
"""

from __future__ import annotations

import json
import logging
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast

from claude_agent_sdk import (
    SessionKey,
    SessionListSubkeysKey,
    SessionStore,
    SessionStoreEntry,
    SessionStoreListEntry,
    SessionSummaryEntry,
    fold_session_summary,
)

from .._async.client import AsyncReprise
from .._batches import batches
from .._documents import MAX_BODY, Content, ListedDocument
from ..errors import NotFound, PreconditionFailed
from ._clients import checked_client
from ._locks import LoopLock
from ._paths import join, name_of

#: Of how many transcripts the ids of the entries are remembered.
MAX_REMEMBERED = 256
LINES = "application/jsonl"
logger = logging.getLogger(__name__)


class RepriseSessionStore(SessionStore):
    """Keeps each transcript as one document of JSON lines, to which entries are appended.

    An entry whose ``uuid`` is stored already is not stored again. Several processes may append to one session: their batches
    stay whole, and none is lost. The order is the one in which the service stored them.

    What it does not do: one entry holds at most 8 MiB and a transcript at most 1 GiB. A batch of more than 8 MiB is stored in
    several writes, of which the first may be there without the others if the process dies. The first append to a session in a
    process reads its transcript, to know the ids. A summary is written after the entries; if that fails or the process dies in
    between, the next append catches up, and until then the SDK sees by its time that it is old. ``project_key`` and
    ``session_id`` have at most 256 bytes each, as has each name of a ``subpath``. Together with ``prefix``, they have at most
    1,024 bytes, in which a ``/``, a ``%`` or a control character within a name counts as 3.

    :param client: the client of the app; the caller closes it
    :param prefix: the namespace of the documents
    """

    def __init__(self, client: AsyncReprise, *, prefix: str = "claude-sessions") -> None:
        self._documents, self._prefix = checked_client(client, AsyncReprise).documents, prefix
        self._transcripts: OrderedDict[str, _Transcript] = OrderedDict()

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Appends the entries that are not stored yet, and brings the summary of the session up to date."""
        if not entries:
            return
        path = self._path(key)
        transcript = self._transcript(path)
        async with transcript.lock:
            end = 0
            for batch in batches(entries, lambda entry: len(line(entry)), MAX_BODY):
                end = await self._append(path, transcript, batch)
            if "subpath" not in key:
                try:
                    await self._summarise(key, path, end)
                except Exception:
                    # The entries are stored: the SDK would append them again, also those without a uuid.
                    logger.exception("the summary of the session %s is old until the next append", key["session_id"])

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """Returns the entries of a transcript; ``None`` if there are none."""
        try:
            return entries_of((await self._documents.read(self._path(key))).data)
        except NotFound:
            return None

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        """Lists the sessions of a project, with the time of their last entry."""
        listed = self._documents.list(self._namespace(project_key, "transcripts"))
        return [{"session_id": last_name(document), "mtime": millis(document.last_updated_at)} async for document in listed]

    async def list_session_summaries(self, project_key: str) -> list[SessionSummaryEntry]:
        """Lists the summaries of the sessions of a project."""
        found: list[SessionSummaryEntry] = []
        async for document, value in self._documents.list_values(self._namespace(project_key, "summaries")):
            mtime = millis(document.last_updated_at)
            found.append({"session_id": last_name(document), "mtime": mtime, "data": value["data"]})
        return found

    async def delete(self, key: SessionKey) -> None:
        """Deletes a transcript; that of a session with its summary and all its subpaths."""
        path = self._path(key)
        if "subpath" not in key:
            await self._documents.delete_all(self._namespace(key["project_key"], "subpaths", key["session_id"]))
            await self._documents.delete(self._summary_path(key))
        await self._documents.delete(path)
        self._transcripts.pop(path, None)

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        """Lists the subpaths of a session."""
        namespace = self._namespace(key["project_key"], "subpaths", key["session_id"])
        paths = [document.path async for document in self._documents.list(namespace)]
        return ["/".join(map(name_of, path.removeprefix(f"{namespace}/").split("/"))) for path in paths]

    # Appending

    async def _append(self, path: str, transcript: _Transcript, batch: list[SessionStoreEntry]) -> int:
        """Appends what is not stored yet, and returns where the document ended then."""
        ids = uuids(batch)
        if ids and (transcript.end == 0 or not ids.isdisjoint(transcript.uuids)):
            await self._refresh(path, transcript)
        while new := transcript.without_stored(batch):
            # Entries without ids may be equal to those of another writer, which an append with an offset takes for a retry.
            offset = transcript.end if uuids(new) else None
            try:
                appended = await self._documents.append(path, lines(new), offset=offset, content_type=LINES)
            except PreconditionFailed:
                await self._refresh(path, transcript)
            else:
                transcript.extend(appended.offset, new)
                return appended.offset + len(lines(new))
        return transcript.end

    async def _refresh(self, path: str, transcript: _Transcript) -> None:
        """Reads what others have appended; everything, unless the document is the one that was read before."""
        try:
            found = await self._documents.read_range(path, transcript.end - len(transcript.last_line))
            if not transcript.continues(found):
                transcript.clear()
                found = await self._documents.read_range(path, 0)
        except NotFound:
            transcript.clear()
        else:
            transcript.read(found)

    async def _summarise(self, key: SessionKey, path: str, end: int) -> None:
        """Folds the entries up to ``end`` into the summary, each once and in the order in which they are stored."""
        summary_path = self._summary_path(key)
        while True:
            try:
                stored = await self._documents.read(summary_path)
            except NotFound:
                through, previous, condition = 0, None, {"if_none_match": "*"}
            else:
                summary = json.loads(stored.data)
                through, condition = summary["through"], {"if_match": stored.entity_tag}
                previous = SessionSummaryEntry(session_id=key["session_id"], mtime=0, data=summary["data"])
            if through >= end:
                return
            entries = entries_of((await self._documents.read_range(path, through, end)).data)
            folded = fold_session_summary(previous, key, entries)
            content = line({"through": end, "data": folded["data"]})
            try:
                await self._documents.put(summary_path, content, content_type=LINES, **condition)
            except PreconditionFailed:
                continue
            return

    # Names

    def _path(self, key: SessionKey) -> str:
        if "subpath" not in key:
            return self._namespace(key["project_key"], "transcripts", key["session_id"])
        return self._namespace(key["project_key"], "subpaths", key["session_id"], *key["subpath"].split("/"))

    def _summary_path(self, key: SessionKey) -> str:
        return self._namespace(key["project_key"], "summaries", key["session_id"])

    def _namespace(self, project_key: str, *names: str) -> str:
        return f"{self._prefix}/{join(project_key, *names)}"

    def _transcript(self, path: str) -> _Transcript:
        transcript = self._transcripts.setdefault(path, _Transcript())
        self._transcripts.move_to_end(path)
        while len(self._transcripts) > MAX_REMEMBERED:
            self._transcripts.popitem(last=False)
        return transcript


@dataclass
class _Transcript:
    """What is known of a stored transcript."""

    end: int = 0
    #: By which the document is recognised when it is read again.
    last_line: bytes = b""
    uuids: set[str] = field(default_factory=set[str])
    lock: LoopLock = field(default_factory=LoopLock)

    def clear(self) -> None:
        self.end, self.last_line = 0, b""
        self.uuids.clear()

    def extend(self, offset: int, entries: list[SessionStoreEntry]) -> None:
        """Takes entries over that were stored at an offset; not if others have appended before them."""
        if offset == self.end:
            self.end += len(lines(entries))
            self.last_line = line(entries[-1])
            self.uuids |= uuids(entries)

    def continues(self, found: Content) -> bool:
        """Tells whether a range that begins at the last line has this line."""
        return found.data.startswith(self.last_line)

    def read(self, found: Content) -> None:
        """Takes over what was read."""
        self.end, self.last_line = found.end, found.data.splitlines(keepends=True)[-1]
        self.uuids |= uuids(entries_of(found.data))

    def without_stored(self, entries: list[SessionStoreEntry]) -> list[SessionStoreEntry]:
        """Returns the entries whose ids are not stored, each id once."""
        seen = set(self.uuids)
        new: list[SessionStoreEntry] = []
        for entry in entries:
            uuid = entry.get("uuid")
            if uuid is None or uuid not in seen:
                new.append(entry)
            if uuid is not None:
                seen.add(uuid)
        return new


def line(entry: Any) -> bytes:
    """Returns an entry as a line. The escapes keep halves of characters, which JavaScript permits."""
    return json.dumps(entry, separators=(",", ":")).encode() + b"\n"


def lines(entries: Iterable[SessionStoreEntry]) -> bytes:
    """Returns entries as lines."""
    return b"".join(map(line, entries))


def entries_of(data: bytes) -> list[SessionStoreEntry]:
    """Returns the entries of lines."""
    return [cast("SessionStoreEntry", json.loads(text)) for text in data.splitlines()]


def uuids(entries: Iterable[SessionStoreEntry]) -> set[str]:
    """Returns the ids of entries."""
    return {entry["uuid"] for entry in entries if "uuid" in entry}


def last_name(document: ListedDocument) -> str:
    """Returns the name that the last segment of a path stands for."""
    return name_of(document.path.rsplit("/", 1)[1])


def millis(time: datetime) -> int:
    """Returns milliseconds since 1970."""
    return int(time.timestamp() * 1_000)
