"""Time for asyncio: hand-written, as ``_sync/clock.py`` is for threads."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

sleep = asyncio.sleep
AsyncLock = asyncio.Lock

T = TypeVar("T")
logger = logging.getLogger(__name__)

#: What connections belong to: a process and an event loop.
Owner = tuple[int, asyncio.AbstractEventLoop]


def current_owner() -> Owner:
    """Returns this process and the event loop that runs."""
    return os.getpid(), asyncio.get_running_loop()


def is_gone(owner: Owner) -> bool:
    """Tells whether connections are of another process, or of a loop that is closed."""
    return owner[0] != os.getpid() or owner[1].is_closed()


def check_owner(first: Owner, now: Owner) -> None:
    """Raises ``RuntimeError`` if connections are used elsewhere than at first."""
    if first != now:
        raise RuntimeError(
            "the connections that were passed as http= belong to another event loop: make a client in each loop, or leave "
            "http= out, so that the client opens connections in each loop itself"
        )


async def settled(call: Coroutine[Any, Any, T]) -> T:
    """Waits until the call has ended, also if the task that waits is cancelled: it is cancelled after that."""
    task = asyncio.ensure_future(call)
    cancellation: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancellation = error
    if cancellation is None:
        return task.result()
    # Read, or asyncio would report an exception that was never retrieved.
    raise cancellation from task.exception()


class AsyncRepeater:
    """Calls a function again and again, until it is stopped or the function returns false.

    When the function returns false, the task that started the repeater is cancelled. A call that raises is logged, and the next
    one follows.
    """

    def __init__(self, every: float, call: Callable[[], Awaitable[bool]]) -> None:
        self._every, self._call = every, call
        self._owner = asyncio.current_task()
        self._cancellations = cancellations(self._owner)
        self._has_cancelled = False
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._every)
            try:
                continues = await self._call()
            except Exception:
                logger.exception("a repeated call has failed; the next one follows in %s s", self._every)
                continue
            if not continues:
                break
        if self._owner is not None:
            self._has_cancelled = True
            self._owner.cancel()

    async def stop(self) -> None:
        """Stops, and waits until no call is under way."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        uncancel = getattr(self._owner, "uncancel", None)
        if self._has_cancelled and uncancel is not None:
            uncancel()

    def has_ended(self, error: BaseException) -> bool:
        """Tells, of a repeater that was stopped, whether its owner raised this because the repeater alone cancelled it."""
        is_alone = cancellations(self._owner) <= self._cancellations
        return self._has_cancelled and is_alone and isinstance(error, (asyncio.CancelledError, Exception))


class StopWaiting(Exception):
    """What was waited for is no longer wanted."""


class AsyncInterruptible:
    """Waits for one thing after the other, until it is interrupted: also in the middle of a wait, and never between two."""

    def __init__(self) -> None:
        self._waiting: asyncio.Task[Any] | None = None
        self._is_interrupted = False

    async def wait(self, awaited: Awaitable[T]) -> T:
        """Waits, in the task that calls; raises :class:`StopWaiting` if it is interrupted meanwhile."""
        task = self._waiting = asyncio.current_task()
        before = cancellations(task)
        try:
            return await awaited
        except asyncio.CancelledError:
            if self._is_interrupted and cancellations(task) <= before + 1:
                raise StopWaiting from None
            raise
        finally:
            self._waiting = None
            uncancel = getattr(task, "uncancel", None)
            if self._is_interrupted and uncancel is not None:
                uncancel()

    def interrupt(self) -> None:
        """Interrupts the wait that is under way, if there is one; not a second time."""
        if self._waiting is not None and not self._is_interrupted:
            self._is_interrupted = True
            self._waiting.cancel()


def cancellations(task: asyncio.Task[Any] | None) -> int:
    """Returns how often a task was cancelled; 0 before Python 3.11, where tasks do not say it."""
    count: Callable[[], int] | None = getattr(task, "cancelling", None)
    return 0 if count is None else count()
