"""Questions whose answer takes longer than the connections wait for the answer to one request."""

from __future__ import annotations

import threading
import time

import httpx
import pytest

from reprise import AsyncReprise, Chat, Reprise, models
from reprise.aiohttp import AiohttpClient

from .conftest import Service


def late(chat: Chat, seconds: float) -> None:
    threading.Timer(seconds, lambda: chat.answer("ask-1", "The big one")).start()


@pytest.mark.parametrize("given", [True, False])
def test_a_question_may_take_longer_than_a_request(service: Service, app: str, given: bool) -> None:
    http = httpx.Client(timeout=1.5) if given else None
    client = Reprise(service.url, app, http=http, timeout=1.5, retry_for=0)
    chat = client.create_chat("Picnic")
    late(Reprise(service.url, app).chat(chat.chat_id), 4)
    question = chat.ask("Which lake?", request_id="ask-1")
    assert question.answer is not None and question.answer.content == "The big one"


async def test_a_question_may_take_longer_than_a_request_of_aiohttp(service: Service, app: str) -> None:
    async with AiohttpClient(timeout=1.5) as http:
        chat = await AsyncReprise(service.url, app, http=http, retry_for=0).create_chat("Picnic")
        late(Reprise(service.url, app).chat(chat.chat_id), 4)
        question = await chat.ask("Which lake?", request_id="ask-1")
        assert question.answer is not None and question.answer.content == "The big one"


def test_a_question_is_pending_after_the_wait(service: Service, app: str) -> None:
    with Reprise(service.url, app, timeout=2, retry_for=0) as client:
        started = time.monotonic()
        assert client.create_chat("Picnic").ask("Which lake?", wait=5).state is models.InputState.pending
        assert 4.5 < time.monotonic() - started < 7


def test_connections_without_a_timeout_wait_as_long_as_others(service: Service, app: str) -> None:
    with httpx.Client(timeout=None) as http:
        assert Reprise(service.url, app, http=http).create_chat("Picnic").ask("Which?", wait=0.2).state.value == "pending"
