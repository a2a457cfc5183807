"""Connections that lose the requests or replace the answers that a test chooses."""

from __future__ import annotations

from collections.abc import Callable

import httpx
from typing_extensions import override

#: Says what a request gets instead of its answer; ``None`` if it is sent.
Fault = Callable[[httpx.Request], httpx.Response | None]


def nothing(_: httpx.Request) -> None:
    """Lets every request through."""


def refused(method: str, path: str) -> Fault:
    """Refuses the connection of requests whose path contains ``path``."""

    def fault(request: httpx.Request) -> None:
        if request.method == method and path in request.url.path:
            raise httpx.ConnectError("refused by the test")

    return fault


class Faults(httpx.HTTPTransport):
    """The connections of a client that waits for each answer."""

    def __init__(self, fault: Fault = nothing) -> None:
        super().__init__()
        self.fault = fault

    @override
    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self.fault(request) or super().handle_request(request)


class AsyncFaults(httpx.AsyncHTTPTransport):
    """The connections of a client for asyncio."""

    def __init__(self, fault: Fault = nothing) -> None:
        super().__init__()
        self.fault = fault

    @override
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return self.fault(request) or await super().handle_async_request(request)
