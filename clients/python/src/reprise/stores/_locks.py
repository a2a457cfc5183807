"""A lock that tasks of several event loops share."""

from __future__ import annotations

import asyncio
import threading
from types import TracebackType
from weakref import WeakKeyDictionary

#: How long a task waits, in seconds, before it looks again whether a task of another loop still holds the lock.
PAUSE = 0.005


class LoopLock:
    """Is held by one task at a time, whichever event loop and thread it runs in; those of one loop get it in order."""

    def __init__(self) -> None:
        self._held = threading.Lock()
        # A lock of asyncio belongs to one loop.
        self._of_loops: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()

    async def __aenter__(self) -> None:
        of_loop = self._of_loops.setdefault(asyncio.get_running_loop(), asyncio.Lock())
        await of_loop.acquire()
        try:
            while not self._held.acquire(blocking=False):  # noqa: ASYNC110  # An event of asyncio belongs to one loop.
                await asyncio.sleep(PAUSE)
        except BaseException:
            of_loop.release()
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held.release()
        self._of_loops[asyncio.get_running_loop()].release()
