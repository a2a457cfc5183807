"""Sessions of Google's Agent Development Kit, kept by Reprise.

::

    from google.adk.runners import Runner
    from reprise import AsyncReprise
    from reprise.stores.adk import RepriseSessionService

    sessions = RepriseSessionService(AsyncReprise("http://127.0.0.1:8080", "acme_corp"))
    runner = Runner(app_name="picnic", agent=agent, session_service=sessions)

Needs ``google-adk`` 2.13.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from google.adk.errors import StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.platform import time as platform_time
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig, ListSessionsResponse
from google.adk.sessions.session import Session

from .._async.client import AsyncReprise
from .._async.clock import settled
from .._documents import ListedDocument
from ..errors import NotFound, PreconditionFailed
from ._adk_lines import Summary, Tiers, delta_of, json_of, line, selected, stored_form
from ._clients import checked_client
from ._locks import LoopLock
from ._paths import join, name_of

#: Of how many sessions the ids of the events are remembered.
MAX_REMEMBERED = 1_000
#: How many sessions a list reads at a time.
MAX_READS = 16
LINES = "application/jsonl"


class RepriseSessionService(BaseSessionService):
    """Keeps each session as one document of JSON lines: how it was created, and then its events.

    State has three tiers: that of a session is what its events say; ``app:`` and ``user:`` values have a document each.
    An append is conditional on the events that the session had when it was read; otherwise it is a ``StaleSessionError``. An
    event that is stored already is not stored again.

    An event is stored first, and then its ``app:`` and ``user:`` values, each in a write of its own. After an error, repeat the
    call with the same service: it sets the values that are not set yet. So it is with :meth:`create_session`.

    What it does not do: if the process dies in between, the values are not set. State must be JSON (dates and the like become
    text, also as keys, and bytes URL-safe base64), and NaN becomes null. An event holds at most 8 MiB, a session at most 1 GiB.
    The first append to a session in a process reads it, to know the ids. ``list_sessions`` reads the events that were added
    since the last list, and keeps what it found in a document for each session. App names, user ids and session ids have at
    most 256 bytes each.

    :param client: the client of the app in Reprise, which may hold several apps of ADK; the caller closes it
    :param prefix: the namespace of the documents
    """

    def __init__(self, client: AsyncReprise, *, prefix: str = "adk-sessions") -> None:
        self._documents, self._prefix = checked_client(client, AsyncReprise).documents, prefix
        self._logs: OrderedDict[str, _Log] = OrderedDict()

    async def create_session(
        self, *, app_name: str, user_id: str, state: dict[str, Any] | None = None, session_id: str | None = None
    ) -> Session:
        """Creates a session; ``AlreadyExistsError`` if there is one with this id."""
        session_id = (session_id or "").strip() or uuid.uuid4().hex
        path = self._path(app_name, "sessions", user_id, session_id)
        log = self._remembered(path)
        async with log.lock:
            await self._create(app_name, user_id, session_id, path, log, json_of(state or {}))
        session = await self.get_session(app_name=app_name, user_id=user_id, session_id=session_id)
        if session is None:
            raise SessionNotFoundError(f"Session {session_id} was deleted while it was created.")
        return session

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        """Returns a session with its state, and its events or the newest of them; ``None`` if there is none."""
        session_id = session_id.strip()
        path = self._path(app_name, "sessions", user_id, session_id)
        reading = self._read_log(path), self._state(app_name), self._state(app_name, user_id)
        try:
            (summary, events), app_state, user_state = await asyncio.gather(*reading)
        except NotFound:
            return None
        session: Session = summary.session(app_name, user_id, session_id, app_state, user_state)
        session.events = selected([Event.model_validate_json(each) for each in events], config)
        session._storage_update_marker = str(summary.through)  # The framework's own place for it.
        return session

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        """Lists the sessions of a user or of all, with their state but without their events, oldest update first."""
        of_user = () if user_id is None else (user_id,)
        listed = [each async for each in self._documents.list(self._path(app_name, "sessions", *of_user))]
        summaries = {
            each.path: value async for each, value in self._documents.list_values(self._path(app_name, "summaries", *of_user))
        }
        if user_id is None:
            states = self._documents.list_values(self._path(app_name, "user-states"))
            user_states = {last_name(each): value async for each, value in states}
        else:
            user_states = {user_id: await self._state(app_name, user_id)}
        app_state = await self._state(app_name)
        reading = asyncio.Semaphore(MAX_READS)

        async def session(document: ListedDocument) -> Session | None:
            user, name = map(name_of, document.path.split("/")[-2:])
            async with reading:
                summary = await self._summary(app_name, user, name, document, summaries)
            if summary is None:
                return None
            return summary.session(app_name, user, name, app_state, user_states.get(user, {}))

        found = [each for each in await asyncio.gather(*map(session, listed)) if each is not None]
        found.sort(key=lambda each: (each.last_update_time, each.user_id, each.id))
        return ListSessionsResponse(sessions=found)

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Deletes a session; the state of its user and app stays."""
        session_id = session_id.strip()
        await self._documents.delete(self._path(app_name, "summaries", user_id, session_id))
        await self._documents.delete(self._path(app_name, "sessions", user_id, session_id))

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        """Returns the state of a user, without the prefix ``user:``."""
        return await self._state(app_name, user_id)

    async def append_event(self, session: Session, event: Event) -> Event:
        """Appends an event to a session, and changes state as it says; also if the task that waits is cancelled."""
        return event if event.partial else await settled(self._append(session, event))

    async def _append(self, session: Session, event: Event) -> Event:
        path = self._path(session.app_name, "sessions", session.user_id, session.id)
        log = self._remembered(path)
        async with log.lock:
            stored = stored_form(event)
            offset = await self._offset(session, path, log)
            start, end = await self._store(session, path, log, offset, event.id, stored)
            if start == offset:
                # Otherwise the session has the event already, or lacks events that are stored before it.
                session._storage_update_marker = str(end)
                session.last_update_time = event.timestamp
                event = await super().append_event(session, event)
            await self._merge_unmerged(session.app_name, session.user_id, log, stored)
        return event

    # Creating

    async def _create(self, app_name: str, user_id: str, session_id: str, path: str, log: _Log, state: dict[str, Any]) -> None:
        """Stores how a session is created, and sets its values; goes on with a creation that an error has broken off."""
        creation, tiers = log.creation, Tiers.of(state)
        if creation is None or creation.state != state:
            # The id tells the request from an equal one of another process.
            created = {"id": uuid.uuid4().hex, "created": platform_time.get_time(), "state": tiers.session}
            creation = log.creation = _Creation(state, json.dumps(created))
            log.unmerged[creation.stored] = tiers
        try:
            await self._documents.put(path, line(creation.stored), content_type=LINES, if_none_match="*")
        except PreconditionFailed as error:
            if not await self._was_created(path, creation):
                log.creation = None
                del log.unmerged[creation.stored]
                raise AlreadyExistsError(f"Session with id {session_id} already exists.") from error
        await self._merge_unmerged(app_name, user_id, log, creation.stored)
        log.creation = None

    async def _was_created(self, path: str, creation: _Creation) -> bool:
        try:
            found = await self._documents.read_range(path, 0, len(line(creation.stored)))
        except NotFound:
            return False
        return found.data == line(creation.stored)

    # Appending

    async def _offset(self, session: Session, path: str, log: _Log) -> int:
        """Returns where the document ended when the session was read."""
        marker = session._storage_update_marker
        if marker is not None and int(marker) <= log.end:
            return int(marker)
        summary, _ = await self._read_stored(path, session)
        if marker is not None:
            return int(marker)
        # The session was not read from here, so that only its time says how old it is.
        if summary.updated > session.last_update_time:
            raise stale(session)
        return summary.through

    async def _store(self, session: Session, path: str, log: _Log, offset: int, event_id: str, stored: str) -> tuple[int, int]:
        """Stores an event at an offset, unless it is stored; returns where it begins and ends."""
        place = await self._place(path, session, stored) if event_id in log.ids else None
        if place is not None:
            return place
        is_first = stored not in log.unmerged
        if is_first:
            # Before the request: its answer may be lost.
            log.unmerged[stored] = Tiers.of(delta_of(stored))
        try:
            appended = await self._documents.append(path, line(stored), offset=offset, content_type=LINES)
        except PreconditionFailed as error:
            if is_first:
                del log.unmerged[stored]
            place = await self._place(path, session, stored)
            if place is None:
                raise stale(session) from error
            return place
        log.end, log.ids = appended.offset + len(line(stored)), log.ids | {event_id}
        return appended.offset, log.end

    async def _place(self, path: str, session: Session, stored: str) -> tuple[int, int] | None:
        """Returns where exactly this event is stored; ``None`` if it is not."""
        summary, events = await self._read_stored(path, session)
        wanted, end = stored.encode(), summary.through
        for each in reversed(events):
            start = end - len(each) - 1
            if each == wanted:
                return start, end
            end = start
        return None

    async def _read_stored(self, path: str, session: Session) -> tuple[Summary, list[bytes]]:
        try:
            return await self._read_log(path)
        except NotFound as error:
            raise SessionNotFoundError(f"Session {session.id} not found.") from error

    async def _read_log(self, path: str) -> tuple[Summary, list[bytes]]:
        """Reads a session, and remembers the ids of its events."""
        found = await self._documents.read(path)
        first, *events = found.data.splitlines()
        summary = Summary.created_by(first).followed_by(events)
        log = self._remembered(path)
        log.end, log.ids = summary.through, {json.loads(each)["id"] for each in events}
        return summary, events

    def _remembered(self, path: str) -> _Log:
        log = self._logs.setdefault(path, _Log())
        self._logs.move_to_end(path)
        while len(self._logs) > MAX_REMEMBERED:
            self._logs.popitem(last=False)
        return log

    # Listing

    async def _summary(
        self, app_name: str, user_id: str, session_id: str, document: ListedDocument, summaries: Mapping[str, Any]
    ) -> Summary | None:
        """Returns what a session came to: what an earlier list found, and the events since."""
        path = self._path(app_name, "summaries", user_id, session_id)
        created = document.created_at.isoformat()
        kept = summaries.get(path)
        known = Summary(kept["state"], kept["updated"], kept["through"]) if kept and kept["of"] == created else None
        if known is not None and known.through == document.size:
            return known
        try:
            added = (await self._documents.read_range(document.path, known.through if known else 0)).data.splitlines()
        except NotFound:
            return None
        summary = known.followed_by(added) if known else Summary.created_by(added[0]).followed_by(added[1:])
        content = {"of": created, "state": summary.state, "updated": summary.updated, "through": summary.through}
        await self._documents.put(path, content)
        return summary

    # State

    async def _state(self, app_name: str, user_id: str | None = None) -> dict[str, Any]:
        try:
            state: dict[str, Any] = (await self._documents.read(self._state_path(app_name, user_id))).json()
        except NotFound:
            return {}
        return state

    async def _merge_unmerged(self, app_name: str, user_id: str, log: _Log, stored: str) -> None:
        """Sets the values of an event, each once: one that is set must not replace a later one when the event comes again."""
        tiers = log.unmerged.get(stored)
        if tiers is None:
            return
        await self._update(self._state_path(app_name), tiers.app)
        log.unmerged[stored] = replace(tiers, app={})
        await self._update(self._state_path(app_name, user_id), tiers.user)
        del log.unmerged[stored]

    async def _update(self, path: str, delta: Mapping[str, Any]) -> None:
        while delta:
            try:
                found = await self._documents.read(path)
                state, condition = found.json(), {"if_match": found.entity_tag}
            except NotFound:
                state, condition = {}, {"if_none_match": "*"}
            try:
                await self._documents.put(path, {**state, **delta}, **condition)
            except PreconditionFailed:
                continue
            return

    def _state_path(self, app_name: str, user_id: str | None = None) -> str:
        return self._path(app_name, "state") if user_id is None else self._path(app_name, "user-states", user_id)

    def _path(self, app_name: str, *names: str) -> str:
        return f"{self._prefix}/{join(app_name, *names)}"


@dataclass
class _Creation:
    """What :meth:`RepriseSessionService.create_session` was asked for, and what it stores."""

    state: dict[str, Any]
    stored: str


@dataclass
class _Log:
    """What is known of a stored session."""

    end: int = 0
    ids: set[str] = field(default_factory=set[str])
    #: The ``app:`` and ``user:`` values that this process has not set yet, by the stored form of what gives them.
    unmerged: dict[str, Tiers] = field(default_factory=dict[str, Tiers])
    #: How a session is created whose creation is not known to have ended.
    creation: _Creation | None = None
    lock: LoopLock = field(default_factory=LoopLock)


def last_name(document: ListedDocument) -> str:
    """Returns the name that the last segment of a path stands for."""
    return name_of(document.path.rsplit("/", 1)[1])


def stale(session: Session) -> StaleSessionError:
    """Returns the error for a session that others have changed."""
    return StaleSessionError(f"Session {session.id} was changed since it was read. Read it again before you append to it.")
