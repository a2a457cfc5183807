"""A client that retries: every request is safe to repeat, so it sends it until it is acknowledged."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import httpx

from processes import Fault, Service
from tokens import bearer

#: Answers that a client repeats. 500 is not among them.
RETRIED = {408, 429, 502, 503, 504}
GIVES_UP_SEC = 240
TIMEOUT_SEC = 15


class Refused(Exception):
    """A request was refused, and repeating it would not help."""

    def __init__(self, what: str, response: httpx.Response) -> None:
        self.status = response.status_code
        try:
            self.body: dict[str, Any] = response.json()
        except ValueError:
            self.body = {}
        self.code = str(self.body.get("code", ""))
        super().__init__(f"{what}: {self.status} {response.text[:600]}")


@dataclass
class Tally:
    """What clients have counted."""

    acknowledged: Counter[str] = field(default_factory=Counter[str])
    answers: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    retried: int = 0
    #: The longest that a request took with all its attempts, and that one attempt took.
    longest_sec: float = 0
    slowest_answer_sec: float = 0
    without_retry_after: Counter[str] = field(default_factory=Counter[str])


class Client:
    """A client of some services, which it uses in turn."""

    def __init__(self, services: list[Service], token: str, tally: Tally, draw: random.Random) -> None:
        self.tally = tally
        self._services = services
        self._draw = draw
        self.token = token
        self._headers = {"authorization": f"Bearer {token}"}
        limits = httpx.Limits(max_connections=200, max_keepalive_connections=40)
        self._http = httpx.AsyncClient(headers=self._headers, timeout=TIMEOUT_SEC, trust_env=False, verify=False, limits=limits)

    async def close(self) -> None:
        """Closes the connections."""
        await self._http.aclose()

    def as_person(self, user_id: str, **claims: Any) -> Client:
        """Returns a client of a person, over connections of its own."""
        return Client(self._services, bearer(user_id, **claims), self.tally, self._draw)

    async def send(self, kind: str, method: str, path: str, **request: Any) -> httpx.Response:
        """Sends a request until a service answers it for good; raises `Refused` if that is a refusal."""
        began = time.monotonic()
        attempt = 0
        while True:
            response, why = await self.attempt(kind, method, self._draw.choice(self._services), path, **request)
            if response is not None:
                took = time.monotonic() - began
                self.tally.longest_sec = max(self.tally.longest_sec, took)
                if response.is_success or response.status_code == 304:
                    self.tally.acknowledged[kind] += 1
                    return response
                if response.status_code not in RETRIED:
                    raise Refused(f"{method} {path}", response)
            if time.monotonic() - began > GIVES_UP_SEC:
                raise Fault(f"{method} {path}: not acknowledged within {GIVES_UP_SEC} s; at last: {why}")
            self.tally.retried += 1
            attempt += 1
            await asyncio.sleep(min(0.1 * attempt, 1) * self._draw.uniform(0.5, 1))

    async def attempt(
        self, kind: str, method: str, service: Service, path: str, **request: Any
    ) -> tuple[httpx.Response | None, str]:
        """Sends a request once, to one service."""
        began = time.monotonic()
        try:
            response = await self._http.request(method, f"{service.url}{path}", **request)
        except httpx.TransportError as error:
            self.tally.answers[kind, type(error).__name__] += 1
            return None, repr(error)
        self.tally.slowest_answer_sec = max(self.tally.slowest_answer_sec, time.monotonic() - began)
        outcome = str(response.status_code)
        if response.status_code >= 400:
            try:
                outcome = f"{outcome} {response.json().get('code')}"
            except ValueError:
                pass
            if response.status_code in (429, 503, 504) and "retry-after" not in response.headers:
                self.tally.without_retry_after[f"{method} {kind}: {outcome}"] += 1
        self.tally.answers[kind, outcome] += 1
        return response, response.text[:300] if response.status_code >= 400 else ""

    async def call(self, kind: str, method: str, path: str, body: object = None, **request: Any) -> Any:
        """Sends a request with JSON; returns the JSON of the answer."""
        if body is not None:
            request["json"] = body
        response = await self.send(kind, method, path, **request)
        return response.json() if response.content else None

    async def read_list(self, kind: str, path: str, limit: int = 1000) -> list[dict[str, Any]]:
        """Reads every page of a list."""
        items: list[dict[str, Any]] = []
        cursor = ""
        while True:
            joint = "&" if "?" in path else "?"
            page = await self.call(kind, "GET", f"{path}{joint}limit={limit}{cursor}")
            items += page["data"]
            if page["next_cursor"] is None:
                return items
            cursor = f"&cursor={page['next_cursor']}"

    async def events(self, path: str, last_id: str | None) -> AsyncIterator[tuple[str, str | None, str]]:
        """Yields the events of a chat, as name, id and data, until the connection ends."""
        headers = {} if last_id is None else {"last-event-id": last_id}
        url = f"{self._draw.choice(self._services).url}{path}/events"
        name, event_id, data = "message", None, ""
        async with self._http.stream("GET", url, headers=headers, timeout=httpx.Timeout(TIMEOUT_SEC, read=40)) as response:
            self.tally.answers["follow a chat", str(response.status_code)] += 1
            if response.status_code in RETRIED:
                return
            if response.status_code != 200:
                await response.aread()
                raise Refused(f"{path}/events", response)
            async for line in response.aiter_lines():
                key, _, value = line.partition(":")
                value = value.removeprefix(" ")
                if key == "event":
                    name = value
                elif key == "id":
                    event_id = value
                elif key == "data":
                    data += value
                elif not line and data:
                    yield name, event_id, data
                    name, event_id, data = "message", None, ""
