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
from dataclasses import dataclass, field
from typing import Any

from google.adk.errors import StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.platform import time as platform_time
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig, ListSessionsResponse
from google.adk.sessions.session import Session

from .._async.client import AsyncReprise
from .._documents import ListedDocument
from ..errors import NotFound, PreconditionFailed
from ._adk_lines import Summary, Tiers, delta_of, json_of, line, selected, stored_form
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

    What it does not do: an event is stored first, and then its ``app:`` and ``user:`` values, each in a write of its own; if
    the process dies in between, they are not set. State must be JSON (dates and the like become text), and NaN becomes null.
    An event holds at most 8 MiB, a session at most 1 GiB. The first append to a session in a process reads it, to know the
    ids. ``list_sessions`` reads the events that were added since the last list, and keeps what it found in a document for
    each session. App names, user ids and session ids have at most 256 bytes each.

    :param client: the client of the app in Reprise, which may hold several apps of ADK; the caller closes it
    :param prefix: the namespace of the documents
    """

    def __init__(self, client: AsyncReprise, *, prefix: str = "adk-sessions") -> None:
        self._documents, self._prefix = client.documents, prefix
        self._logs: OrderedDict[str, _Log] = OrderedDict()

    async def create_session(
        self, *, app_name: str, user_id: str, state: dict[str, Any] | None = None, session_id: str | None = None
    ) -> Session:
        """Creates a session; ``AlreadyExistsError`` if there is one with this id."""
        session_id = (session_id or "").strip() or uuid.uuid4().hex
        tiers = Tiers.of(json_of(state or {}))
        path = self._path(app_name, "sessions", user_id, session_id)
        # The id tells the request from an equal one of another process.
        created = {"id": uuid.uuid4().hex, "created": platform_time.get_time(), "state": tiers.session}
        try:
            await self._documents.put(path, line(json.dumps(created)), content_type=LINES, if_none_match="*")
        except PreconditionFailed as error:
            raise AlreadyExistsError(f"Session with id {session_id} already exists.") from error
        await self._merge(app_name, user_id, tiers)
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
            each.path: await self._content(each)
            async for each in self._documents.list(self._path(app_name, "summaries", *of_user), content=True)
        }
        if user_id is None:
            states = self._documents.list(self._path(app_name, "user-states"), content=True)
            user_states = {last_name(each): await self._content(each) async for each in states}
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
        """Appends an event to a session, and changes state as it says."""
        if event.partial:
            return event
        path = self._path(session.app_name, "sessions", session.user_id, session.id)
        log = self._remembered(path)
        async with log.lock:
            stored = stored_form(event)
            offset = await self._offset(session, path, log)
            if event.id in log.ids and await self._has(path, session, event.id, stored):
                return event
            try:
                appended = await self._documents.append(path, line(stored), offset=offset, content_type=LINES)
            except PreconditionFailed as error:
                if await self._has(path, session, event.id, stored):
                    return event
                raise stale(session) from error
            log.end, log.ids = appended.offset + len(line(stored)), log.ids | {event.id}
            session._storage_update_marker = str(log.end)
        await self._merge(session.app_name, session.user_id, Tiers.of(delta_of(stored)))
        session.last_update_time = event.timestamp
        return await super().append_event(session, event)

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

    async def _has(self, path: str, session: Session, event_id: str, stored: str) -> bool:
        """Tells whether exactly this event is stored."""
        _, events = await self._read_stored(path, session)
        return any(each == stored.encode() for each in events if json.loads(each)["id"] == event_id)

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

    async def _content(self, document: ListedDocument) -> Any:
        return document.parsed() if document.has_content else (await self._documents.read(document.path)).json()

    async def _merge(self, app_name: str, user_id: str, tiers: Tiers) -> None:
        await self._update(self._state_path(app_name), tiers.app)
        await self._update(self._state_path(app_name, user_id), tiers.user)

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
class _Log:
    """What is known of a stored session."""

    end: int = 0
    ids: set[str] = field(default_factory=set[str])
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


def last_name(document: ListedDocument) -> str:
    """Returns the name that the last segment of a path stands for."""
    return name_of(document.path.rsplit("/", 1)[1])


def stale(session: Session) -> StaleSessionError:
    """Returns the error for a session that others have changed."""
    return StaleSessionError(f"Session {session.id} was changed since it was read. Read it again before you append to it.")
