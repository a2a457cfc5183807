"""Turns the streams of model providers into chunks of the AI SDK, which the service assembles to messages."""

from __future__ import annotations

import json
from typing import Any


class Chunks:
    """Makes chunks of the events of one answer.

    It knows the chunks of OpenAI's chat completions, which LiteLLM has as well, the events of Anthropic's messages, plain
    strings, and chunks of the AI SDK as dictionaries with a ``type``.
    """

    def __init__(self, message_id: str) -> None:
        self._message_id = message_id
        self._has_begun = False
        #: The kind and the id of the text that is open.
        self._open: tuple[str, str] | None = None
        self._texts = 0
        #: By its place in the answer: id, name and the input as far as it came.
        self._calls: dict[int, tuple[str, str, list[str]]] = {}

    def add(self, event: Any) -> list[dict[str, Any]]:
        """Returns the chunks of an event."""
        if isinstance(event, str):
            return self._begun(self._text("text", event))
        kind = _get(event, "type")
        if isinstance(event, dict) and isinstance(kind, str) and not kind.startswith(("message_", "content_block_", "ping")):
            self._has_begun = True
            return [event]
        choices = _get(event, "choices")
        if choices is not None:
            return self._begun([chunk for choice in choices for chunk in self._delta(_get(choice, "delta"))])
        return self._begun(self._anthropic(kind, event))

    def end(self) -> list[dict[str, Any]]:
        """Returns the chunks that end the answer."""
        if not self._has_begun:
            return []
        chunks = self._close()
        for place in sorted(self._calls):
            chunks += self._input(place)
        return chunks

    def _begun(self, chunks: list[dict[str, Any]]) -> list[dict[str, Any]]:
        if self._has_begun or not chunks:
            return chunks
        self._has_begun = True
        return [{"type": "start", "messageId": self._message_id}, *chunks]

    def _delta(self, delta: Any) -> list[dict[str, Any]]:
        """Returns the chunks of a delta of OpenAI's."""
        if delta is None:
            return []
        chunks = self._text("reasoning", _get(delta, "reasoning_content"))
        chunks += self._text("text", _get(delta, "content"))
        calls: list[Any] = _get(delta, "tool_calls") or []
        for call in calls:
            function = _get(call, "function")
            place = _get(call, "index") or 0
            if place not in self._calls:
                chunks += self._call(place, _get(call, "id"), _get(function, "name"))
            chunks += self._more_input(place, _get(function, "arguments"))
        return chunks

    def _anthropic(self, kind: Any, event: Any) -> list[dict[str, Any]]:
        place = _get(event, "index") or 0
        if kind == "content_block_start":
            block = _get(event, "content_block")
            if _get(block, "type") == "tool_use":
                return self._call(place, _get(block, "id"), _get(block, "name"))
            return self._text("text", _get(block, "text"))
        if kind == "content_block_delta":
            delta = _get(event, "delta")
            chunks = self._text("text", _get(delta, "text"))
            chunks += self._text("reasoning", _get(delta, "thinking"))
            return chunks + self._more_input(place, _get(delta, "partial_json"))
        if kind == "content_block_stop":
            return self._close() + self._input(place)
        return []

    def _text(self, kind: str, text: Any) -> list[dict[str, Any]]:
        if not isinstance(text, str) or not text:
            return []
        chunks: list[dict[str, Any]] = []
        if self._open is None or self._open[0] != kind:
            chunks = self._close()
            self._texts += 1
            self._open = (kind, f"{kind}-{self._texts}")
            chunks.append({"type": f"{kind}-start", "id": self._open[1]})
        return [*chunks, {"type": f"{kind}-delta", "id": self._open[1], "delta": text}]

    def _close(self) -> list[dict[str, Any]]:
        if self._open is None:
            return []
        kind, text_id = self._open
        self._open = None
        return [{"type": f"{kind}-end", "id": text_id}]

    def _call(self, place: int, call_id: Any, name: Any) -> list[dict[str, Any]]:
        call = (str(call_id or f"{self._message_id}-{place}"), str(name or "tool"), list[str]())
        self._calls[place] = call
        return [*self._close(), {"type": "tool-input-start", "toolCallId": call[0], "toolName": call[1]}]

    def _more_input(self, place: int, text: Any) -> list[dict[str, Any]]:
        if not isinstance(text, str) or not text or place not in self._calls:
            return []
        call_id, _, texts = self._calls[place]
        texts.append(text)
        return [{"type": "tool-input-delta", "toolCallId": call_id, "inputTextDelta": text}]

    def _input(self, place: int) -> list[dict[str, Any]]:
        """Ends the input of a call."""
        call = self._calls.pop(place, None)
        if call is None:
            return []
        call_id, name, texts = call
        text = "".join(texts)
        given: Any = {}
        try:
            given = json.loads(text) if text else {}
        except ValueError:
            # The model has broken off, or has written no JSON; the text is kept.
            given = {"text": text}
        return [{"type": "tool-input-available", "toolCallId": call_id, "toolName": name, "input": given}]


def _get(of: Any, name: str) -> Any:
    """Returns a field of a dictionary or of an object."""
    if isinstance(of, dict):
        return of.get(name)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return getattr(of, name, None)
