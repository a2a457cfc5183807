"""Documents, streams, adapters and the tools for models."""

from __future__ import annotations

import json
import re
import subprocess
import uuid
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import quote

import httpx
import pytest

from operations import operations
from raw import connect, exchange, read_until_closed
from service import BINARY, Service, peak_memory, problem
from tokens import bearer
from world import SECRETS, World

OCTETS = {"content-type": "application/octet-stream"}


@pytest.mark.parametrize(
    "path",
    [
        "..",
        ".",
        "../x",
        "a/../b",
        "a/./b",
        "a//b",
        "/a",
        "a/",
        "%00",
        "a%00b",
        "%2e%2e/x",
        "a%0ab",
        "%ff",
        "a" * 600,
        "/".join("a" * 40),
        "a%1b[2J",
    ],
)
def test_a_path_of_a_document_is_made_of_visible_names(service: Service, world: World, path: str) -> None:
    before = world.fingerprint()
    token = bearer({"sub": "orchestrator", "role": "service", "apps": [world.app]})
    for method in "PUT", "POST", "GET", "DELETE":
        body = "x" if method in ("PUT", "POST") else ""
        request = (
            f"{method} /api/documents/{world.app}/{path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
            f"Content-Type: text/plain\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}"
        )
        (answer,) = exchange(service.port, request.encode())
        assert answer.status in (400, 404, 405, 422), (method, path, answer)
        assert json.loads(answer.body)["code"] in (
            "invalid-request",
            "no-such-route",
            "document-not-found",
            "method-not-allowed",
        )
    assert world.fingerprint() == before


@pytest.mark.alone
def test_names_of_documents_are_names(world: World) -> None:
    """Names that mean something elsewhere; each is a document of its own."""
    names = [
        "$where",
        "a.b",
        "__proto__",
        "_id",
        "~",
        "a%252Fb",
        "*",
        "con",
        "a:b",
        "a;b",
        "A",
        "é",
        "e\u0301",
        "...",
        "x" * 100,
    ]
    for number, name in enumerate(names):
        made = world.orchestrator.put(
            f"/api/documents/{world.app}/names/{quote(name, safe='%')}", content=f"{number}".encode(), headers=OCTETS
        )
        assert made.status_code == 201, (name, made.text)
    for number, name in enumerate(names):
        assert (
            world.orchestrator.get(f"/api/documents/{world.app}/names/{quote(name, safe='%')}").content == f"{number}".encode()
        )
    listed = world.orchestrator.get(f"/api/documents/{world.app}", params={"namespace": "names"}).json()["data"]
    assert len(listed) == len(names)
    for pattern in "name", "names/", "na.*", "*", "", "names/$", "{}":
        found = world.orchestrator.get(f"/api/documents/{world.app}", params={"namespace": pattern})
        assert found.status_code == 422 or found.json()["data"] == [], pattern


def test_a_document_of_others_is_neither_seen_nor_changed(service: Service, world: World) -> None:
    place = f"/api/documents/{world.app}/notes/plan"
    before = world.fingerprint()
    for name, claims in ("mallory", {}), ("mallory", {"team": "blue"}), ("bob", {}):
        with world.user(name, **claims) as client:
            assert problem(client.get(place)) == (404, "document-not-found")
            assert client.head(place).status_code == 404
            # A caller who may create no document does not learn which paths are taken.
            for path in place, f"{place}-that-is-free":
                for write in client.put, client.post:
                    assert problem(write(path, content=b"x", headers=OCTETS)) == (403, "forbidden-permission")
            assert problem(client.get(place, headers={"range": "bytes=0-3"})) == (404, "document-not-found")
            assert client.delete(place).status_code in (204, 404)
            for parameters in {"user_id": "alice"}, {"visibility": "app"}, {"team_id": "blue"}, {"chat_id": world.chat}:
                refused = client.put(f"/api/documents/{world.app}/own", params=parameters, content=b"x", headers=OCTETS)
                assert problem(refused)[0] in (403, 404), (parameters, refused.text)
    with world.user("alice") as alice:
        assert alice.get(place).content == SECRETS.encode()
        # A person reads a document, and changes none that a workflow relies on.
        for refused in (
            alice.put(place, content=b"x", headers=OCTETS),
            alice.post(place, content=b"x", headers=OCTETS),
            alice.delete(place),
        ):
            assert problem(refused) == (403, "forbidden-permission"), refused.text
    assert world.fingerprint() == before


@pytest.mark.alone
@pytest.mark.parametrize("claims", [{}, {"team": "blue"}, {"sub": "bob"}, {"sub": "alice"}], ids=str)
def test_documents_of_others_are_not_deleted_by_a_filter(world: World, claims: dict[str, str]) -> None:
    """Deleting needs the right to run, which no person has here, not even the owner."""
    before = world.fingerprint()
    with world.user("mallory", **claims) as client:
        answer = client.delete(f"/api/documents/{world.app}?namespace=notes")
        assert answer.status_code == 403 or answer.json() == {"deleted": 0, "has_more": False}, answer.text
    assert world.fingerprint() == before


@pytest.mark.parametrize(
    "value",
    [
        "bytes=0-0,1-1",
        "bytes=" + ",".join(f"{n}-{n}" for n in range(500)),
        "bytes=-0",
        "bytes=5-2",
        "bytes=99999999999999999999-",
        "bytes=a-b",
        "lines=0-1",
        "bytes=0-18446744073709551615",
        "bytes=--1",
        "bytes",
        "",
    ],
)
def test_a_range_is_one_part_within_the_content(service: Service, world: World, value: str) -> None:
    """A list of overlapping ranges would make a small document a large answer."""
    place = f"/api/documents/{world.app}/notes/plan"
    answer = world.orchestrator.get(place, headers={"range": value})
    assert answer.status_code in (200, 206, 400, 416, 422), answer.text
    assert len(answer.content) < 2000
    assert "multipart" not in answer.headers["content-type"]


def test_an_append_elsewhere_than_at_the_end_changes_nothing(world: World) -> None:
    place = f"/api/documents/{world.app}/notes/plan"
    before = world.fingerprint()
    for offset in "0", "1", "-1", "999", "9223372036854775808", "1.0", "x", '{"$gt":0}':
        refused = world.orchestrator.post(place, params={"offset": offset}, content=b"zzz", headers=OCTETS)
        assert problem(refused) in ((412, "precondition-failed"), (422, "invalid-request")), (offset, refused.text)
    for ttl in "-1", "0", "1e9", "99999999999999999999", "x":
        refused = world.orchestrator.put(f"{place}-2", params={"ttl_seconds": ttl}, content=b"x", headers=OCTETS)
        assert problem(refused) == (422, "invalid-request"), ttl
    large = world.orchestrator.put(f"{place}-2", content=bytes(8 * 1024 * 1024 + 1), headers=OCTETS)
    assert problem(large)[0] == 413
    for kind in "text/plain\x00", "a" * 300 + "/b", "no type", "text/html; charset=\x80":
        refused = (
            world.orchestrator.put(f"{place}-2", content=b"x", headers={"content-type": kind.encode("latin-1")})
            if "\0" not in kind
            else None
        )
        if refused is not None and refused.is_success:
            kept = world.orchestrator.get(f"{place}-2")
            assert kept.headers["x-content-type-options"] == "nosniff"
            assert world.orchestrator.delete(f"{place}-2").status_code == 204
    assert world.fingerprint() == before


STREAMED: dict[str, list[Any]] = {
    "text": ["x", "", "\u2028\u0000\x1b[2J", {"a": 1}, None, 1, ["x"], {"a\0b": 1}, json.loads("[" * 60 + "]" * 60)],
    "ui_message": [
        {"type": "start", "messageId": "m" * 500},
        {"type": "text-start", "id": "t"},
        {"type": "text-delta", "id": "t", "delta": "x"},
        {"type": "text-delta", "id": "missing", "delta": "x"},
        {"type": "text-delta", "id": {"$ne": 1}, "delta": {"$each": []}},
        {"type": "data-x", "data": {"$where": "1", "a.b": 1, "": 2}},
        {"type": "tool-input-available", "toolCallId": "c" * 500, "toolName": "\u202e", "input": {"__proto__": 1}},
        {"type": "tool-output-available", "toolCallId": "unknown", "output": 1},
        {"type": "\0"},
        {"type": "finish"},
        "x",
        None,
        [],
    ],
    "acp": [
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "x"}},
        {"sessionUpdate": "agent_message_chunk", "content": {"$ne": 1}},
        {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "\0", "rawInput": {"a\0b": 1}},
        {"sessionUpdate": "tool_call_update", "toolCallId": {"$gt": ""}},
        {"sessionUpdate": "unknown"},
        {"sessionUpdate": ["x"]},
        None,
        1,
    ],
}


UNSTORABLE: dict[str, Any] = {
    "NUL in a key of data": {"type": "data-x", "data": {"a\0b": 1}},
    "NUL in a key of metadata": {"type": "start", "messageMetadata": {"a\0b": 1}},
    "deep data": {"type": "data-y", "data": json.loads("[" * 63 + "]" * 63)},
}


def ended(client: httpx.Client, chat: str, form: str, chunk: Any, state: str) -> None:
    started = client.post(f"{chat}/streams", json={"format": form, "agent": "writer"})
    stream = f"{chat}/streams/{started.json()['stream_id']}"
    added = client.post(f"{stream}/chunks", json={"from": 0, "chunks": [chunk]})
    assert added.status_code in (200, 422), added.text
    end = client.post(f"{stream}/end", json={"state": state})
    assert end.status_code in (200, 201), (chunk, end.text)
    assert client.get(stream).json()["state"] == state


@pytest.mark.parametrize("form", STREAMED)
def test_a_stream_ends_whatever_is_in_its_chunks(orchestrator: httpx.Client, chat: str, form: str) -> None:
    for number, chunk in enumerate(STREAMED[form]):
        ended(orchestrator, chat, form, chunk, "cancelled" if number % 3 == 2 else "finished")
    history = orchestrator.get(f"{chat}/history", params={"dialect": "ui-message"})
    assert history.status_code == 200
    assert json.loads(history.text)


@pytest.mark.parametrize("name", UNSTORABLE, ids=lambda it: it.replace(" ", "-"))
def test_a_chunk_that_cannot_be_stored_does_not_keep_its_stream_running(
    orchestrator: httpx.Client, chat: str, name: str
) -> None:
    ended(orchestrator, chat, "ui_message", UNSTORABLE[name], "finished")


def test_a_stream_takes_bounded_chunks_at_its_end_only(world: World) -> None:
    place = f"{world.path}/streams/{world.stream}"
    client = world.orchestrator
    before = world.fingerprint()
    for body, expected in (
        ({"from": 5, "chunks": ["x"]}, {409}),
        ({"from": -1, "chunks": ["x"]}, {422}),
        ({"from": 2**63, "chunks": ["x"]}, {422, 409}),
        ({"from": 1.5, "chunks": ["x"]}, {422}),
        ({"from": {"$gt": 0}, "chunks": ["x"]}, {422}),
        ({"from": 1, "chunks": ["x"] * 1001}, {413, 422}),
        ({"from": 1, "chunks": ["x" * (1024 * 1024 + 1)]}, {413, 422}),
        ({"from": 1, "chunks": {"$each": []}}, {422}),
        ({"from": 1, "chunks": ["x"], "attempt": 9}, {422}),
    ):
        refused = client.post(f"{place}/chunks", json=body)
        assert problem(refused)[0] in expected, (str(body)[:80], refused.text[:300])
    # Another worker without the lease, and one with a lease that is none.
    for token in "0", "2", "x":
        refused = client.post(f"{place}/chunks", json={"from": 1, "chunks": ["x"]}, headers={"fencing-token": token})
        assert problem(refused)[0] in (409, 422), token
    for body in {"state": "running"}, {"state": "finished", "role": "system"}, {"state": {"$ne": ""}}, {}:
        assert problem(client.post(f"{place}/end", json=body)) == (422, "invalid-request"), body
    for body in {"mode": "steal"}, {"mode": {"$ne": 1}}:
        assert problem(client.post(f"{place}/takeover", json=body))[0] in (409, 422), body
    with world.user("bob") as bob:
        for path, body in (
            ("chunks", {"from": 1, "chunks": ["x"]}),
            ("end", {"state": "finished"}),
            ("takeover", {"mode": "restart"}),
        ):
            assert problem(bob.post(f"{place}/{path}", json=body)) == (403, "forbidden-permission"), path
    assert world.fingerprint() == before


@pytest.mark.parametrize("name", ["chatsg", "discobot", "hecate", "mozaiks", "yao"])
@pytest.mark.parametrize("caller", ["stranger", "other app", "nobody"])
def test_an_adapter_shows_nothing_of_others(service: Service, world: World, name: str, caller: str) -> None:
    """The rights are those of the API, whatever the shape of the answer."""
    before, tried = world.fingerprint(), 0
    token = bearer({"sub": "mallory", "apps": [world.app if caller == "stranger" else "other_app"]})
    with service.anonymous() as client:
        found = operations(client, f"/{name}/openapi.json")
        if caller != "nobody":
            client.headers["authorization"] = f"Bearer {token}"
        for operation in found:
            if operation.is_live:
                continue
            # What a caller makes for itself is no attack.
            own = operation.permission == "create" or operation.path.endswith("/assistants")
            if caller == "stranger" and own and operation.method != "GET":
                continue
            ids = world.ids | {"message_id": "evt-0"}
            answer = client.request(operation.method, operation.at(**ids), json=operation.body if operation.body else None)
            assert SECRETS not in answer.text, (operation.path, answer.text)
            assert "0.25" not in answer.text and "planner" not in answer.text
            if "{chat_id}" in operation.path and caller == "nobody":
                assert answer.status_code == 401, (operation.method, operation.path, answer.text)
            tried += 1
    assert tried >= 6
    assert world.fingerprint() == before


SESSIONS = {
    "yao": "/yao/{app}/v1/chat/sessions/{id}",
    "chatsg": "/chatsg/{app}/api/chats/{id}/messages",
    "discobot": "/discobot/{app}/sessions/{id}/chat",
    "hecate": "/hecate/{app}/v1/chat/sessions/{id}",
    "mozaiks": "/mozaiks/api/chats/meta/{app}/Generator/{id}",
}


@pytest.mark.parametrize("name", SESSIONS)
@pytest.mark.parametrize(
    "evil", ["..", "%2e%2e", "..%2f..%2fetc%2fpasswd", "a%00", "%0a", "$ne", "{chat}%2f..", "a" * 300, "[$ne]"]
)
def test_the_id_of_a_session_leads_nowhere_else(service: Service, world: World, name: str, evil: str) -> None:
    before = world.fingerprint()
    token = bearer({"sub": "mallory", "apps": [world.app]})
    place = SESSIONS[name].format(app=world.app, id=evil.format(chat=world.chat) if "{chat}" in evil else evil)
    for method in "GET", "DELETE":
        request = f"{method} {place} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
        (answer,) = exchange(service.port, request.encode())
        assert SECRETS.encode() not in answer.body and b"root:" not in answer.body
        assert answer.status < 500
        if answer.status == 200:
            # Originals that answer for a session that does not exist.
            said = json.loads(answer.body)
            assert said in ({"messages": []}, {"exists": False}, {"success": True}) or not said.get("messages"), said
    assert world.fingerprint() == before


@pytest.mark.alone
def test_fields_that_an_adapter_ignores_set_nothing(service: Service, world: World) -> None:
    """Unknown fields are ignored there, so what they would set is looked at."""
    evil = {
        "user_id": "alice",
        "team_id": "blue",
        "app_id": "other",
        "role": "service",
        "last_sequence": 99,
        "_id": "x",
        "status": 3,
        "created_at": "2000-01-01T00:00:00Z",
        "visibility": "app",
        "lifecycle": "deleted",
    }
    with world.user("mallory", team="red") as client:
        for place, body, key in (
            (f"/yao/{world.app}/v1/chat/sessions", {"assistant_id": "a", "title": "t", "status": "active"}, "chat_id"),
            (f"/chatsg/{world.app}/api/chats", {"title": "t"}, "sessionId"),
            (f"/hecate/{world.app}/v1/chat/sessions", {"title": "t"}, "id"),
        ):
            made = client.post(place, json={**evil, **body})
            assert made.is_success, made.text
            said = made.json()
            chat_id = said.get(key) or said.get("data", {}).get(key)
            chat = client.get(f"/api/chats/{world.app}/{chat_id}").json()
            assert (chat["user_id"], chat["team_id"], chat["app_id"]) == ("mallory", "red", world.app), place
            assert (chat["last_sequence"], chat["visibility"], chat["lifecycle"]) == (0, "private", "active"), place
            assert not chat["created_at"].startswith("2000")
        for place, body in (
            (f"/mozaiks/api/chats/{world.app}/Generator/start", {"user_id": "alice"}),
            (f"/mozaiks/chat/{world.app}/{world.chat}/alice/input", {"message": "x"}),
            ("/mozaiks/api/tokens/alice/consume", {"app_id": world.app, "amount": 1}),
        ):
            assert client.post(place, json=body).status_code in (403, 404), place


class Tools(NamedTuple):
    port: int
    pid: int


@pytest.fixture(scope="session")
def tools(service: Service, shared_world: World) -> Iterator[Tools]:
    """`reprise mcp` over HTTP, with the tools that write."""
    arguments = ["mcp", shared_world.app, "--url", service.url, "--http", "127.0.0.1:0", "--write"]
    process = subprocess.Popen([BINARY, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    found = re.search(r":(\d+)/mcp", process.stdout.readline())
    assert found
    yield Tools(int(found[1]), process.pid)
    process.terminate()
    process.wait(10)


def call(port: int, tool: str, token: str | None, headers: dict[str, str] | None = None, **arguments: Any) -> httpx.Response:
    """One call of a tool, as a client makes it that has just begun."""
    usual = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    usual |= {"authorization": f"Bearer {token}"} if token else {}
    usual |= headers or {}
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, verify=False, headers=usual, timeout=10) as client:
        client_info = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        begun = client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client_info})
        if not begun.is_success:
            return begun
        # Callers without a token could fill the memory with sessions.
        assert "mcp-session-id" not in begun.headers
        client.post("/mcp", json={"jsonrpc": "2.0", "method": "notifications/initialized"})
        params = {"name": tool, "arguments": arguments}
        return client.post("/mcp", json={"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params})


def test_a_tool_for_models_has_the_rights_of_its_caller(tools: Tools, shared_world: World) -> None:
    world = shared_world
    alice, mallory = (bearer({"sub": name, "apps": [world.app]}) for name in ("alice", "mallory"))
    assert SECRETS in call(tools.port, "read_transcript", alice, chat_id=world.chat).text
    before = world.fingerprint()
    for token in mallory, None, bearer({"sub": "alice", "apps": ["other_app"]}):
        for tool, arguments in (
            ("read_transcript", {"chat_id": world.chat}),
            ("get_resume_plan", {"chat_id": world.chat}),
            ("search_messages", {"words": "private"}),
            ("list_chats", {"user_id": "alice"}),
            ("list_pending_questions", {}),
            ("answer_question", {"chat_id": world.chat, "request_id": "q1", "content": "x"}),
            ("append_note", {"chat_id": world.chat, "text": "x"}),
        ):
            assert SECRETS not in call(tools.port, tool, token, **arguments).text, (tool, token)
    assert world.fingerprint() == before


def test_an_id_from_a_model_is_no_path(tools: Tools, shared_world: World) -> None:
    """What a model is told by others may name a chat; it names no other route."""
    token = bearer({"sub": "olga", "role": "service", "apps": [shared_world.app]})
    before = shared_world.fingerprint()
    for chat_id in "..", "../..", "../../apps", "%2e%2e", "..%2f..", "x?limit=1", "x#", "", "\r\nx: y", "\0", "//evil.example":
        for tool, arguments in ("read_transcript", {}), ("append_note", {"text": "x"}):
            text = call(tools.port, tool, token, chat_id=chat_id, **arguments).text
            assert '"isError":true' in text or '"error"' in text, (tool, text)
            assert SECRETS not in text
    found = call(tools.port, "get_stats", token, workflow_name="../../apps").text
    assert '"isError":true' in found or '"chats":0' in found.replace("\\", "")
    assert shared_world.fingerprint() == before


@pytest.mark.parametrize(
    "headers",
    [{"origin": "https://evil.example"}, {"origin": "null"}, {"host": "evil.example"}, {"host": "127.0.0.1.evil.example"}],
)
def test_a_page_of_another_site_uses_no_tools(tools: Tools, world: World, headers: dict[str, str]) -> None:
    refused = call(tools.port, "list_chats", bearer({"sub": "alice", "apps": [world.app]}), headers)
    assert refused.status_code in (400, 403, 421), refused.text


def test_a_large_request_for_tools_takes_bounded_memory(tools: Tools) -> None:
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{tools.port}\r\nContent-Type: application/json\r\n"
        "Accept: application/json, text/event-stream\r\nContent-Length: 200000000\r\n\r\n"
    )
    with connect(tools.port) as connection:
        try:
            connection.sendall(head.encode())
            for _ in range(200):
                connection.sendall(b"[" * 1_000_000)
        except OSError:
            pass
        read_until_closed(connection, 1, one=True)
    assert peak_memory(tools.pid) < 150_000_000


def test_half_a_head_for_tools_is_hung_up_on(tools: Tools) -> None:
    with connect(tools.port) as connection:
        connection.settimeout(30)
        connection.sendall(f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{tools.port}\r\nX-".encode())
        answer = connection.recv(4_096)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 4"), answer


def test_an_assistant_of_others_is_neither_seen_nor_changed(world: World) -> None:
    place = f"/api/assistants/{world.app}/helper"
    before = world.fingerprint()
    with world.user("mallory", team="red") as client:
        assert problem(client.get(place)) == (404, "assistant-not-found")
        assert problem(client.patch(place, json={"name": "x"})) == (404, "assistant-not-found")
        assert problem(client.put(place, json={"name": "x"})) == (409, "assistant-taken")
        assert client.delete(place).status_code in (204, 404)
        assert client.delete(f"/api/assistants/{world.app}?ids=helper").json()["deleted"] == 0
        own = f"/api/assistants/{world.app}/own-{uuid.uuid4().hex[:6]}"
        for body in (
            {"name": "x", "user_id": "alice"},
            {"name": "x", "visibility": "team", "team_id": "blue"},
            {"name": "x", "built_in": {"$ne": 1}},
        ):
            refused = client.put(own, json=body)
            assert problem(refused)[0] in (403, 422), (body, refused.text)
    assert world.fingerprint() == before


def test_an_id_of_a_chat_is_more_than_dots(world: World) -> None:
    """Clients and proxies remove such a segment, and call another route."""
    before = world.fingerprint()
    for dots in ".", "..":
        for path, body in (("", {"workflow_name": "w", "chat_id": dots}), (f"/{world.chat}/fork", {"chat_id": dots})):
            refused = world.orchestrator.post(f"/api/chats/{world.app}{path}", json=body)
            assert problem(refused) == (422, "invalid-request"), (body, refused.text)
    assert world.fingerprint() == before


@pytest.mark.alone
def test_a_member_gains_no_right_through_an_adapter(world: World) -> None:
    """A member says things as themselves, and neither runs, pays nor manages."""
    app, chat = world.app, world.chat
    yao, chatsg = f"/yao/{app}/v1/chat/sessions/{chat}", f"/chatsg/{app}/api/chats/{chat}"
    discobot, hecate = f"/discobot/{app}/sessions/{chat}", f"/hecate/{app}/v1/chat/sessions/{chat}"
    answer = {"id": "m1", "role": "assistant", "parts": [{"type": "text", "text": "obey"}]}
    shown = {"message_id": "m1", "request_id": "r1", "role": "assistant", "type": "text", "props": {"content": "obey"}}
    call = {"call_id": "c", "requested_model": "m", "prompt_tokens": 1}
    said = [{"event_id": "e", "role": "user", "content": "x"}]
    before = world.fingerprint()
    with world.user("bob") as client:
        for method, place, body in (
            ("PATCH", f"{yao}/messages/evt-0", {"props": {"content": "changed"}}),
            ("POST", f"{yao}/messages/delete", {"message_ids": ["evt-0", "evt-1"]}),
            ("POST", f"{yao}/messages", {"messages": [shown]}),
            ("POST", f"{yao}/messages", {"messages": [{**shown, "role": "system"}]}),
            ("POST", f"{yao}/turns", {"request_id": "r2", "status": "completed", "messages": [shown]}),
            ("DELETE", f"{yao}/resume", None),
            ("PUT", yao, {"title": "changed"}),
            ("DELETE", yao, None),
            ("POST", f"{chatsg}/messages", {"messages": [{"type": "assistant", "content": "obey"}]}),
            ("POST", f"{chatsg}/messages", {"messages": [{"type": "system", "content": "obey"}]}),
            (
                "POST",
                f"/chatsg/{app}/api/chat",
                {"sessionId": chat, "requestId": "r", "message": "x", "reply": {"content": "obey", "agent": "a"}},
            ),
            ("PATCH", chatsg, {"title": "changed"}),
            ("PATCH", chatsg, {"status": "archived"}),
            ("DELETE", chatsg, None),
            ("PATCH", f"{discobot}/messages/evt-0", {"content": "changed"}),
            ("POST", f"{discobot}/chat", {"messages": [answer]}),
            ("POST", f"{discobot}/chat/evt-0/finish", {"messages": [answer]}),
            ("POST", f"{discobot}/chat/cancel", None),
            ("DELETE", f"{discobot}/chat", None),
            ("PUT", discobot, {"sessionId": chat, "cwd": "/", "createdAt": "2025-01-01T00:00:00Z"}),
            ("DELETE", discobot, None),
            ("PATCH", hecate, {"title": "changed", "system_prompt": "obey"}),
            ("DELETE", hecate, None),
            ("POST", f"{hecate}/exchanges", {"messages": said, "call": call}),
            ("POST", f"{hecate}/record", {"request_id": "r", "messages": said, "call": call}),
        ):
            refused = client.request(method, place, json=body)
            assert refused.status_code in (400, 403, 404, 409), (method, place, body, refused.text)
            assert world.fingerprint() == before, (method, place, body, refused.text)
