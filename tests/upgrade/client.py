"""A client that retries: every request is safe to repeat, so it sends it until it is acknowledged."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx

from processes import Fault, Fleet

# Answers that a client may retry. 500 is not among them: a service that meets what it cannot read says 500.
RETRIED = {429, 502, 503, 504}
GIVES_UP_SEC = 60


@dataclass
class Counts:
    """What clients have counted since the drill began."""

    acknowledged: int = 0
    retried: int = 0
    events: int = 0
    reads: int = 0


class Client:
    """A client of a fleet, with one token."""

    def __init__(self, fleet: Fleet, token: str, counts: Counts) -> None:
        self.counts = counts
        self._fleet = fleet
        self._http = httpx.AsyncClient(
            headers={"authorization": f"Bearer {token}"}, timeout=15, trust_env=False, limits=httpx.Limits(max_connections=100)
        )

    async def close(self) -> None:
        """Closes the connections."""
        await self._http.aclose()

    async def send(self, method: str, path: str, **request: Any) -> httpx.Response:
        """Sends a request until a service acknowledges it."""
        gives_up = time.monotonic() + GIVES_UP_SEC
        attempt = 0
        while True:
            why: object
            try:
                response = await self._http.request(method, f"{self._fleet.next_url()}{path}", **request)
                if response.is_success:
                    return response
                if response.status_code not in RETRIED:
                    raise Fault(f"{method} {path}: {response.status_code} {response.text}")
                why = response.text
            except httpx.TransportError as error:
                why = repr(error)
            if time.monotonic() > gives_up:
                raise Fault(f"{method} {path}: not acknowledged within {GIVES_UP_SEC} s; at last: {why}")
            self.counts.retried += 1
            attempt += 1
            await asyncio.sleep(min(0.05 * attempt, 0.5))

    async def call(self, method: str, path: str, body: object = None, **request: Any) -> Any:
        """Sends a request with JSON; returns the JSON of the answer."""
        if body is not None:
            request["json"] = body
        response = await self.send(method, path, **request)
        return response.json() if response.content else None

    async def ask(self, url: str, method: str, path: str, body: object = None) -> httpx.Response:
        """Sends a request once, to one service."""
        return await self._http.request(method, f"{url}{path}", json=body)

    async def events(self, path: str, last_id: str | None) -> AsyncIterator[tuple[str, str | None, str]]:
        """Yields the events of a chat, as name, id and data, until the connection ends."""
        headers = {} if last_id is None else {"last-event-id": last_id}
        url = f"{self._fleet.next_url()}{path}/events"
        name, event_id, data = "message", None, ""
        async with self._http.stream("GET", url, headers=headers, timeout=httpx.Timeout(15, read=30)) as response:
            if response.status_code in RETRIED:
                return
            if response.status_code != 200:
                raise Fault(f"{path}/events: {response.status_code} {(await response.aread()).decode()}")
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
