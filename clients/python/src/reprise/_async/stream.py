from __future__ import annotations

import json
import logging
from collections.abc import AsyncGenerator
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any

from .. import models
from .._chunks import Chunks
from .._steps import shortened
from ..errors import Conflict, Fenced, InvalidRequest, RepriseError
from .clock import AsyncInterruptible, AsyncLock, AsyncRepeater, StopWaiting, settled

if TYPE_CHECKING:
    from .chat import AsyncChat
    from .transport import AsyncUnfinished

logger = logging.getLogger(__name__)
#: The shortest time between two requests, in seconds: the service stores chunks ten times a second.
INTERVAL = 0.1
#: How long the agent may be silent, in seconds, before it says that it is there. After 30 s the stream would be stalled.
SILENCE = 10.0
#: The most chunks of one request.
MOST_CHUNKS = 500
#: The most bytes of the chunks of one request, unless it is a single one; the service allows 1 MiB.
MOST_BYTES = 1_000_000


class AsyncStream:
    """An answer that others follow while it is produced.

    Chunks are sent when a tenth of a second has passed since the last request. One that is sent again, because an answer
    was lost, is stored once.
    """

    def __init__(self, chat: AsyncChat, stream: models.Stream) -> None:
        self.stream_id = stream.stream_id
        #: Whether a person has asked to stop.
        self.is_cancelled = stream.cancel_requested
        self._chat, self._position = chat, stream.next
        self._waiting: list[Any] = []
        self._sent_at = 0.0
        self._sending = AsyncLock()

    async def add(self, *chunks: Any) -> None:
        """Adds chunks; sends them, unless the last request was a moment ago."""
        self._waiting += chunks
        if monotonic() - self._sent_at >= INTERVAL:
            await self.flush()

    async def flush(self) -> None:
        """Sends what was added; without anything it says that the agent is there."""
        async with self._sending:
            while True:
                self._sent_at = monotonic()
                chunks = _batch(self._waiting)
                progress = await self._chat.append_chunks(self.stream_id, self._position, chunks)
                self._position += len(chunks)
                del self._waiting[: len(chunks)]
                self.is_cancelled = self.is_cancelled or progress.cancel_requested
                if not self._waiting:
                    return

    def discard(self) -> None:
        """Forgets what was added and not sent."""
        self._waiting.clear()

    async def keep_alive(self) -> None:
        """Sends what has waited for the next chunk, and says now and then that the agent is there."""
        if monotonic() - self._sent_at >= (INTERVAL if self._waiting else SILENCE):
            try:
                await self.flush()
            except Exception:
                # The chunks still wait: the next call meets the same error, and raises it.
                pass

    async def end(self, state: str = "finished", **fields: Any) -> models.EndedStream:
        """Ends the stream, and stores what it holds as a turn; not that of a failed one, unless ``store`` is true."""
        await self.flush()
        return await self._chat.end_stream(self.stream_id, state, **fields)


def _batch(waiting: list[Any]) -> list[Any]:
    """Returns the first chunks, as many as one request may have."""
    size = 0
    for count, chunk in enumerate(waiting[:MOST_CHUNKS]):
        size += len(json.dumps(chunk, ensure_ascii=False).encode(errors="replace"))
        if size > MOST_BYTES and count > 0:
            return waiting[:count]
    return waiting[:MOST_CHUNKS]


class AsyncAnswer:
    """An answer that is written to a stream. It ends once: as its reader says, or when the client is closed before."""

    def __init__(
        self,
        unfinished: set[AsyncUnfinished],
        stream: AsyncStream,
        repeater: AsyncRepeater,
        chunks: Chunks,
    ) -> None:
        self._stream, self._repeater, self._chunks = stream, repeater, chunks
        self._unfinished, self._ending, self._has_ended = unfinished, AsyncLock(), False
        unfinished.add(self)

    async def end(self, state: str = "cancelled", error: str | None = None) -> bool:
        """Ends the stream, unless it has ended; also if the task that waits is cancelled. Returns whether this call did it."""
        return await settled(self._end(state, error))

    async def _end(self, state: str, error: str | None) -> bool:
        async with self._ending:
            if self._has_ended:
                return False
            self._has_ended = True
            self._unfinished.discard(self)
            await _end(self._stream, self._repeater, self._chunks, state, error)
            return True


async def recorded(chat: AsyncChat, upstream: Any, fields: dict[str, Any]) -> AsyncGenerator[Any, None]:
    """Yields the events of an answer, and writes them to a stream of the chat."""
    stream = await chat.start_stream("ui_message", **fields)
    chunks = Chunks(stream.stream_id)
    state, error = "cancelled", None
    waiting = AsyncInterruptible()

    async def keep_alive() -> bool:
        await stream.keep_alive()
        if stream.is_cancelled:
            waiting.interrupt()
        return True

    answer = AsyncAnswer(chat.unfinished, stream, AsyncRepeater(INTERVAL, keep_alive), chunks)
    try:
        events = aiter(upstream)
        while not stream.is_cancelled:
            event = await waiting.wait(anext(events))
            await stream.add(*chunks.add(event))
            yield event
    except StopAsyncIteration:
        state, error = chunks.state, None if chunks.failure is None else shortened(chunks.failure)
    except StopWaiting:
        pass
    except BaseException as failure:
        if isinstance(failure, Exception):
            state, error = "failed", shortened(str(failure))
        try:
            await answer.end(state, error)
        except Exception:
            if isinstance(failure, GeneratorExit):
                # The caller has closed the iterator, and should know.
                raise
            # What ended the answer counts.
            logger.exception("the stream %s was not ended", stream.stream_id)
        raise
    await answer.end(state, error)


async def _end(
    stream: AsyncStream, repeater: AsyncRepeater, chunks: Chunks, state: str, error: str | None
) -> models.EndedStream:
    await repeater.stop()
    refusal = None
    try:
        await stream.add(*chunks.end())
        await stream.flush()
    except Exception as failure:
        if not _is_refusal(failure):
            raise
        # The chunks are at fault.
        stream.discard()
        if state != "failed":
            state, error, refusal = "failed", shortened(str(failure)), failure
    try:
        ended = await stream.end(state, error=error)
    except RepriseError as failure:
        # The answer is too large for a message, or another one is stored as this turn.
        if state == "failed" or not _is_refusal(failure):
            raise
        with suppress(Conflict):
            await stream.end("failed", error=shortened(str(failure)))
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
