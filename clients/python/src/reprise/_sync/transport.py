from __future__ import annotations

import logging
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf
from time import monotonic
from typing import Any, Protocol

import httpcore
import httpx

from .._json import encoded
from .._request import Attempts, Request, checked_headers, checked_params, checked_token, checked_url, is_refusal, unsendable
from ..errors import RepriseError
from .clock import Owner, check_owner, current_owner, is_gone, sleep

logger = logging.getLogger(__name__)
#: Bodies of fewer bytes are sent before the service can refuse them: its answer is read.
LARGE_BODY = 64 * 1024
#: How long to wait for the refusal of a body that is only announced, in seconds.
REFUSAL_TIMEOUT = 2.0
#: The longest that one request asks the service to wait for something to happen, in seconds.
MAX_WAIT = 25.0
#: The shortest timeout of an attempt, in seconds.
MIN_TIMEOUT = 0.01


def _unsent() -> Iterator[bytes]:
    """A body that is announced and not sent: after this error, httpcore reads the answer."""
    raise httpcore.WriteError
    yield b""


class Unfinished(Protocol):
    """Something that ends before the connections are closed."""

    def end(self) -> bool:
        """Ends it, unless it has ended. Returns whether this call did it."""
        ...


@dataclass
class Place:
    """What belongs to one process, and with asyncio to one event loop: another one cannot use it."""

    http: httpx.Client
    #: The answers that are being written, or whose reader has left them.
    unfinished: set[Unfinished] = field(default_factory=set[Unfinished])


class Transport:
    """Sends requests until they are answered, for a limited time."""

    def __init__(
        self,
        base_url: str,
        *,
        token: str | None,
        timeout: float,
        retry_for: float,
        http: httpx.Client | None,
    ) -> None:
        self._base_url = checked_url(base_url).rstrip("/")
        self._retry_for = retry_for
        self._timeout, self._given = timeout, http
        # It takes longer to make than a request, and is the same for all.
        self._ssl = None if http else httpx.create_ssl_context()
        self._headers = {"authorization": f"Bearer {checked_token(token)}"} if token else {}
        #: Threads add to it without a lock, which a fork might leave locked: each access is a single one.
        self._places: dict[Owner, Place] = {}

    @property
    def unfinished(self) -> set[Unfinished]:
        """The answers of this process, and with asyncio of this event loop, that end before the connections are closed."""
        return self._here.unfinished

    @property
    def _http(self) -> httpx.Client:
        return self._here.http

    @property
    def _here(self) -> Place:
        owner = current_owner()
        return self._places.get(owner) or self._places.setdefault(owner, self._new_place(owner))

    def _new_place(self, owner: Owner) -> Place:
        if self._given is not None:
            for other in list(self._places):
                check_owner(other, owner)
            return Place(self._given)
        self._forget_gone()
        assert self._ssl is not None
        return Place(httpx.Client(timeout=self._timeout, verify=self._ssl))

    def _forget_gone(self) -> None:
        """Drops the connections that nothing can use any more; each is closed with its last reference."""
        for owner in list(self._places):
            if is_gone(owner):
                self._places.pop(owner, None)

    @property
    def longest_wait(self) -> float:
        """How long a request may ask the service to wait, in seconds, so that its answer comes within the timeout in use."""
        timeout = self._read_timeout
        return max(0.0, min(MAX_WAIT, timeout - max(0.5, timeout / 6)))

    @property
    def _read_timeout(self) -> float:
        timeout = httpx.Timeout(self._timeout) if self._given is None else self._given.timeout
        return inf if timeout.read is None else timeout.read

    def json(self, request: Request) -> Any:
        """Returns the body of a response that is no error; ``None`` if it has none."""
        response = self.send(request)
        try:
            return response.json() if response.content else None
        except ValueError as error:
            raise RepriseError("the response is not JSON", status=response.status_code) from error

    def send(self, request: Request) -> httpx.Response:
        """Returns a response that is no error, or one that the request calls an answer."""
        attempts, started = Attempts(request.is_write), monotonic()
        until = started + min(self._retry_for, request.patience)
        outcome: httpx.Response | httpx.RequestError
        while True:
            try:
                outcome = self._http.request(**self._arguments(request), **self._timeout_of(request, started))
            except (httpx.ReadError, httpx.WriteError) as error:
                outcome = self._refusal(request) or error
            except httpx.LocalProtocolError:
                raise unsendable() from None
            except httpx.RequestError as error:
                outcome = error
            if isinstance(outcome, httpx.Response) and (outcome.is_success or outcome.status_code in request.answers):
                return outcome
            pause = attempts.pause_after(outcome)
            if pause is None or monotonic() + pause > until:
                raise attempts.failure(outcome)
            sleep(pause)

    def _timeout_of(self, request: Request, started: float) -> dict[str, Any]:
        """Returns the timeout of the next attempt, if it is another one than that of the connections."""
        if request.patience == inf:
            return {}
        rest = started + request.patience - monotonic()
        return {"timeout": max(MIN_TIMEOUT, min(self._read_timeout, rest))}

    def _refusal(self, request: Request) -> httpx.Response | None:
        """Announces a large body without sending it, and returns the answer if the service refuses the request.

        The service closes a connection on which it has refused a body. httpx then finds the body unsent, and not the answer.
        """
        arguments = self._arguments(request)
        size = len(arguments.get("content", b""))
        if size < LARGE_BODY:
            return None
        arguments["headers"]["content-length"] = str(size)
        arguments["content"] = _unsent()
        try:
            with self._http.stream(**arguments, timeout=REFUSAL_TIMEOUT) as response:
                response.read()
        except httpx.TransportError:
            return None
        return response if is_refusal(response) else None

    @contextmanager
    def stream(self, request: Request, *, read_timeout: float) -> Generator[httpx.Response, None, None]:
        """Opens a stream, once; its status may be an error."""
        timeout = httpx.Timeout(10.0, read=read_timeout)
        try:
            with self._http.stream(**self._arguments(request), timeout=timeout) as response:
                if not response.is_success:
                    response.read()
                yield response
        except httpx.LocalProtocolError:
            raise unsendable() from None

    def _arguments(self, request: Request) -> dict[str, Any]:
        arguments: dict[str, Any] = {
            "method": request.method,
            "url": self._base_url + request.path,
            "params": checked_params(request.params) or None,
            "headers": {**self._headers, **checked_headers(request.headers)},
        }
        if request.body is not None:
            arguments["content"] = encoded(request.body)
            arguments["headers"].setdefault("content-type", "application/json")
        if request.content is not None:
            arguments["content"] = request.content
        return arguments

    def close(self) -> None:
        """Ends the answers that have no reader any more, and closes the connections, unless the caller brought them."""
        place = self._places.get(current_owner())
        if place is not None:
            for answer in list(place.unfinished):
                try:
                    answer.end()
                except Exception:
                    logger.exception("an answer was not ended before the client was closed")
            if self._given is None:
                place.http.close()
        self._forget_gone()
