"""Server-sent events, whichever way their lines arrive."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, cast


@dataclass(frozen=True)
class Event:
    """Something that happened in a chat, or to a document."""

    #: ``message``, ``message-updated``, ``message-deleted``, ``caught-up``, ``status``, ``input-request`` and others; of
    #: documents ``changed``, ``deleted`` and ``resync``.
    name: str
    #: What the event says, as in docs/api/live.md.
    data: dict[str, Any]
    #: The position of the client after the event; ``None`` for an event without a place in the transcript.
    id: str | None


class LineBreaks:
    """Cuts a text that arrives in pieces into lines. Only the line breaks of events count: a message may hold any others."""

    def __init__(self) -> None:
        self._begun: list[str] = []

    def add(self, piece: str) -> list[str]:
        """Adds a piece; returns the lines that it ends."""
        self._begun.append(piece)
        if "\n" not in piece and "\r" not in piece:
            return []
        # A carriage return at the end may be the first half of a line break.
        *lines, rest = re.split(r"\r\n|\n|\r(?!\Z)", "".join(self._begun))
        self._begun = [rest]
        return lines


class Lines:
    """Puts the lines of a stream together to events."""

    def __init__(self) -> None:
        #: How long the service asks to wait before the next connection, in seconds.
        self.retry: float | None = None
        self._name = ""
        self._id: str | None = None
        self._data: list[str] = []

    def add(self, line: str) -> Event | None:
        """Adds a line; returns the event that it ends."""
        if not line:
            event = self._event()
            self._name, self._id, self._data = "", None, []
            return event
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            self._name = value
        elif field == "data":
            self._data.append(value)
        elif field == "id":
            self._id = value
        elif field == "retry" and value.isdigit():
            self.retry = int(value) / 1_000
        return None

    def _event(self) -> Event | None:
        if not self._data:
            return None
        data: Any = json.loads("\n".join(self._data))
        fields = cast("dict[str, Any]", data) if isinstance(data, dict) else {"value": data}
        return Event(self._name or "message", fields, self._id)
