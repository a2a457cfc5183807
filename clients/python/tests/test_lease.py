"""Leases whose requests fail, and how their blocks end."""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
import time

import httpx
import pytest
from typing_extensions import override

from reprise import AsyncChat, AsyncReprise, Busy, Chat, Fenced, Reprise, RepriseError
from reprise.aiohttp import AiohttpClient

from .conftest import Line, Service
from .faults import AsyncFaults, Fault, Faults, refused


@pytest.fixture
def chat(client: Reprise) -> Chat:
    return client.create_chat("Picnic")


@pytest.fixture
async def async_chat(async_client: AsyncReprise) -> AsyncChat:
    return await async_client.create_chat("Picnic")


def page(_: httpx.Request) -> httpx.Response:
    """What a proxy may answer."""
    return httpx.Response(200, text="<html>")


def of_renewals(answers: list[Fault]) -> Fault:
    """Takes the answers of the next renewals from a list."""

    def fault(request: httpx.Request) -> httpx.Response | None:
        return answers.pop()(request) if request.method == "PUT" and answers else None

    return fault


def test_an_answer_that_is_not_json_is_an_error_of_the_client(chat: Chat, faults: Faults) -> None:
    faults.fault = page
    with pytest.raises(RepriseError, match="the response is not JSON") as failed:
        chat.get()
    assert failed.value.status == 200


def test_renewals_go_on_after_an_answer_that_is_not_json(chat: Chat, faults: Faults) -> None:
    answers: list[Fault] = [page]
    faults.fault = of_renewals(answers)
    with chat.lease("worker-1", ttl=1.2):
        time.sleep(1.5)
        assert not answers
        with pytest.raises(Busy):
            chat.lease("worker-2").acquire()


async def test_renewals_go_on_after_an_answer_that_is_not_json_with_asyncio(
    async_chat: AsyncChat, async_faults: AsyncFaults
) -> None:
    answers: list[Fault] = [page]
    async_faults.fault = of_renewals(answers)
    async with async_chat.lease("worker-1", ttl=1.2):
        await asyncio.sleep(1.5)
        assert not answers
        with pytest.raises(Busy):
            await async_chat.lease("worker-2").acquire()


@pytest.mark.parametrize("error", [RuntimeError, httpx.ConnectError])
def test_renewals_that_fail_are_logged_and_go_on(
    chat: Chat, faults: Faults, error: type[Exception], caplog: pytest.LogCaptureFixture
) -> None:
    def fails(_: httpx.Request) -> None:
        raise error("no way")

    answers: list[Fault] = [fails, fails]
    faults.fault = of_renewals(answers)
    with chat.lease("worker-1", ttl=1.2):
        time.sleep(1.5)
        assert not answers
        with pytest.raises(Busy):
            chat.lease("worker-2").acquire()
    assert [record.levelno >= logging.WARNING for record in caplog.records if record.name.startswith("reprise")] == [True] * 2


@pytest.mark.parametrize("error", [RuntimeError, httpx.ConnectError])
async def test_renewals_that_fail_are_logged_and_go_on_with_asyncio(
    async_chat: AsyncChat, async_faults: AsyncFaults, error: type[Exception], caplog: pytest.LogCaptureFixture
) -> None:
    def fails(_: httpx.Request) -> None:
        raise error("no way")

    answers: list[Fault] = [fails, fails]
    async_faults.fault = of_renewals(answers)
    async with async_chat.lease("worker-1", ttl=1.2):
        await asyncio.sleep(1.5)
        assert not answers
        with pytest.raises(Busy):
            await async_chat.lease("worker-2").acquire()
    assert [record.levelno >= logging.WARNING for record in caplog.records if record.name.startswith("reprise")] == [True] * 2


def test_an_error_of_the_block_is_not_replaced_by_that_of_the_release(chat: Chat, faults: Faults) -> None:
    with pytest.raises(ValueError, match="of the block"):
        with chat.lease("worker-1"):
            faults.fault = refused("DELETE", "/lease/")
            raise ValueError("of the block")


def test_a_lease_that_cannot_be_released_is_logged_and_expires(
    chat: Chat, faults: Faults, caplog: pytest.LogCaptureFixture
) -> None:
    with chat.lease("worker-1", ttl=1):
        faults.fault = refused("DELETE", "/lease/")
    assert "was not released" in caplog.text
    chat.lease("worker-2").acquire(wait=5)


async def test_a_cancelled_block_stays_cancelled_if_its_lease_cannot_be_released(
    async_chat: AsyncChat, async_faults: AsyncFaults
) -> None:
    held = asyncio.Event()

    async def work() -> None:
        async with async_chat.lease("worker-1"):
            held.set()
            await asyncio.sleep(30)

    working = asyncio.create_task(work())
    await held.wait()
    async_faults.fault = refused("DELETE", "/lease/")
    working.cancel()
    await asyncio.wait([working])
    assert working.cancelled()


async def lose(chat: AsyncChat, held: AsyncChat) -> None:
    await chat._send("DELETE", "lease", str(held.fencing_token))


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tasks do not say how often they were cancelled")
async def test_a_block_that_others_cancel_too_stays_cancelled_when_the_lease_is_lost(async_chat: AsyncChat) -> None:
    ends = asyncio.Event()

    async def work() -> None:
        async with async_chat.lease("worker-1", ttl=0.6) as held:
            await lose(async_chat, held)
            try:
                await asyncio.sleep(30)
            finally:
                ends.set()
                await asyncio.sleep(30)

    working = asyncio.create_task(work())
    await ends.wait()
    working.cancel()
    await asyncio.wait([working])
    assert working.cancelled()


async def test_a_lease_that_is_acquired_again_is_not_lost(async_chat: AsyncChat) -> None:
    lease = async_chat.lease("worker-1", ttl=0.6)
    with pytest.raises(Fenced):
        async with lease as held:
            await lose(async_chat, held)
            await asyncio.sleep(30)
    async with lease as held:
        await held.append({"role": "user", "name": "user", "content": "Hello"})
    assert lease.lost is None


class SilentLine(Line):
    """A connection that may keep its answers."""

    is_silent = False

    def __init__(self, service: Service) -> None:
        super().__init__(int(service.url.rsplit(":", 1)[1]))

    @override
    def _answer(self, server: socket.socket, client: socket.socket) -> None:
        try:
            while data := server.recv(65_536):
                if not self.is_silent:
                    client.sendall(data)
        except OSError:
            pass


def denied(request: httpx.Request) -> httpx.Response | None:
    """Refuses the token of whatever is written."""
    problem = {"code": "unauthenticated", "detail": "the token has expired"}
    return httpx.Response(401, json=problem) if request.method == "PUT" else None


async def test_a_lease_that_the_token_cannot_renew_any_more_ends_the_block(
    async_chat: AsyncChat, async_faults: AsyncFaults
) -> None:
    started = time.monotonic()
    with pytest.raises(Fenced, match="is lost: unauthenticated: the token has expired") as fenced:
        async with async_chat.lease("worker-1", ttl=2):
            async_faults.fault = denied
            await asyncio.sleep(30)
    assert time.monotonic() - started < 1.5
    assert fenced.value.code == "unauthenticated"


def test_a_lease_that_the_token_cannot_renew_any_more_is_lost(chat: Chat, faults: Faults) -> None:
    with pytest.raises(Fenced, match="unauthenticated"):
        with chat.lease("worker-1", ttl=0.6):
            faults.fault = denied
            time.sleep(1)


@pytest.mark.parametrize("retry_for", [0, 60])
async def test_a_lease_that_was_not_renewed_for_its_ttl_ends_the_block(service: Service, app: str, retry_for: float) -> None:
    async with httpx.AsyncClient(transport=AsyncFaults()) as http:
        faults = http._transport
        assert isinstance(faults, AsyncFaults)
        chat = await AsyncReprise(service.url, app, http=http, retry_for=retry_for).create_chat("Picnic")
        started = time.monotonic()
        with pytest.raises(Fenced, match=r"was not renewed for 1\.2 s: .*refused by the test"):
            async with chat.lease("worker-1", ttl=1.2):
                faults.fault = refused("PUT", "/lease/")
                await asyncio.sleep(30)
        assert 0.8 < time.monotonic() - started < 1.6


@pytest.mark.parametrize("connections", [httpx.AsyncClient, AiohttpClient])
async def test_a_lease_whose_renewal_gets_no_answer_ends_the_block(
    service: Service, app: str, connections: type[httpx.AsyncClient]
) -> None:
    line = SilentLine(service)
    async with connections(timeout=30) as http:
        chat = await AsyncReprise(line.url, app, http=http).create_chat("Picnic")
        started = time.monotonic()
        with pytest.raises(Fenced, match=r"was not renewed for 1\.2 s"):
            async with chat.lease("worker-1", ttl=1.2):
                line.is_silent = True
                await asyncio.sleep(30)
        assert 0.8 < time.monotonic() - started < 1.6
    line.close()


def test_a_block_does_not_wait_long_for_a_renewal_that_gets_no_answer(service: Service, app: str) -> None:
    line = SilentLine(service)
    chat = Reprise(line.url, app).create_chat("Picnic")
    started = time.monotonic()
    with pytest.raises(Fenced, match=r"was not renewed for 1\.2 s"):
        with chat.lease("worker-1", ttl=1.2):
            line.is_silent = True
            time.sleep(1)
    assert 0.8 < time.monotonic() - started < 1.8
    line.close()


def stand_still() -> None:
    """Keeps the event loop from running for longer than the lease lasts."""
    time.sleep(0.7)


async def test_a_block_that_stood_still_for_its_ttl_notices_at_its_end_that_the_lease_is_lost(
    service: Service, app: str, async_chat: AsyncChat
) -> None:
    with Reprise(service.url, app) as other:
        chat = other.chat(async_chat.chat_id)
        with pytest.raises(Fenced):
            async with async_chat.lease("worker-1", ttl=0.5):
                stand_still()
                chat.lease("worker-2").acquire()


async def test_a_block_that_stood_still_keeps_a_lease_that_no_other_worker_has(async_chat: AsyncChat) -> None:
    # From a running chat, the service itself removes an expired lease within seconds.
    await async_chat.pause()
    async with async_chat.lease("worker-1", ttl=0.5):
        stand_still()
