"""What is wrong with an argument is said with its name, before anything is sent."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

import pytest

from reprise import AsyncReprise, InvalidValue, NotFound, Reprise
from reprise.stores.langchain import RepriseChatMessageHistory
from reprise.stores.openai_agents import RepriseSession
from reprise.stores.pydantic_ai import RepriseMessageHistory

from .conftest import Service

NONE: Any = None
TEXT: Any = "hello"


@pytest.fixture
def client(service: Service, app: str) -> Reprise:
    return Reprise(service.url, app)


def test_records_that_are_no_dictionaries_are_named(client: Reprise) -> None:
    chat = client.create_chat("Picnic")
    hello = {"role": "user", "name": "user", "content": "Hello"}
    with pytest.raises(TypeError, match=r"^/messages/1: pass a dictionary, not a str"):
        chat.append(hello, TEXT)
    with pytest.raises(TypeError, match=r"^/calls/0: pass a dictionary, not a str"):
        chat.record_calls([TEXT])
    assert list(chat.messages()) == []


@pytest.mark.parametrize("value", [datetime(2026, 1, 1), b"x", {1, 2}, object()])
def test_a_value_that_is_none_of_json_is_named(client: Reprise, value: object) -> None:
    kind = type(value).__name__
    chat = client.create_chat("Picnic")
    with pytest.raises(TypeError, match=rf"^/messages/0/content/a/1: a {kind} is no value of JSON"):
        chat.append({"role": "user", "content": {"a": [1, value]}})
    with pytest.raises(TypeError, match=r"^/lake \(a name of a field\): a tuple is no value of JSON"):
        client.documents.put("notes", {"lake": {("a", "b"): 3}})


@pytest.mark.parametrize("name", [1, -2.5, 1e300, True, None])
def test_a_name_that_is_no_text_is_named(client: Reprise, name: object) -> None:
    chat = client.create_chat("Picnic")
    said = re.escape(f"(a name of a field): {name!r} is no text")
    with pytest.raises(InvalidValue, match=rf"^/messages/0/content/a~1b/1 {said}"):
        chat.append({"role": "user", "content": {"a/b": ["c", {"d": 1, name: 2}]}})
    with pytest.raises(InvalidValue, match=rf"^/metadata {said}"):
        chat.update(metadata={name: 1})
    with pytest.raises(InvalidValue, match=rf"^{said}"):
        client.documents.put("notes", {name: 1})
    assert (list(chat.messages()), list(client.documents.list())) == ([], [])


def test_names_and_texts_that_look_like_numbers_are_stored_as_they_are(client: Reprise) -> None:
    content = {"1": {"true": [{"null": '"1":'}]}, "-2.5e3": '{"1":2}'}
    client.documents.put("notes", content)
    assert client.documents.read("notes").json() == content


async def test_items_that_are_no_dictionaries_are_named() -> None:
    async with AsyncReprise("http://127.0.0.1:9", "acme_corp", retry_for=0) as client:
        with pytest.raises(TypeError, match=r"^/items/0: pass a dictionary, not a str"):
            await RepriseSession("user-123", client=client).add_items([TEXT])


async def test_an_id_that_is_no_text_is_named() -> None:
    async with AsyncReprise("http://127.0.0.1:9", "acme_corp") as client:
        for make in (RepriseSession, RepriseMessageHistory):
            with pytest.raises(TypeError, match=r"^session_id: pass a text, not a NoneType"):
                make(NONE, client=client)
        with pytest.raises(TypeError, match=r"^session_id: pass a text, not a NoneType"):
            RepriseChatMessageHistory(NONE, async_client=client)


def test_an_id_that_is_empty_is_named() -> None:
    with pytest.raises(ValueError, match=r"^app_id: pass a text that is not empty"):
        Reprise("http://127.0.0.1:9", "")
    with pytest.raises(TypeError, match=r"^app_id: pass a text, not a NoneType"):
        Reprise("http://127.0.0.1:9", NONE)
    with Reprise("http://127.0.0.1:9", "acme_corp") as client:
        with pytest.raises(ValueError, match=r"^chat_id: pass a text that is not empty"):
            client.chat("")
        with pytest.raises(ValueError, match="an empty segment"):
            client.ensure_chat("", "Picnic")
        for call in (client.documents.head, client.documents.read, client.documents.delete):
            with pytest.raises(InvalidValue, match=r"^path: "):
                call("")
        with pytest.raises(InvalidValue, match=r"^path: "):
            client.documents.put("", b"")


def test_a_head_that_is_refused_says_why(client: Reprise) -> None:
    with pytest.raises(NotFound, match="notes/lake") as missing:
        client.documents.head("notes/lake")
    assert missing.value.code == "document-not-found"
    client.documents.put("notes/lake", b"abc")
    assert client.documents.head("notes/lake").size == 3


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_bytes_of_any_class_are_a_content(client: Reprise, kind: Any) -> None:
    client.documents.put("notes/lake", kind(b"\x00a"))
    client.documents.append("notes/lake", kind(b"b"))
    found = client.documents.read("notes/lake")
    assert (found.data, found.content_type) == (b"\x00ab", "application/octet-stream")
