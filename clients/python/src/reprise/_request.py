"""A request to the service, and what its response means. Nothing here sends anything."""

from __future__ import annotations

import random
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from math import inf
from typing import Any, cast
from urllib.parse import quote

import httpx

from ._json import checked
from .errors import InvalidRequest, InvalidValue, OutcomeUnknown, RepriseError, Unavailable, from_problem

#: How long a pause between two attempts may be, in seconds.
MAX_PAUSE = 5.0
#: Statuses after which the same request is sent again.
RETRIED = frozenset({408, 429, 502, 503, 504})
#: Statuses after which a write may be stored.
MAY_BE_STORED = frozenset({502, 504})

Json = Mapping[str, Any]


@dataclass
class Request:
    """A request that is sent until it is answered, always with the same ids."""

    method: str
    path: str
    params: dict[str, Any] = field(default_factory=dict[str, Any])
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict[str, str])
    #: The body as it is, instead of JSON.
    content: bytes | None = None
    #: Statuses that are answers, although they are not 2xx.
    answers: frozenset[int] = frozenset()
    #: How long an answer is of use, in seconds: the request is neither sent again nor waited for after that.
    patience: float = inf

    @property
    def is_write(self) -> bool:
        return self.method not in ("GET", "HEAD")

    @classmethod
    def post(cls, path: str, body: Json, *, id_field: str | None = None, **options: Any) -> Request:
        """Returns a ``POST`` that is safe to repeat: one without an id gets an ``Idempotency-Key``."""
        request = cls("POST", path, body=without_none(body), **options)
        if id_field is not None and id_field not in request.body:
            request.headers["idempotency-key"] = new_id()
        return request


def new_id() -> str:
    """Returns a new random id."""
    return uuid.uuid4().hex


def checked_url(base_url: str) -> str:
    """Returns the address of a service, unless it is none."""
    try:
        url = httpx.URL(base_url)
    except httpx.InvalidURL as error:
        raise ValueError(f"{base_url!r} is no base URL: {error}") from error
    is_address = url.scheme in ("http", "https") and url.host and (url.port or 0) < 65_536 and not re.search(r"\s", base_url)
    if not is_address or not {"?", "#"}.isdisjoint(base_url):
        raise ValueError(f"{base_url!r} is no base URL: it is http:// or https:// with a host, such as http://127.0.0.1:8080")
    return base_url


def checked_token(token: str) -> str:
    """Returns a token, unless it has a character that no header can have; the error does not say the token."""
    found = re.search(r"[^\x21-\x7e]", token)
    if found is not None:
        detail = f"the character {found.start()} is {_named(found[0])}; a token has letters, digits and signs of ASCII alone"
        raise ValueError(f"token: {detail}: read it without the line break or the space at its end, for example with strip()")
    return token


def checked_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Returns the headers; a value that HTTP does not permit is an :class:`~reprise.InvalidValue`."""
    for name, value in headers.items():
        found = re.search(r"[^\x20-\x7e]|^ | \Z", value)
        if found is not None:
            place = f"the character {found.start()} is {_named(found[0])}"
            raise InvalidValue(name, f"{place}, which a header cannot have there: use ASCII, without spaces around it")
    return dict(headers)


def check_dictionaries(records: Sequence[object], pointer: str) -> None:
    """Raises ``TypeError`` for a record that is no dictionary."""
    for index, record in enumerate(records):
        if not isinstance(record, Mapping):
            raise TypeError(f"{pointer}/{index}: pass a dictionary, not a {type(record).__name__}")


def unsendable() -> InvalidRequest:
    """Returns the error for a request that the connections refuse to send. What they say of it may have the token."""
    return InvalidRequest("the request was not sent: one of its headers has a value that HTTP does not permit")


def _named(character: str) -> str:
    return f"U+{ord(character):04X}"


def path(*parts: str) -> str:
    """Joins parts of a path, whatever characters they have."""
    check_segments(parts)
    if "" in parts:
        raise ValueError(f"{'/'.join(parts)!r} has an empty segment: pass the id that belongs there")
    return "/" + "/".join(quote(checked(part, "path"), safe="") for part in parts)


def check_segments(parts: Sequence[str]) -> None:
    """Raises ``ValueError`` for parts of a path that would be taken on the way for steps to other records."""
    if not {".", ".."}.isdisjoint(parts):
        raise ValueError(f"{'/'.join(parts)!r} has a segment . or .., which no path can have")


def without_none(fields: Json) -> dict[str, Any]:
    """Returns the fields that were given."""
    return {name: value for name, value in fields.items() if value is not None}


def checked_params(params: Json) -> dict[str, Any]:
    """Returns the parameters that were given; a text that UTF-8 does not have is an :class:`~reprise.InvalidValue`."""
    return {name: checked(value, name) if isinstance(value, str) else value for name, value in without_none(params).items()}


def with_ids(records: Sequence[Json], id_field: str, pointer: str) -> list[dict[str, Any]]:
    """Gives an id to each record that has none, so that all may be sent again."""
    check_dictionaries(records, pointer)
    return [{id_field: new_id(), **without_none(record)} for record in records]


@dataclass
class Attempts:
    """What is known of the attempts of one request."""

    is_write: bool
    may_be_stored: bool = False
    count: int = 0

    def pause_after(self, outcome: httpx.Response | httpx.RequestError) -> float | None:
        """Returns how long to wait before the next attempt, in seconds; ``None`` if there is to be none."""
        self.count += 1
        if isinstance(outcome, httpx.Response):
            if outcome.status_code not in RETRIED:
                return None
            self.may_be_stored |= outcome.status_code in MAY_BE_STORED
            wanted = retry_after(outcome)
            if wanted is not None:
                return wanted
        else:
            nothing_was_sent = isinstance(outcome, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout))
            self.may_be_stored |= not nothing_was_sent
        return backoff(self.count, first=0.1, most=MAX_PAUSE)

    def failure(self, outcome: httpx.Response | httpx.RequestError) -> RepriseError:
        """Returns the exception for the last attempt."""
        is_answer = isinstance(outcome, httpx.Response) and outcome.status_code not in RETRIED
        if self.is_write and self.may_be_stored and not is_answer:
            problem = problem_of(outcome) if isinstance(outcome, httpx.Response) else {}
            status = outcome.status_code if isinstance(outcome, httpx.Response) else None
            detail = f"the write was not confirmed in {self.count} attempts, the last of which failed: {said(outcome)}"
            return OutcomeUnknown(detail, status=status, problem=problem)
        if isinstance(outcome, httpx.Response):
            return from_problem(outcome.status_code, problem_of(outcome))
        return Unavailable(f"the service was not reached in {self.count} attempts: {said(outcome)}")


def is_refusal(response: httpx.Response) -> bool:
    """Returns whether the same request would be refused again."""
    return response.is_client_error and response.status_code not in RETRIED


def backoff(count: int, *, first: float, most: float) -> float:
    """Returns how long to wait after this many failures, in seconds: twice as long after each, with some chance."""
    longest = min(most, first * 2 ** min(count - 1, 20))
    return random.uniform(longest / 2, longest)


def retry_after(response: httpx.Response) -> float | None:
    """Returns the seconds that ``Retry-After`` asks for."""
    text = response.headers.get("retry-after")
    if text is None:
        return None
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(text) - datetime.now(timezone.utc)).total_seconds())
    except (TypeError, ValueError):
        return None


def problem_of(response: httpx.Response) -> dict[str, Any]:
    """Returns the problem document of a response; empty if it is none."""
    try:
        problem: Any = response.json()
    except ValueError:
        return {}
    return cast("dict[str, Any]", problem) if isinstance(problem, dict) else {}


def said(outcome: httpx.Response | httpx.RequestError) -> str:
    if isinstance(outcome, httpx.Response):
        return str(problem_of(outcome).get("detail") or f"status {outcome.status_code}")
    return str(outcome) or type(outcome).__name__
