"""A session of ADK as lines, and what they come to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.sessions.session import Session
from google.adk.sessions.state import State

from .._json import check_texts


@dataclass(frozen=True)
class Tiers:
    """State, by what shares it."""

    app: dict[str, Any]
    user: dict[str, Any]
    session: dict[str, Any]

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> Tiers:
        """Splits state by the prefixes of its keys; what is temporary is left out."""
        tiers = cls({}, {}, {})
        for key, value in state.items():
            if key.startswith(State.APP_PREFIX):
                tiers.app[key.removeprefix(State.APP_PREFIX)] = value
            elif key.startswith(State.USER_PREFIX):
                tiers.user[key.removeprefix(State.USER_PREFIX)] = value
            elif not key.startswith(State.TEMP_PREFIX):
                tiers.session[key] = value
        return tiers


@dataclass(frozen=True)
class Summary:
    """What the lines of a session come to."""

    state: dict[str, Any]
    updated: float
    #: The bytes of the lines.
    through: int

    @classmethod
    def created_by(cls, first: bytes) -> Summary:
        created = json.loads(first)
        return cls(created["state"], created["created"], len(first) + 1)

    def followed_by(self, events: list[bytes]) -> Summary:
        state, updated, through = dict(self.state), self.updated, self.through
        for each in events:
            state |= Tiers.of(delta_of(each)).session
            updated = json.loads(each)["timestamp"]
            through += len(each) + 1
        return Summary(state, updated, through)

    def session(
        self, app_name: str, user_id: str, session_id: str, app_state: Mapping[str, Any], user_state: Mapping[str, Any]
    ) -> Session:
        shared = {
            **{State.APP_PREFIX + key: value for key, value in app_state.items()},
            **{State.USER_PREFIX + key: value for key, value in user_state.items()},
        }
        state = {**self.state, **shared}
        return Session(id=session_id, app_name=app_name, user_id=user_id, state=state, last_update_time=self.updated)


def selected(events: list[Event], config: GetSessionConfig | None) -> list[Event]:
    """Returns the newest events, as many as a config asks for; none from before its time."""
    if config is None:
        return events
    if config.num_recent_events is not None:
        events = events[len(events) - min(len(events), config.num_recent_events) :]
    if config.after_timestamp is not None:
        old = [place for place, event in enumerate(events) if event.timestamp < config.after_timestamp]
        events = events[old[-1] + 1 :] if old else events
    return events


def stored_form(event: Event) -> str:
    """Returns an event as it is stored: without what is temporary. Text that UTF-8 does not have could not be read again."""
    check_texts(event.actions.state_delta, "/actions/state_delta")
    fields = fields_of(event)
    delta: dict[str, Any] = fields["actions"]["state_delta"]
    fields["actions"]["state_delta"] = {key: value for key, value in delta.items() if not key.startswith(State.TEMP_PREFIX)}
    check_texts(fields)
    return json.dumps(fields, separators=(",", ":"))


def fields_of(event: Event) -> dict[str, Any]:
    """Returns an event as JSON has it."""
    return event.model_dump(mode="json", exclude_none=True)


def delta_of(stored: bytes | str) -> dict[str, Any]:
    """Returns how a stored event changes state."""
    delta: dict[str, Any] = json.loads(stored)["actions"]["state_delta"]
    return delta


def json_of(state: dict[str, Any]) -> dict[str, Any]:
    """Returns state as JSON, in the form in which the state of events is stored."""
    check_texts(state)
    found: dict[str, Any] = fields_of(Event(author="user", actions=EventActions(state_delta=state)))["actions"]["state_delta"]
    check_texts(found)
    return found


def line(text: str) -> bytes:
    """Returns text as a line."""
    return text.encode() + b"\n"
