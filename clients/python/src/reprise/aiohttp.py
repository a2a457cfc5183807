"""Connections of aiohttp, which need much less of the processor than those of httpx (``pip install reprise-chats[aiohttp]``)::

    from reprise import AsyncReprise
    from reprise.aiohttp import AiohttpClient

    async with AiohttpClient(timeout=30) as http, AsyncReprise("http://127.0.0.1:8080", "acme_corp", http=http) as client:
        chat = await client.create_chat("Picnic")

A program that sends many requests at once gains most.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any

import aiohttp
import httpx
from typing_extensions import Self, override
from yarl import URL

#: aiohttp adds these itself.
SET_BY_AIOHTTP = frozenset({"host", "connection", "content-length", "user-agent"})


class AiohttpClient(httpx.AsyncClient):
    """A client of httpx that sends requests over connections of aiohttp; streams use those of httpx.

    It sends requests as they are: options of httpx that act between a client and its connections, such as ``auth``, ``mounts``,
    hooks and redirects, do nothing, except for streams. Proxies that the environment names are not used.

    :param timeout: how long one attempt may take, in seconds
    """

    def __init__(self, *, timeout: float = 30.0) -> None:
        super().__init__(timeout=timeout)
        self._session: aiohttp.ClientSession | None = None

    @override
    async def send(self, request: httpx.Request, *, stream: bool = False, **options: Any) -> httpx.Response:
        """Sends a request, and reads its response."""
        if stream:
            return await super().send(request, stream=True, **options)
        url = URL(str(request.url), encoded=True)
        fields = [(name.decode(), value.decode()) for name, value in request.headers.raw]
        headers = [(name, value) for name, value in fields if name.lower() not in SET_BY_AIOHTTP]
        body = request.content or None
        limit = aiohttp.ClientTimeout(total=request.extensions.get("timeout", self.timeout.as_dict())["read"])
        try:
            async with self._connections().request(
                request.method, url, headers=headers, data=body, timeout=limit, allow_redirects=False
            ) as response:
                content = await response.read()
        except aiohttp.ClientConnectorError as error:
            raise httpx.ConnectError(str(error), request=request) from error
        except (aiohttp.ClientError, asyncio.TimeoutError) as error:
            raise httpx.ReadError(str(error) or type(error).__name__, request=request) from error
        return httpx.Response(response.status, headers=list(response.headers.items()), content=content, request=request)

    def _connections(self) -> aiohttp.ClientSession:
        """Opens the session with the first request: it belongs to the event loop in which it is made."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),
                cookie_jar=aiohttp.DummyCookieJar(),
                # httpx says which encodings it can decode, and decodes them.
                auto_decompress=False,
                skip_auto_headers=["Accept-Encoding"],
            )
        return self._session

    @override
    async def aclose(self) -> None:
        """Closes the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None
        await super().aclose()

    @override
    async def __aexit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        await self.aclose()

    @override
    async def __aenter__(self) -> Self:
        return self
