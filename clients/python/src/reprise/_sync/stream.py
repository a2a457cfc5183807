from __future__ import annotations

from collections.abc import Iterator
from time import monotonic
from typing import TYPE_CHECKING, Any

from .. import models
from .._chunks import Chunks
from .clock import shielded

if TYPE_CHECKING:
    from .chat import Chat

#: The shortest time between two requests, in seconds: the service stores chunks ten times a second.
INTERVAL = 0.1
#: The most chunks of one request.
MOST_CHUNKS = 500


class Stream:
    """An answer that others follow while it is produced.

    Chunks are sent when a tenth of a second has passed since the last request. One that is sent again, because an answer
    was lost, is stored once.
    """

    def __init__(self, chat: Chat, stream: models.Stream) -> None:
        self.stream_id = stream.stream_id
        #: Whether a person has asked to stop.
        self.is_cancelled = stream.cancel_requested
        self._chat, self._position = chat, stream.next
        self._waiting: list[Any] = []
        self._sent_at = 0.0

    def add(self, *chunks: Any) -> None:
        """Adds chunks; sends them, unless the last request was a moment ago."""
        self._waiting += chunks
        if monotonic() - self._sent_at >= INTERVAL:
            self.flush()

    def flush(self) -> None:
        """Sends what was added; without anything it says that the agent is there."""
        while True:
            self._sent_at = monotonic()
            chunks = self._waiting[:MOST_CHUNKS]
            progress = self._chat.append_chunks(self.stream_id, self._position, chunks)
            self._position += len(chunks)
            self._waiting = self._waiting[len(chunks) :]
            self.is_cancelled = self.is_cancelled or progress.cancel_requested
            if not self._waiting:
                return

    def end(self, state: str = "finished", **fields: Any) -> models.EndedStream:
        """Ends the stream, and stores what it holds as a turn; not that of a failed one, unless ``store`` is true."""
        self.flush()
        return self._chat.end_stream(self.stream_id, state, **fields)


def recorded(chat: Chat, upstream: Any, fields: dict[str, Any]) -> Iterator[Any]:
    """Yields the events of an answer, and writes them to a stream of the chat."""
    stream = chat.start_stream("ui_message", **fields)
    chunks = Chunks(stream.stream_id)
    state, error = "cancelled", None
    try:
        for event in upstream:
            stream.add(*chunks.add(event))
            yield event
            if stream.is_cancelled:
                break
        else:
            state = "finished"
    except Exception as failure:
        state, error = "failed", str(failure)[:1000]
        raise
    finally:
        # The task may be cancelled while it writes; the stream ends nevertheless.
        shielded(_end(stream, chunks, state, error))


def _end(stream: Stream, chunks: Chunks, state: str, error: str | None) -> models.EndedStream:
    stream.add(*chunks.end())
    return stream.end(state, error=error)
