"""The same client over the connections of aiohttp."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator

import httpx
import pytest

from reprise import AsyncReprise, Conflict, NotFound, OutcomeUnknown, Unavailable
from reprise.aiohttp import AiohttpClient

from .conftest import Line, Service

HELLO = {"role": "user", "name": "user", "content": "Hello 👍"}


@pytest.fixture
async def http() -> AsyncIterator[AiohttpClient]:
    async with AiohttpClient(timeout=5) as http:
        yield http


async def test_a_chat_is_written_and_read(service: Service, app: str, http: AiohttpClient) -> None:
    client = AsyncReprise(service.url, app, http=http)
    chat = await client.create_chat("Picnic")
    await asyncio.gather(*(chat.append({**HELLO, "event_id": f"a b/ü%{number}"}) for number in range(20)))
    assert [message.content async for message in chat.messages(page_size=7)] == ["Hello 👍"] * 20
    assert (await chat.get("messages", "by-id", "a b/ü%7"))["event_id"] == "a b/ü%7"
    heard: list[str] = []
    async for event in chat.events(after=18):
        heard.append(event.name)
        if event.name == "caught-up":
            break
    assert heard == ["message", "caught-up"]
    with pytest.raises(NotFound):
        await client.chat("no_such_chat").session()
    with pytest.raises(Conflict):
        await chat.append({**HELLO, "event_id": "a b/ü%7", "content": "Goodbye"})
    await chat.delete()


async def test_a_write_whose_answer_is_lost_is_stored_once(line: Line, app: str, http: AiohttpClient) -> None:
    client = AsyncReprise(line.url, app, http=http)
    line.lost_answers = 1
    chat = await client.create_chat("Picnic")
    for number in range(5):
        line.lost_answers = number % 3
        await chat.append({**HELLO, "content": str(number)})
    assert [message.content async for message in chat.messages()] == [str(number) for number in range(5)]
    impatient = AsyncReprise(line.url, app, http=http, retry_for=0.3).chat(chat.chat_id)
    line.lost_answers = 1_000
    with pytest.raises(OutcomeUnknown):
        await impatient.append(HELLO)
    # Nothing was sent, so that nothing is stored.
    with pytest.raises(Unavailable):
        await AsyncReprise("http://127.0.0.1:9", app, http=http, retry_for=0.2).create_chat("Picnic")


async def test_an_attempt_takes_no_longer_than_its_timeout(app: str) -> None:
    silent = await asyncio.start_server(lambda _, __: asyncio.sleep(5), "127.0.0.1", 0)
    url = f"http://127.0.0.1:{silent.sockets[0].getsockname()[1]}"
    async with AiohttpClient(timeout=0.1) as http:
        with pytest.raises(OutcomeUnknown):
            await asyncio.wait_for(AsyncReprise(url, app, http=http, retry_for=0).create_chat("Picnic"), 3)
    silent.close()


async def test_a_compressed_answer_is_read(http: AiohttpClient) -> None:
    heads: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append((await reader.readuntil(b"\r\n\r\n")).lower())
        body = gzip.compress(b'{"is": "read"}')
        head = f"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        writer.close()

    compressing = await asyncio.start_server(answer, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{compressing.sockets[0].getsockname()[1]}"
    # The second one does not say that its answer may be compressed.
    for request in (http.build_request("GET", url), httpx.Request("GET", url)):
        assert (await http.send(request)).json() == {"is": "read"}
    assert ["accept-encoding: gzip" in head.decode() for head in heads] == [True, False]
    compressing.close()


async def test_a_request_that_the_caller_made_has_the_timeout_of_the_connections(service: Service, http: AiohttpClient) -> None:
    response = await http.send(httpx.Request("GET", f"{service.url}/api/health/ready"))
    assert response.is_success
