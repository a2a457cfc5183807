"""`reprise mcp`, judged by the client of the official SDK, over both transports."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from reprise import AsyncReprise

from .conftest import BINARY, Service

READING = {
    "get_resume_plan",
    "get_stats",
    "list_chats",
    "list_pending_questions",
    "read_transcript",
    "search_messages",
}
WRITING = {"answer_question", "append_note"}


@asynccontextmanager
async def over_stdio(service: Service, app: str, *flags: str) -> AsyncGenerator[ClientSession]:
    """A session with a server that the client starts itself."""
    parameters = StdioServerParameters(command=str(BINARY), args=["mcp", app, "--url", service.url, *flags])
    async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        yield session


def listening(arguments: list[str]) -> tuple[subprocess.Popen[str], str]:
    """Starts a server, and returns the address that it says."""
    process = subprocess.Popen([BINARY, *arguments], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    said = process.stdout.readline()
    found = re.fullmatch(r"listening on (http://\S+)\n", said)
    assert found, said
    return process, found[1]


@asynccontextmanager
async def over_http(service: Service, app: str, *flags: str) -> AsyncGenerator[ClientSession]:
    """A session with a server that listens."""
    process, url = listening(["mcp", app, "--url", service.url, "--http", "127.0.0.1:0", *flags])
    try:
        async with AsyncExitStack() as stack:
            read, write = await stack.enter_async_context(streamable_http_client(url))
            session = await stack.enter_async_context(ClientSession(read, write))
            await session.initialize()
            yield session
    finally:
        process.terminate()
        assert process.wait(10) == 0


async def call(session: ClientSession, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await session.call_tool(tool, arguments)
    assert not result.is_error, result
    assert result.structured_content is not None
    [content] = result.content
    assert content.type == "text"
    said: dict[str, Any] = json.loads(content.text)
    assert said == result.structured_content
    return said


@pytest.mark.parametrize("connect", [over_stdio, over_http])
async def test_the_tools_read_and_write(service: Service, app: str, connect: Any) -> None:
    async with AsyncReprise(service.url, app) as client, connect(service, app, "--write") as session:
        chat = await client.create_chat("Picnic", title="By the lake")
        await chat.append({"role": "user", "name": "user", "content": "Where is the marmalade?"})
        tools = await session.list_tools()
        assert {tool.name for tool in tools.tools} == READING | WRITING
        for tool in tools.tools:
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint == (tool.name in READING)
        listed = await call(session, "list_chats", title_contains="LAKE")
        assert [it["chat_id"] for it in listed["data"]] == [chat.chat_id]
        note = {"chat_id": chat.chat_id, "text": "in the basket", "event_id": "note-1"}
        for duplicate in (False, True):
            appended = await call(session, "append_note", **note)
            assert appended["messages"][0]["duplicate"] is duplicate
        read = await call(session, "read_transcript", chat_id=chat.chat_id)
        assert [it["content"] for it in read["data"]] == ["Where is the marmalade?", "in the basket"]
        rest = await call(session, "read_transcript", chat_id=chat.chat_id, after=0, limit=1)
        assert [it["sequence"] for it in rest["data"]] == [1]
        plan = await call(session, "get_resume_plan", chat_id=chat.chat_id, dialect="anthropic")
        assert plan["chat"]["chat_id"] == chat.chat_id
        assert (await call(session, "get_stats"))["workflows"]
        path = f"/api/chats/{app}/{chat.chat_id}/input-requests"
        await client.request("POST", path, body={"request_id": "ask-1", "prompt": "Which lake?"})
        [question] = (await call(session, "list_pending_questions"))["data"]
        answer = {"chat_id": chat.chat_id, "request_id": question["request_id"], "content": "the deep one"}
        answered = await call(session, "answer_question", **answer)
        assert answered["input_request"]["state"] == "answered", answered


@pytest.mark.parametrize("connect", [over_stdio, over_http])
async def test_without_write_nothing_can_be_written(service: Service, app: str, connect: Any) -> None:
    async with connect(service, app) as session:
        tools = await session.list_tools()
        assert {tool.name for tool in tools.tools} == READING
        try:
            refused = (await session.call_tool("append_note", {"chat_id": "c", "text": "x"})).is_error
        except Exception:  # The SDK raises what the protocol calls an error.
            refused = True
        assert refused


async def test_a_refusal_says_what_is_wrong(service: Service, app: str) -> None:
    async with over_stdio(service, app) as session:
        unknown = await session.call_tool("read_transcript", {"chat_id": "nowhere"})
        assert unknown.is_error
        assert "chat-not-found" in str(unknown.content)
        wrong = await session.call_tool("list_chats", {"limit": 1000})
        assert wrong.is_error
        assert "limit" in str(wrong.content)


@pytest.mark.parametrize("connect", [over_stdio, over_http])
async def test_chats_that_wait_are_listed_and_long_messages_are_read(service: Service, app: str, connect: Any) -> None:
    async with AsyncReprise(service.url, app) as client, connect(service, app) as session:
        waiting = await client.create_chat("Picnic")
        await client.create_chat("Picnic")
        path = f"/api/chats/{app}/{waiting.chat_id}/input-requests"
        await client.request("POST", path, body={"request_id": "ask-1", "prompt": "Which lake?"})
        listed = await call(session, "list_chats", needs_input=True)
        assert [it["chat_id"] for it in listed["data"]] == [waiting.chat_id]
        assert len((await call(session, "list_chats", needs_input=False))["data"]) == 2
        for text in ("a" * 900_000, "b" * 900_000):
            await waiting.append({"role": "user", "content": text})
        read = await call(session, "read_transcript", chat_id=waiting.chat_id)
        assert [len(it["content"]) for it in read["data"]] == [900_000, 900_000]


async def test_more_than_a_tool_can_answer_is_refused_with_what_to_do(service: Service, app: str) -> None:
    async with AsyncReprise(service.url, app) as client, over_stdio(service, app) as session:
        chat = await client.create_chat("Picnic")
        for letter in "abcde":
            await chat.append({"role": "user", "content": letter * 4_000_000})
        refused = await session.call_tool("get_resume_plan", {"chat_id": chat.chat_id})
        assert refused.is_error
        assert "newest" in str(refused.content)
        assert (await call(session, "get_resume_plan", chat_id=chat.chat_id, newest=1))["transcript"]
