from __future__ import annotations

import logging
from contextlib import suppress
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING

from .. import models
from .._request import new_id
from ..errors import Busy, Conflict, Denied, Fenced, NotFound, RepriseError, Unavailable
from .clock import AsyncRepeater, settled, sleep

if TYPE_CHECKING:
    from .chat import AsyncChat

logger = logging.getLogger(__name__)


class AsyncLease:
    """Holds the lease of a chat while its block runs, and renews it four times within its ``ttl``.

    If the lease is lost, the block is cancelled and ends with :class:`~reprise.Fenced`. It is lost if another worker has it, if
    the token does not permit to renew it any more, or if no renewal was confirmed for the whole ``ttl``.
    """

    def __init__(self, chat: AsyncChat, owner: str, ttl: float) -> None:
        self._chat, self._owner, self._ttl = chat, owner, ttl
        #: How often the lease is renewed, in seconds.
        self._every = ttl / 4
        self._lease: models.Lease | None = None
        self._repeater: AsyncRepeater | None = None
        self._lost: RepriseError | None = None
        #: When the lease was renewed last, as far as the service has confirmed it.
        self._renewed_at = 0.0

    async def acquire(self, *, wait: float = 0.0) -> AsyncChat:
        """Acquires the lease, without renewing it; returns the chat whose writes carry its token.

        A call that is cancelled ends when the service has answered, and then releases the lease.

        :param wait: how long to wait for a lease that another worker holds, in seconds; then :class:`~reprise.Busy`
        """
        until, lease_id = monotonic() + wait, new_id()
        while True:
            try:
                return await settled(self._acquire(lease_id))
            except Busy:
                if monotonic() >= until:
                    raise
                await sleep(min(0.5, self._ttl / 4))
            except BaseException:
                with suppress(RepriseError):
                    await self.release()
                raise

    @property
    def lost(self) -> RepriseError | None:
        """Why the lease was lost; ``None`` while it is held."""
        return self._lost

    async def renew(self) -> bool:
        """Renews the lease; returns whether it is still held.

        It is kept while the service cannot be reached, until its ``ttl`` is over: then another worker may hold it. In the last
        quarter of the ``ttl``, the call tries again until then.
        """
        while self._lease is not None and self._lost is None:
            started = monotonic()
            rest = self._renewed_at + self._ttl - started
            try:
                # Where the ttl is over already, as after a suspension, the service says whose the lease is.
                await self._send_renewal(self._lease, patience=rest if rest > 0 else self._every)
            except (Conflict, Denied, NotFound) as error:
                self._lost = error
            except Exception as error:
                is_known = isinstance(error, RepriseError)
                logger.warning("the lease of the chat %s was not renewed: %s", self._chat.chat_id, error, exc_info=not is_known)
                rest = self._renewed_at + self._ttl - monotonic()
                if rest > self._every:
                    return True
                # The next call would come too late.
                await sleep(max(0.0, min(rest, self._every / 4)))
                if rest <= self._every / 4:
                    self._lost = Unavailable(f"it was not renewed for {self._ttl:g} s: {error}")
            else:
                self._renewed_at = started
                return True
        return False

    async def _send_renewal(self, lease: models.Lease, patience: float) -> None:
        body = {"ttl_ms": round(self._ttl * 1_000)}
        request = self._chat._request("PUT", "lease", str(lease.fencing_token), body=body)
        request.patience = patience
        await self._chat._transport.json(request)

    async def release(self) -> None:
        """Releases the lease, also if the call is cancelled."""
        await settled(self._release())

    async def __aenter__(self) -> AsyncChat:
        chat = await self.acquire()
        self._repeater = AsyncRepeater(self._every, self.renew)
        return chat

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        repeater, self._repeater = self._repeater, None
        try:
            await settled(self._end(repeater))
        except BaseException as late:
            # The repeater may have cancelled the block at its very end.
            if repeater is None or not repeater.has_ended(late):
                raise
        if self._lost is not None and (error is None or (repeater is not None and repeater.has_ended(error))):
            detail = f"the lease of the chat {self._chat.chat_id} is lost: {self._lost}"
            raise Fenced(detail, status=self._lost.status, problem=self._lost.problem) from self._lost

    async def _acquire(self, lease_id: str) -> AsyncChat:
        body = {"owner": self._owner, "lease_id": lease_id, "ttl_ms": round(self._ttl * 1_000)}
        found = await self._chat._send("POST", "lease", body=body)
        self._lease, self._lost = models.Lease.model_validate(found), None
        self._renewed_at = monotonic()
        return self._chat.with_token(self._lease.fencing_token)

    async def _release(self) -> bool:
        """Releases the lease; returns whether there was one."""
        if self._lease is None:
            return False
        await self._chat._send("DELETE", "lease", str(self._lease.fencing_token))
        self._lease = None
        return True

    async def _end(self, repeater: AsyncRepeater | None) -> bool:
        """Stops renewing; releases the lease unless it is lost, and returns whether there was one."""
        if repeater is not None:
            await repeater.stop()
            if monotonic() - self._renewed_at > self._ttl:
                # The process, or its event loop, has stood still: another worker may have had the lease.
                await self.renew()
        if self._lost is not None:
            return False
        try:
            return await self._release()
        except Exception as failure:
            # It expires: what the block did, or raised, counts.
            logger.warning("the lease of the chat %s was not released, and expires: %s", self._chat.chat_id, failure)
            return False
