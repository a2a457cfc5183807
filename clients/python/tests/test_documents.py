"""Documents: content under a path. Nearly all is tested without asyncio; the other client is made of the same lines."""

from __future__ import annotations

import gzip
import threading
from typing import Any

import httpx
import pytest

from reprise import AsyncReprise, InvalidRequest, InvalidValue, NotFound, PreconditionFailed, Reprise
from reprise._documents import content_of

from .conftest import Line, Service

MIB = 1024 * 1024


@pytest.fixture
def client(service: Service, app: str) -> Reprise:
    return Reprise(service.url, app)


def test_content_comes_back_as_it_was_given(client: Reprise) -> None:
    documents = client.documents
    head = documents.put("notes/lake", {"b": 1, "a": [None, "ü"]})
    assert (head.path, head.content_type, head.size) == ("notes/lake", "application/json", 23)
    assert documents.read("notes/lake").json() == {"b": 1, "a": [None, "ü"]}
    for content, kind in ((b"\x00\xff", "application/octet-stream"), ("Grüße", "text/plain; charset=utf-8")):
        documents.put("notes/lake", content)
        found = documents.read("notes/lake")
        assert (found.content_type, found.data) == (kind, content if isinstance(content, bytes) else content.encode())
    assert documents.read("notes/lake").text == "Grüße"
    documents.put("notes/lake", b"")
    assert documents.read("notes/lake").data == b""
    documents.put("a b/ü?#%/x", b"1", content_type="image/png")
    assert documents.read("a b/ü?#%/x").content_type == "image/png"


def test_a_document_that_is_missing_is_not_found(client: Reprise) -> None:
    for call in (client.documents.read, client.documents.head):
        with pytest.raises(NotFound):
            call("nothing")
    client.documents.delete("nothing")
    with pytest.raises(InvalidRequest):
        client.documents.put("a//b", b"1")
    with pytest.raises(ValueError):
        client.documents.put("a/../b", b"1")


def test_a_value_that_json_does_not_have_is_refused(client: Reprise) -> None:
    documents = client.documents
    for write in (documents.put, documents.append):
        for value in (float("nan"), "a\ud83d"):
            with pytest.raises(InvalidValue, match=r"^/places/0: "):
                write("notes/lake", {"places": [value]})
        with pytest.raises(InvalidValue, match=r"^the body: "):
            write("notes/lake", "a\ud83d")
        with pytest.raises(InvalidValue, match=r"^path: "):
            write("notes/\ud83d", b"")
    assert list(documents.list()) == []


def test_a_write_with_a_condition_that_fails_changes_nothing(client: Reprise) -> None:
    documents = client.documents
    first = documents.put("notes/lake", b"1", if_none_match="*")
    with pytest.raises(PreconditionFailed):
        documents.put("notes/lake", b"2", if_none_match="*")
    second = documents.put("notes/lake", b"2", if_match=first.entity_tag)
    assert documents.head("notes/lake").entity_tag == second.entity_tag != first.entity_tag
    with pytest.raises(PreconditionFailed):
        documents.put("notes/lake", b"3", if_match=first.entity_tag)
    with pytest.raises(PreconditionFailed):
        documents.delete("notes/lake", if_match=first.entity_tag)
    assert documents.read("notes/lake").data == b"2"
    documents.delete("notes/lake", if_match=second.entity_tag)
    with pytest.raises(NotFound):
        documents.read("notes/lake")


def test_appends_say_where_they_are_and_may_ask_for_it(client: Reprise) -> None:
    documents = client.documents
    assert [documents.append("log", part).offset for part in (b"one", b"two")] == [0, 3]
    with pytest.raises(PreconditionFailed):
        documents.append("log", b"x", offset=3)
    appended = documents.append("log", b"three", offset=6)
    assert appended.size == 11
    with pytest.raises(PreconditionFailed):
        documents.append("log", b"x", if_match="other")
    assert documents.head("log").entity_tag == appended.entity_tag
    assert documents.read("log").data == b"onetwothree"
    found = documents.read_range("log", 3, 6)
    assert (found.data, found.start, found.end, found.size) == (b"two", 3, 6, 11)
    assert documents.read_range("log", 6).data == b"three"
    for behind in (11, 50):
        assert (documents.read_range("log", behind).data, documents.read_range("log", behind).size) == (b"", 11)


def test_a_long_document_is_read_in_parts(client: Reprise) -> None:
    parts = [bytes([number]) * (7 * MIB) for number in range(3)]
    for part in parts:
        client.documents.append("long", part)
    found = client.documents.read("long")
    assert (found.data, found.size) == (b"".join(parts), 21 * MIB)
    assert client.documents.head("long").size == 21 * MIB
    assert client.documents.read_range("long", 2 * MIB, 20 * MIB).data == found.data[2 * MIB : 20 * MIB]


def test_a_long_document_is_read_while_it_grows(client: Reprise, monkeypatch: pytest.MonkeyPatch) -> None:
    documents = client.documents
    begun = b"a" * (7 * MIB)
    for _ in range(2):
        documents.append("growing", begun)
    read_part = type(documents)._read_part

    def appended_to(*arguments: Any) -> Any:
        documents.append("growing", b"more")
        return read_part(*arguments)

    monkeypatch.setattr(type(documents), "_read_part", appended_to)
    found = documents.read("growing")
    assert (found.size, found.data[: 14 * MIB], found.data[14 * MIB :]) == (14 * MIB + 4, 2 * begun, b"more")


def test_a_range_without_bytes_is_empty(client: Reprise) -> None:
    documents = client.documents
    documents.put("digits", "0123456789")
    for start, end in ((5, 5), (5, 3), (0, 0), (10, 10), (12, 14), (10, None)):
        found = documents.read_range("digits", start, end)
        assert (found.data, found.start, found.size) == (b"", start, 10)
        assert found.content_type == "text/plain; charset=utf-8"
    with pytest.raises(ValueError, match="negative"):
        documents.read_range("digits", -3)
    documents.put("empty", "")
    assert (documents.read("empty").data, documents.read("empty").content_type) == (b"", "text/plain; charset=utf-8")


def test_lists_have_whole_segments_in_order_and_their_contents_if_asked_for(client: Reprise) -> None:
    documents = client.documents
    for path in ("a/b/1", "a/b/2", "a/bc/3", "a/4"):
        documents.put(path, {"path": path})
    documents.put("a/b/bytes", b"\x00")
    documents.put("a/b/large", b"1" * (MIB + 1))
    documents.put("a/b", b"itself")
    assert [document.path for document in documents.list("a/b", page_size=1)] == ["a/b/1", "a/b/2", "a/b/bytes", "a/b/large"]
    assert [document.has_content for document in documents.list("a/b")] == [False] * 4
    one, two, data, large = documents.list("a/b", content=True)
    assert (one.parsed(), two.parsed()) == ({"path": "a/b/1"}, {"path": "a/b/2"})
    assert (data.data, large.has_content) == (b"\x00", False)
    assert len(list(documents.list())) == 7
    assert list(documents.namespaces(page_size=1)) == ["a"]
    assert list(documents.namespaces("a", page_size=1)) == ["a/b", "a/bc"]


def test_values_are_listed_however_large_without_those_that_are_deleted_meanwhile(client: Reprise) -> None:
    documents = client.documents
    large = "1" * (MIB + 1)
    for name in ("1", "2", "3"):
        documents.put(f"a/{name}", {"of": name, "large": large})
    documents.put("a/4", {"of": "4"})
    found: list[str] = []
    for document, value in documents.list_values("a"):
        found.append(value["of"])
        assert document.path == f"a/{value['of']}"
        # The page that names it was read before.
        documents.delete("a/2")
    assert found == ["1", "3", "4"]


def test_everything_below_a_namespace_is_deleted(client: Reprise) -> None:
    for number in range(12):
        client.documents.put(f"a/b/{number}", b"1")
    for kept in ("a/b", "a/bc"):
        client.documents.put(kept, b"1")
    assert client.documents.delete_all("a/b") == 12
    assert [document.path for document in client.documents.list("a")] == ["a/b", "a/bc"]


def test_a_write_whose_answer_is_lost_is_stored_once(line: Line, app: str) -> None:
    documents = Reprise(line.url, app).documents
    for number in range(6):
        line.lost_answers = number % 3
        assert documents.append("log", str(number)).offset == number
    line.lost_answers = 1
    head = documents.put("log", b"whole", if_match=documents.head("log").entity_tag)
    line.lost_answers = 1
    assert documents.append("log", b"!", offset=5).offset == 5
    assert documents.read("log").data == b"whole!"
    assert head.version == 7


def test_several_writers_lose_nothing(client: Reprise) -> None:
    def write(name: str) -> None:
        for number in range(20):
            client.documents.append("log", f"{name}{number};")

    writers = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    entries = client.documents.read("log").text.split(";")[:-1]
    for name in "abcd":
        assert [entry for entry in entries if entry[0] == name] == [f"{name}{number}" for number in range(20)]


async def test_the_same_is_there_with_asyncio(service: Service, app: str) -> None:
    async with AsyncReprise(service.url, app) as client:
        documents = client.documents
        await documents.put("a/b", {"x": 1})
        await documents.append("a/c", "text")
        assert [document.path async for document in documents.list("a", content=True)] == ["a/b", "a/c"]
        assert [namespace async for namespace in documents.namespaces()] == ["a"]
        assert (await documents.read_range("a/c", 1, 3)).text == "ex"
        assert (await documents.head("a/c")).size == 4
        assert await documents.delete_all("a") == 2


async def test_changes_of_documents_are_told_across_broken_connections(service: Service, line: Line, app: str) -> None:
    async with AsyncReprise(service.url, app) as client, AsyncReprise(line.url, app) as broken:
        events = aiter(broken.documents.events("a"))
        assert (await anext(events)).name == "resync"
        await client.documents.put("a/b", "1")
        await client.documents.put("b", "1")
        event = await anext(events)
        assert (event.name, event.data) == ("changed", {"path": "a/b", "version": 1})
        line.hang_up()
        await client.documents.append("a/b", "2")
        await client.documents.delete("a/b")
        told = [await anext(events), await anext(events)]
        assert [event.name for event in told] == ["changed", "deleted"]
        assert told[0].data == {"path": "a/b", "version": 2}


def test_the_size_of_a_document_is_not_that_of_its_compressed_answer() -> None:
    packed = gzip.compress(b"x" * 10_000)
    headers = {"content-encoding": "gzip", "content-length": str(len(packed)), "content-type": "text/plain"}
    content = content_of(httpx.Response(200, headers=headers, content=packed), start=0)
    assert (content.size, len(content.data)) == (10_000, 10_000)
