from __future__ import annotations

import json
import logging
from collections.abc import Generator
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any

from .. import models
from .._chunks import Chunks
from .._steps import shortened
from ..errors import Conflict, Fenced, InvalidRequest, RepriseError
from .clock import Interruptible, Lock, Repeater, StopWaiting, settled

if TYPE_CHECKING:
    from .chat import Chat
    from .transport import Unfinished

logger = logging.getLogger(__name__)
#: The shortest time between two requests, in seconds: the service stores chunks ten times a second.
INTERVAL = 0.1
#: How long the agent may be silent, in seconds, before it says that it is there. After 30 s the stream would be stalled.
SILENCE = 10.0
#: The most chunks of one request.
MOST_CHUNKS = 500
#: The most bytes of the chunks of one request, unless it is a single one; the service allows 1 MiB.
MOST_BYTES = 1_000_000


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
        self._sending = Lock()

    def add(self, *chunks: Any) -> None:
        """Adds chunks; sends them, unless the last request was a moment ago."""
        self._waiting += chunks
        if monotonic() - self._sent_at >= INTERVAL:
            self.flush()

    def flush(self) -> None:
        """Sends what was added; without anything it says that the agent is there."""
        with self._sending:
            while True:
                self._sent_at = monotonic()
                chunks = _batch(self._waiting)
                progress = self._chat.append_chunks(self.stream_id, self._position, chunks)
                self._position += len(chunks)
                del self._waiting[: len(chunks)]
                self.is_cancelled = self.is_cancelled or progress.cancel_requested
                if not self._waiting:
                    return

    def discard(self) -> None:
        """Forgets what was added and not sent."""
        self._waiting.clear()

    def keep_alive(self) -> None:
        """Sends what has waited for the next chunk, and says now and then that the agent is there."""
        if monotonic() - self._sent_at >= (INTERVAL if self._waiting else SILENCE):
            try:
                self.flush()
            except Exception:
                # The chunks still wait: the next call meets the same error, and raises it.
                pass

    def end(self, state: str = "finished", **fields: Any) -> models.EndedStream:
        """Ends the stream, and stores what it holds as a turn; not that of a failed one, unless ``store`` is true."""
        self.flush()
        return self._chat.end_stream(self.stream_id, state, **fields)


def _batch(waiting: list[Any]) -> list[Any]:
    """Returns the first chunks, as many as one request may have."""
    size = 0
    for count, chunk in enumerate(waiting[:MOST_CHUNKS]):
        size += len(json.dumps(chunk, ensure_ascii=False).encode(errors="replace"))
        if size > MOST_BYTES and count > 0:
            return waiting[:count]
    return waiting[:MOST_CHUNKS]


class Answer:
    """An answer that is written to a stream. It ends once: as its reader says, or when the client is closed before."""

    def __init__(
        self,
        unfinished: set[Unfinished],
        stream: Stream,
        repeater: Repeater,
        chunks: Chunks,
    ) -> None:
        self._stream, self._repeater, self._chunks = stream, repeater, chunks
        self._unfinished, self._ending, self._has_ended = unfinished, Lock(), False
        unfinished.add(self)

    def end(self, state: str = "cancelled", error: str | None = None) -> bool:
        """Ends the stream, unless it has ended; also if the task that waits is cancelled. Returns whether this call did it."""
        return settled(self._end(state, error))

    def _end(self, state: str, error: str | None) -> bool:
        with self._ending:
            if self._has_ended:
                return False
            self._has_ended = True
            self._unfinished.discard(self)
            _end(self._stream, self._repeater, self._chunks, state, error)
            return True


def recorded(chat: Chat, upstream: Any, fields: dict[str, Any]) -> Generator[Any, None, None]:
    """Yields the events of an answer, and writes them to a stream of the chat."""
    stream = chat.start_stream("ui_message", **fields)
    chunks = Chunks(stream.stream_id)
    state, error = "cancelled", None
    waiting = Interruptible()

    def keep_alive() -> bool:
        stream.keep_alive()
        if stream.is_cancelled:
            waiting.interrupt()
        return True

    answer = Answer(chat.unfinished, stream, Repeater(INTERVAL, keep_alive), chunks)
    try:
        events = iter(upstream)
        while not stream.is_cancelled:
            event = waiting.wait(next(events))
            stream.add(*chunks.add(event))
            yield event
    except StopIteration:
        state, error = chunks.state, None if chunks.failure is None else shortened(chunks.failure)
    except StopWaiting:
        pass
    except BaseException as failure:
        if isinstance(failure, Exception):
            state, error = "failed", shortened(str(failure))
        try:
            answer.end(state, error)
        except Exception:
            if isinstance(failure, GeneratorExit):
                # The caller has closed the iterator, and should know.
                raise
            # What ended the answer counts.
            logger.exception("the stream %s was not ended", stream.stream_id)
        raise
    answer.end(state, error)


def _end(
    stream: Stream, repeater: Repeater, chunks: Chunks, state: str, error: str | None
) -> models.EndedStream:
    repeater.stop()
    refusal = None
    try:
        stream.add(*chunks.end())
        stream.flush()
    except Exception as failure:
        if not _is_refusal(failure):
            raise
        # The chunks are at fault.
        stream.discard()
        if state != "failed":
            state, error, refusal = "failed", shortened(str(failure)), failure
    try:
        ended = stream.end(state, error=error)
    except RepriseError as failure:
        # The answer is too large for a message, or another one is stored as this turn.
        if state == "failed" or not _is_refusal(failure):
            raise
        with suppress(Conflict):
            stream.end("failed", error=shortened(str(failure)))
        raise
    if refusal is not None:
        raise refusal
    return ended


def _is_refusal(failure: Exception) -> bool:
    """Returns whether the answer cannot be stored: its stream ends nevertheless, or its followers would wait for it.

    One whose lease is lost goes to the next holder.
    """
    if isinstance(failure, RepriseError):
        return isinstance(failure, (InvalidRequest, Conflict)) and not isinstance(failure, Fenced)
    return True
