"""Leases whose requests fail, and how their blocks end."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest

from reprise import AsyncChat, AsyncReprise, Busy, Chat, Reprise, RepriseError

from .conftest import Service
from .faults import AsyncFaults, Faults


@pytest.fixture
def faults() -> Faults:
    return Faults()


@pytest.fixture
def chat(service: Service, app: str, faults: Faults) -> Iterator[Chat]:
    with httpx.Client(transport=faults) as http:
        yield Reprise(service.url, app, http=http, retry_for=0).create_chat("Picnic")


@pytest.fixture
def async_faults() -> AsyncFaults:
    return AsyncFaults()


@pytest.fixture
async def async_chat(service: Service, app: str, async_faults: AsyncFaults) -> AsyncIterator[AsyncChat]:
    async with httpx.AsyncClient(transport=async_faults) as http:
        yield await AsyncReprise(service.url, app, http=http, retry_for=0).create_chat("Picnic")


def page(_: httpx.Request) -> httpx.Response:
    """What a proxy may answer."""
    return httpx.Response(200, text="<html>")


def test_an_answer_that_is_not_json_is_an_error_of_the_client(chat: Chat, faults: Faults) -> None:
    faults.fault = page
    with pytest.raises(RepriseError, match="the response is not JSON") as failed:
        chat.get()
    assert failed.value.status == 200


def test_renewals_go_on_after_an_answer_that_is_not_json(chat: Chat, faults: Faults) -> None:
    answers = [page]
    faults.fault = lambda request: answers.pop()(request) if request.method == "PUT" and answers else None
    with chat.lease("worker-1", ttl=0.6):
        time.sleep(1.5)
        assert not answers
        with pytest.raises(Busy):
            chat.lease("worker-2").acquire()


async def test_renewals_go_on_after_an_answer_that_is_not_json_with_asyncio(
    async_chat: AsyncChat, async_faults: AsyncFaults
) -> None:
    answers = [page]
    async_faults.fault = lambda request: answers.pop()(request) if request.method == "PUT" and answers else None
    async with async_chat.lease("worker-1", ttl=0.6):
        await asyncio.sleep(1.5)
        assert not answers
        with pytest.raises(Busy):
            await async_chat.lease("worker-2").acquire()


@pytest.mark.parametrize("error", [RuntimeError, httpx.ConnectError])
def test_renewals_that_fail_are_logged_and_go_on(
    chat: Chat, faults: Faults, error: type[Exception], caplog: pytest.LogCaptureFixture
) -> None:
    errors = [error("no way"), error("no way")]

    def fault(request: httpx.Request) -> None:
        if request.method == "PUT" and errors:
            raise errors.pop()

    faults.fault = fault
    with chat.lease("worker-1", ttl=0.6):
        time.sleep(1.5)
        assert not errors
        with pytest.raises(Busy):
            chat.lease("worker-2").acquire()
    assert [record.levelno >= logging.WARNING for record in caplog.records if record.name.startswith("reprise")] == [True] * 2


@pytest.mark.parametrize("error", [RuntimeError, httpx.ConnectError])
async def test_renewals_that_fail_are_logged_and_go_on_with_asyncio(
    async_chat: AsyncChat, async_faults: AsyncFaults, error: type[Exception], caplog: pytest.LogCaptureFixture
) -> None:
    errors = [error("no way"), error("no way")]

    def fault(request: httpx.Request) -> None:
        if request.method == "PUT" and errors:
            raise errors.pop()

    async_faults.fault = fault
    async with async_chat.lease("worker-1", ttl=0.6):
        await asyncio.sleep(1.5)
        assert not errors
        with pytest.raises(Busy):
            await async_chat.lease("worker-2").acquire()
    assert [record.levelno >= logging.WARNING for record in caplog.records if record.name.startswith("reprise")] == [True] * 2
