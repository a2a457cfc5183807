from __future__ import annotations

import logging
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING

from .. import models
from .._request import new_id
from ..errors import Busy, Conflict, Fenced, NotFound, RepriseError
from .clock import Repeater, sleep

if TYPE_CHECKING:
    from .chat import Chat

logger = logging.getLogger(__name__)


class Lease:
    """Holds the lease of a chat while its block runs, and renews it three times as often as needed.

    If the lease is lost, every write of the block raises :class:`~reprise.Fenced`, and so does its end.
    """

    def __init__(self, chat: Chat, owner: str, ttl: float) -> None:
        self._chat, self._owner, self._ttl = chat, owner, ttl
        self._lease: models.Lease | None = None
        self._repeater: Repeater | None = None
        self._lost: RepriseError | None = None

    def acquire(self, *, wait: float = 0.0) -> Chat:
        """Acquires the lease, without renewing it; returns the chat whose writes carry its token.

        :param wait: how long to wait for a lease that another worker holds, in seconds; then :class:`~reprise.Busy`
        """
        until, lease_id = monotonic() + wait, new_id()
        while True:
            body = {"owner": self._owner, "lease_id": lease_id, "ttl_ms": round(self._ttl * 1_000)}
            try:
                found = self._chat._send("POST", "lease", body=body)
                break
            except Busy:
                if monotonic() >= until:
                    raise
                sleep(min(0.5, self._ttl / 4))
        self._lease, self._lost = models.Lease.model_validate(found), None
        return self._chat.with_token(self._lease.fencing_token)

    @property
    def lost(self) -> RepriseError | None:
        """Why the lease was lost; ``None`` while it is held."""
        return self._lost

    def renew(self) -> bool:
        """Renews the lease; returns whether it is still held. It is kept if the service cannot be reached for a while."""
        if self._lease is None:
            return False
        token = str(self._lease.fencing_token)
        try:
            self._chat._send("PUT", "lease", token, body={"ttl_ms": round(self._ttl * 1_000)})
        except (Conflict, NotFound) as error:
            self._lost = error
            return False
        except RepriseError as error:
            # A worker that takes the lease over fences this one, so that nothing is written twice.
            logger.warning("the lease of the chat %s was not renewed: %s", self._chat.chat_id, error)
        return True

    def release(self) -> None:
        """Releases the lease."""
        if self._lease is not None:
            token = str(self._lease.fencing_token)
            self._chat._send("DELETE", "lease", token)
            self._lease = None

    def __enter__(self) -> Chat:
        chat = self.acquire()
        self._repeater = Repeater(self._ttl / 3, self.renew)
        return chat

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        repeater, self._repeater = self._repeater, None
        if repeater is not None:
            repeater.stop()
        if self._lost is not None:
            if error is None or (repeater is not None and repeater.has_ended(error)):
                raise Fenced(str(self._lost), status=self._lost.status, problem=self._lost.problem) from self._lost
            return
        try:
            self.release()
        except Exception as failure:
            # It expires: what the block did, or raised, counts.
            logger.warning("the lease of the chat %s was not released, and expires: %s", self._chat.chat_id, failure)
