"""Bodies that parsers take differently, or that cost more than they weigh."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from operations import Operation
from service import Service, problem
from world import World

JSON = {"content-type": "application/json"}
BOMB = zlib.compress(bytes(20_000_000))
#: Where a body has a value of any form: the method, the path and a body around the value.
PLACES: dict[str, tuple[str, str, Callable[[str], str]]] = {
    "message": ("POST", "{chat}/messages", lambda it: f'{{"role":"user","content":{it}}}'),
    "metadata": ("POST", "{chat}/messages", lambda it: f'{{"role":"user","content":"x","metadata":{{"a":{it}}}}}'),
    "initial": ("POST", "{chat}/initial-messages", lambda it: f'{{"messages":[{{"role":"user","content":{it}}}]}}'),
    "edit": ("PATCH", "{chat}/messages/0", lambda it: f'{{"content":{it}}}'),
    "transcript": (
        "PUT",
        "{chat}/transcript?dialect=openai",
        lambda it: f'{{"messages":[{{"role":"user","content":"x","a":{it}}}]}}',
    ),
    "context": ("PUT", "{chat}/context", lambda it: f'{{"a":{it}}}'),
    "merge": ("PATCH", "{chat}/context", lambda it: f'{{"a":{it}}}'),
    "artifact": ("PUT", "{chat}/artifact", lambda it: f'{{"ui_tool_id":"t","payload":{it}}}'),
    "turn": ("POST", "{chat}/turns", lambda it: f'{{"outcome":"completed","messages":[{{"role":"user","content":{it}}}]}}'),
    "tool run": ("POST", "{chat}/tool-runs", lambda it: f'{{"tool_name":"t","result":{it}}}'),
    "question": ("POST", "{chat}/input-requests", lambda it: f'{{"prompt":"?","metadata":{{"a":{it}}}}}'),
    "answer": ("POST", "{chat}/input-requests/q1/answer", lambda it: f'{{"content":"x","tool_call":{{"id":{it}}}}}'),
    "stream": ("POST", "{chat}/streams/{stream}/chunks", lambda it: f'{{"from":1,"chunks":[{it}]}}'),
    "exchange": (
        "POST",
        "{chat}/exchanges",
        lambda it: f'{{"messages":[{{"role":"user","content":{it}}}],"call":{{"call_id":"x","requested_model":"m"}}}}',
    ),
    "chat": ("PATCH", "{chat}", lambda it: f'{{"metadata":{{"a":{it}}}}}'),
    "assistant": ("PUT", "/api/assistants/{app}/a", lambda it: f'{{"name":"x","config":{{"a":{it}}}}}'),
    "yao": (
        "POST",
        "/yao/{app}/v1/chat/sessions/{id}/messages",
        lambda it: f'{{"messages":[{{"message_id":"x","type":"text","props":{{"a":{it}}}}}]}}',
    ),
    "chatsg": (
        "POST",
        "/chatsg/{app}/api/chats/{id}/messages",
        lambda it: f'{{"messages":[{{"type":"user","content":{it}}}]}}',
    ),
    "discobot": (
        "POST",
        "/discobot/{app}/sessions/{id}/chat",
        lambda it: f'{{"messages":[{{"id":"u","role":"user","parts":[{{"a":{it}}}]}}]}}',
    ),
    "hecate": (
        "POST",
        "/hecate/{app}/v1/chat/sessions/{id}/record",
        lambda it: f'{{"request_id":"r","messages":[{{"role":"user","content":{it}}}]}}',
    ),
    "mozaiks": (
        "POST",
        "/mozaiks/api/ui-tool/submit",
        lambda it: f'{{"event_id":"q1","app_id":"{{app}}","response_data":{it}}}',
    ),
}
#: Values that cannot be kept as they are, and what the answer calls them.
REFUSED = {
    "an integer beyond 64 bits": "18446744073709551616",
    "an integer beyond signed 64 bits": "9223372036854775808",
    "an integer below signed 64 bits": "-9223372036854775809",
    "thirty digits": "123456789012345678901234567890",
    "a number beyond doubles": "1e400",
    "NaN": "NaN",
    "Infinity": "Infinity",
    "minus Infinity": "-Infinity",
    "a leading zero": "01",
    "hexadecimal": "0x10",
    "half of a character": '"\\ud800"',
    "the other half of a character": '"\\udc00"',
    "half of a character in a key": '{"\\ud83d":1}',
    "a key given twice": '{"a":1,"a":2}',
    "a key given twice by an escape": '{"a":1,"\\u0061":2}',
    "NUL in a key": '{"a\\u0000b":1}',
    "nesting of 65": "[" * 65 + "]" * 65,
    "a comment": "1/* */",
    "a trailing comma": "[1,]",
    "a raw line in a text": '"a\nb"',
    "a raw byte that is not UTF-8": '"\udcff"',
}


def sent(world: World, place: str, value: str) -> httpx.Response:
    method, path, body = PLACES[place]
    path = path.format(chat=world.path, app=world.app, id=world.chat, stream=world.stream)
    content = body(value).replace("{app}", world.app).encode(errors="surrogateescape")
    return world.orchestrator.request(method, path, content=content, headers=JSON)


@pytest.mark.parametrize("place", PLACES, ids=lambda it: it.replace(" ", "-"))
def test_json_that_would_change_is_refused(world: World, place: str) -> None:
    before = world.fingerprint()
    for name, value in REFUSED.items():
        if place == "stream" and name in ("NUL in a key", "nesting of 65"):
            # Chunks are kept as texts.
            continue
        refused = sent(world, place, value)
        if place == "chatsg" and refused.status_code == 200:
            # This original answers for each message.
            assert refused.json()["savedMessages"] == 0 and refused.json()["errors"], (name, refused.text)
            continue
        assert refused.status_code in (400, 413, 422), (name, refused.status_code, refused.text)
        assert "malformed-json" in refused.text or "invalid-request" in refused.text, (name, refused.text)
    assert world.fingerprint() == before


@pytest.mark.parametrize(
    "value", ["9223372036854775807", "-9223372036854775808", "1.5", "5e-324", "1e308", "-0.0", "[" * 55 + "]" * 55]
)
def test_numbers_at_the_edge_come_back_as_they_were(world: World, value: str) -> None:
    for place in "message", "context", "artifact", "tool run":
        assert sent(world, place, value).is_success, place
    sequence = world.orchestrator.get(world.path).json()["last_sequence"] - 1
    for path, names in (
        (f"/messages/{sequence}", ("content",)),
        ("/context", ("context_snapshot", "a")),
        ("/artifact", ("last_artifact", "payload")),
        ("/tool-runs?limit=1", ("data", 0, "result")),
    ):
        read: Any = world.orchestrator.get(world.path + path).json()
        for name in names:
            read = read[name]
        assert json.dumps(read) == json.dumps(json.loads(value)), path


def test_a_nesting_bomb_does_no_harm(service: Service, world: World, api: list[Operation]) -> None:
    before = world.fingerprint()
    service.forget_peak()
    memory = service.peak_memory()
    for bomb in b"[" * 2_000_000, b'{"a":' * 400_000, b'{"a":[' * 300_000:
        for operation in api:
            if operation.takes_json and operation.id in ("append_messages", "replace_context", "append_turn", "create_chat"):
                refused = world.orchestrator.request(operation.method, operation.at(**world.ids), content=bomb, headers=JSON)
                assert problem(refused) == (422, "invalid-request") or problem(refused) == (400, "malformed-json")
    assert service.peak_memory() - memory < 60_000_000
    assert world.fingerprint() == before


@pytest.mark.parametrize("body", ["{}", '{"role":"user","content":""}', "0", "null"], ids=str)
def test_a_body_of_very_many_small_messages_takes_bounded_memory(service: Service, world: World, body: str) -> None:
    many = b'{"messages":[' + b",".join([body.encode()] * (8_000_000 // (len(body) + 1))) + b"]}"
    before = world.fingerprint()
    service.forget_peak()
    memory = service.peak_memory()
    # Also for a chat that does not exist, and one of others.
    for path in world.path, f"/api/chats/{world.app}/missing":
        refused = world.orchestrator.post(f"{path}/messages", content=many, headers=JSON)
        assert refused.status_code in (404, 413, 422), refused.text[:300]
        assert refused.elapsed.total_seconds() < 5
    assert service.peak_memory() - memory < 3 * len(many) + 20_000_000
    assert world.fingerprint() == before


def test_a_list_of_very_many_items_takes_bounded_memory(service: Service, world: World) -> None:
    before = world.fingerprint()
    service.forget_peak()
    memory = service.peak_memory()
    for item in b"0", b"{}", b'""', b"[]", b'{"":0}':
        many = b'{"a":[' + b",".join([item] * (6_000_000 // (len(item) + 1))) + b"]}"
        refused = world.orchestrator.put(f"{world.path}/context", content=many, headers=JSON)
        assert problem(refused)[0] in (413, 422), refused.text[:300]
    assert service.peak_memory() - memory < 60_000_000
    assert world.fingerprint() == before


def test_a_body_beyond_the_limit_is_refused(service: Service, world: World, api: list[Operation]) -> None:
    before, tried = world.fingerprint(), 0
    body = b'{"a":"' + b"x" * (16 * 1024 * 1024) + b'"}'

    def in_pieces() -> Any:
        for start in range(0, len(body), 1_000_000):
            yield body[start : start + 1_000_000]

    for operation in api:
        if operation.id in ("append_messages", "replace_context", "put_document", "append_turn", "put_transcript"):
            for content in body, in_pieces():
                try:
                    refused = world.orchestrator.request(
                        operation.method, operation.at(**world.ids), content=content, headers=JSON
                    )
                except httpx.TransportError:
                    # The service has closed the connection before all was sent.
                    continue
                assert problem(refused)[0] == 413, operation.id
                tried += 1
    assert tried >= 3
    assert world.fingerprint() == before


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "identity, gzip", "chunked"])
def test_a_compressed_body_is_refused(service: Service, world: World, api: list[Operation], encoding: str) -> None:
    bomb = BOMB
    before = world.fingerprint()
    service.forget_peak()
    memory = service.peak_memory()
    headers = {**JSON, "content-encoding": encoding}
    for operation in api:
        if operation.media_types and operation.permission != "administer":
            refused = world.orchestrator.request(operation.method, operation.at(**world.ids), content=bomb, headers=headers)
            assert problem(refused) == (415, "unsupported-media-type"), (operation.id, refused.text)
    assert service.peak_memory() - memory < 20_000_000
    assert world.fingerprint() == before


@pytest.mark.parametrize(
    "media_type",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/xml",
        "",
        "text/json",
        "application/json, text/plain",
    ],
)
def test_a_body_of_another_type_is_refused(world: World, api: list[Operation], media_type: str) -> None:
    """Pages of other sites can send such bodies without asking first."""
    before, tried = world.fingerprint(), 0
    for operation in api:
        if not operation.takes_json or operation.permission == "administer" or "octet" in str(operation.media_types):
            continue
        content = json.dumps(operation.body).encode()
        headers = {"content-type": media_type} if media_type else {}
        refused = world.orchestrator.request(operation.method, operation.at(**world.ids), content=content, headers=headers)
        assert problem(refused) == (415, "unsupported-media-type"), (operation.id, refused.text)
        tried += 1
    assert tried > 40
    assert world.fingerprint() == before


def test_names_that_deceive_readers_are_refused(world: World) -> None:
    before = world.fingerprint()
    client, path = world.orchestrator, world.path
    for text in (
        "a\u202eb",
        "a\u200bb",
        "\ufeffa",
        "a\u2066b",
        " a",
        "a ",
        "a\u00a0",
        "a\0",
        "a\nb",
        "a\x1b[31m",
        "a\x9bb",
        "a" * 129,
        "\u3164",
    ):
        for method, place, body in (
            ("POST", f"/api/chats/{world.app}", {"workflow_name": text}),
            ("POST", f"/api/chats/{world.app}", {"workflow_name": "w", "user_id": text}),
            ("POST", f"/api/chats/{world.app}", {"workflow_name": "w", "chat_id": text}),
            ("POST", f"{path}/messages", {"role": text, "content": "x"}),
            ("POST", f"{path}/messages", {"role": "user", "name": text, "content": "x"}),
            ("POST", f"{path}/messages", {"role": "user", "event_id": text, "content": "x"}),
            ("POST", f"{path}/calls", {"requested_model": text}),
            ("POST", f"{path}/tool-runs", {"tool_name": text}),
            ("POST", f"{path}/input-requests", {"prompt": "?", "agent": text}),
            ("POST", f"{path}/participants", {"user_id": "x", "display_name": text}),
            ("POST", f"{path}/lease", {"owner": text}),
            ("POST", f"{path}/streams", {"format": "text", "agent": text}),
            ("POST", f"/api/wallets/{world.app}/alice/credit", {"entry_id": text, "amount": 1, "reason": "x"}),
        ):
            refused = client.request(method, place, json=body)
            assert problem(refused) == (422, "invalid-request"), (place, body, refused.text)
    assert world.fingerprint() == before


def test_an_idempotency_key_is_checked_like_the_id_that_it_stands_for(world: World) -> None:
    client, path = world.orchestrator, world.path
    before = world.fingerprint()
    message = {"role": "user", "content": "x"}
    for key in "a" * 129, "a" * 6000, "", "a\tb", '{"$ne":1}' + "\u00e9":
        headers = {"idempotency-key": key.encode()}
        refused = client.post(f"{path}/messages", json=message, headers=headers)
        assert refused.status_code in (400, 422, 431), (key[:20], refused.text)
    twice = client.post(f"{path}/messages", json={**message, "event_id": "own"}, headers={"idempotency-key": "other"})
    assert problem(twice) == (422, "invalid-request")
    # The id of a message of another body, and of another person.
    taken = client.post(f"{path}/messages", json={**message, "event_id": "evt-0"})
    assert problem(taken) == (409, "event-conflict")
    taken = client.post(f"{path}/messages", json=message, headers={"idempotency-key": "evt-0"})
    assert problem(taken) == (409, "event-conflict")
    batch = [{**message, "event_id": "new"}, {**message, "event_id": "evt-0"}]
    assert problem(client.post(f"{path}/messages", json={"messages": batch})) == (409, "event-conflict")
    assert world.fingerprint() == before
