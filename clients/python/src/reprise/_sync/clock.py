"""Time for threads: hand-written, as ``_async/clock.py`` is for asyncio."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from typing import TypeVar

sleep = time.sleep
Lock = threading.Lock

T = TypeVar("T")
logger = logging.getLogger(__name__)

#: What connections belong to: a process.
Owner = int
current_owner = os.getpid


def is_gone(owner: Owner) -> bool:
    """Tells whether connections are of another process."""
    return owner != os.getpid()


def check_owner(first: Owner, now: Owner) -> None:
    """Does nothing: threads share connections, and what the caller passed is the caller's."""


def settled(result: T) -> T:
    """Returns the result: without tasks, nothing can break a call off."""
    return result


class StopWaiting(Exception):
    """Is never raised: a thread cannot interrupt what another one waits for."""


class Interruptible:
    """Waits for one thing after the other. Nothing interrupts it: the caller has waited before it calls."""

    def wait(self, result: T) -> T:
        """Returns the result."""
        return result

    def interrupt(self) -> None:
        """Does nothing."""


class Repeater:
    """Calls a function again and again in a thread, until it is stopped or the function returns false.

    A thread cannot stop another one: the caller looks at what the function has returned. A call that raises is logged, and the
    next one follows.
    """

    def __init__(self, every: float, call: Callable[[], bool]) -> None:
        self._every, self._call = every, call
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="reprise", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopped.wait(self._every):
            try:
                continues = self._call()
            except Exception:
                logger.exception("a repeated call has failed; the next one follows in %s s", self._every)
                continue
            if not continues:
                break

    def stop(self) -> None:
        """Stops, and waits until no call is under way."""
        self._stopped.set()
        self._thread.join()

    def has_ended(self, error: BaseException) -> bool:
        """Returns false: nothing is cancelled."""
        return False
