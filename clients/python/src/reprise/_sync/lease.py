from __future__ import annotations

import logging
from contextlib import suppress
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING

from .. import models
from .._request import new_id
from ..errors import Busy, Conflict, Denied, Fenced, NotFound, RepriseError, Unavailable
from .clock import Repeater, settled, sleep

if TYPE_CHECKING:
    from .chat import Chat

logger = logging.getLogger(__name__)


class Lease:
    """Holds the lease of a chat while its block runs, and renews it four times within its ``ttl``.

    If the lease is lost, every write of the block raises :class:`~reprise.Fenced`, and so does its end. It is lost if another worker has it, if
    the token does not permit to renew it any more, or if no renewal was confirmed for the whole ``ttl``.
    """

    def __init__(self, chat: Chat, owner: str, ttl: float) -> None:
        self._chat, self._owner, self._ttl = chat, owner, ttl
        #: How often the lease is renewed, in seconds.
        self._every = ttl / 4
        self._lease: models.Lease | None = None
        self._repeater: Repeater | None = None
        self._lost: RepriseError | None = None
        #: When the lease was renewed last, as far as the service has confirmed it.
        self._renewed_at = 0.0

    def acquire(self, *, wait: float = 0.0) -> Chat:
        """Acquires the lease, without renewing it; returns the chat whose writes carry its token.

        A call that is cancelled ends when the service has answered, and then releases the lease.

        :param wait: how long to wait for a lease that another worker holds, in seconds; then :class:`~reprise.Busy`
        """
        until, lease_id = monotonic() + wait, new_id()
        while True:
            try:
                return settled(self._acquire(lease_id))
            except Busy:
                if monotonic() >= until:
                    raise
                sleep(min(0.5, self._ttl / 4))
            except BaseException:
                with suppress(RepriseError):
                    self.release()
                raise

    @property
    def lost(self) -> RepriseError | None:
        """Why the lease was lost; ``None`` while it is held."""
        return self._lost

    def renew(self) -> bool:
        """Renews the lease; returns whether it is still held.

        It is kept while the service cannot be reached, until its ``ttl`` is over: then another worker may hold it. In the last
        quarter of the ``ttl``, the call tries again until then.
        """
        while self._lease is not None and self._lost is None:
            started = monotonic()
            rest = self._renewed_at + self._ttl - started
            try:
                # Where the ttl is over already, as after a suspension, the service says whose the lease is.
                self._send_renewal(self._lease, patience=rest if rest > 0 else self._every)
            except (Conflict, Denied, NotFound) as error:
                self._lost = error
            except Exception as error:
                is_known = isinstance(error, RepriseError)
                logger.warning("the lease of the chat %s was not renewed: %s", self._chat.chat_id, error, exc_info=not is_known)
                rest = self._renewed_at + self._ttl - monotonic()
                if rest > self._every:
                    return True
                # The next call would come too late.
                sleep(max(0.0, min(rest, self._every / 4)))
                if rest <= self._every / 4:
                    self._lost = Unavailable(f"it was not renewed for {self._ttl:g} s: {error}")
            else:
                self._renewed_at = started
                return True
        return False

    def _send_renewal(self, lease: models.Lease, patience: float) -> None:
        body = {"ttl_ms": round(self._ttl * 1_000)}
        request = self._chat._request("PUT", "lease", str(lease.fencing_token), body=body)
        request.patience = patience
        self._chat._transport.json(request)

    def release(self) -> None:
        """Releases the lease, also if the call is cancelled."""
        settled(self._release())

    def __enter__(self) -> Chat:
        chat = self.acquire()
        self._repeater = Repeater(self._every, self.renew)
        return chat

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        repeater, self._repeater = self._repeater, None
        try:
            settled(self._end(repeater))
        except BaseException as late:
            # The repeater may have cancelled the block at its very end.
            if repeater is None or not repeater.has_ended(late):
                raise
        if self._lost is not None and (error is None or (repeater is not None and repeater.has_ended(error))):
            detail = f"the lease of the chat {self._chat.chat_id} is lost: {self._lost}"
            raise Fenced(detail, status=self._lost.status, problem=self._lost.problem) from self._lost

    def _acquire(self, lease_id: str) -> Chat:
        body = {"owner": self._owner, "lease_id": lease_id, "ttl_ms": round(self._ttl * 1_000)}
        found = self._chat._send("POST", "lease", body=body)
        self._lease, self._lost = models.Lease.model_validate(found), None
        self._renewed_at = monotonic()
        return self._chat.with_token(self._lease.fencing_token)

    def _release(self) -> bool:
        """Releases the lease; returns whether there was one."""
        if self._lease is None:
            return False
        self._chat._send("DELETE", "lease", str(self._lease.fencing_token))
        self._lease = None
        return True

    def _end(self, repeater: Repeater | None) -> bool:
        """Stops renewing; releases the lease unless it is lost, and returns whether there was one."""
        if repeater is not None:
            repeater.stop()
            if monotonic() - self._renewed_at > self._ttl:
                # The process, or its event loop, has stood still: another worker may have had the lease.
                self.renew()
        if self._lost is not None:
            return False
        try:
            return self._release()
        except Exception as failure:
            # It expires: what the block did, or raised, counts.
            logger.warning("the lease of the chat %s was not released, and expires: %s", self._chat.chat_id, failure)
            return False
