"""Turns the streams of model providers into chunks of the AI SDK, which the service assembles to messages."""

from __future__ import annotations

from typing import Any, Protocol

from .answer import Answer
from .anthropic import Anthropic
from .fields import get, type_of, words
from .google import Google
from .langchain import LangChain
from .openai_chat import OpenAIChat
from .openai_responses import OpenAIResponses

#: The chunks that the service assembles; besides, those of data, whose type has a name of the caller.
AI_SDK_CHUNKS = frozenset(
    "start finish abort error start-step finish-step reset-step message-metadata text-start text-delta text-end "
    "reasoning-start reasoning-delta reasoning-end reasoning-file source-url source-document file custom tool-input-start "
    "tool-input-delta tool-input-available tool-input-error tool-approval-request tool-approval-response "
    "tool-output-available tool-output-error tool-output-denied".split()
)
SUPPORTED = (
    "texts, chunks of OpenAI's chat completions (also of LiteLLM), events of OpenAI's Responses API, events of Anthropic's "
    "messages, GenerateContentResponse of google-genai, AIMessageChunk of LangChain, and chunks of the AI SDK as dictionaries"
)


class Reader(Protocol):
    """Reads the events of one provider."""

    def accepts(self, event: Any) -> bool:
        """Returns whether an event is one of the provider."""
        ...

    def add(self, event: Any) -> None:
        """Adds what an event says to the answer."""
        ...

    def end(self) -> None:
        """Adds what waits for more events."""
        ...


class Chunks:
    """Makes chunks of the events of one answer; a class of events that it does not know is a ``TypeError``."""

    def __init__(self, message_id: str) -> None:
        self._answer = Answer(message_id)
        #: Those whose providers have new kinds of events from time to time.
        self._skipping = (OpenAIResponses(self._answer), Anthropic(self._answer))
        self._readers: list[Reader] = [
            OpenAIChat(self._answer),
            *self._skipping,
            Google(self._answer),
            LangChain(self._answer),
        ]
        #: How the answer ends, by what its events say, and what they say went wrong.
        self.state = "finished"
        self.failure: str | None = None

    def add(self, event: Any) -> list[dict[str, Any]]:
        """Returns the chunks of an event."""
        self._read(event)
        return self._answer.take()

    def end(self) -> list[dict[str, Any]]:
        """Returns the chunks that end the answer."""
        for reader in self._readers:
            reader.end()
        self._answer.end()
        return self._answer.take()

    def _read(self, event: Any) -> None:
        if isinstance(event, str):
            self._answer.text("text", event)
            return
        if _is_chunk(event):
            self._answer.pass_on(event)
            if type_of(event) == "error":
                self._fail(words(event, "errorText"))
            elif type_of(event) == "abort" and self.failure is None:
                self.state = "cancelled"
            return
        reader = next((reader for reader in self._readers if reader.accepts(event)), None)
        if reader is not None:
            reader.add(event)
        elif type_of(event) in ("error", "response.failed"):
            error = get(event, "error") or get(get(event, "response"), "error") or event
            self._fail(words(error, "message", "code"))
        elif not any(reader.skips(event) for reader in self._skipping):
            raise TypeError(f"an answer with {_name(event)} cannot be recorded; supported are {SUPPORTED}")

    def _fail(self, failure: str | None) -> None:
        self.state, self.failure = "failed", failure or "the provider has failed"


def _is_chunk(event: Any) -> bool:
    if not isinstance(event, dict):
        return False
    kind = type_of(event)
    if kind == "error":
        # Other providers have events of this type.
        return "errorText" in event
    return kind in AI_SDK_CHUNKS or kind.startswith("data-")


def _name(event: Any) -> str:
    kind = type_of(event)
    said = f" of the type {kind!r}" if kind else ""
    return f"{type(event).__module__}.{type(event).__qualname__}{said}"
