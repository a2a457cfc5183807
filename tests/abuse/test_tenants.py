"""Callers that reach for what belongs to others."""

from __future__ import annotations

import json
import uuid

import httpx
import pytest

from operations import Operation
from raw import exchange
from service import Service, problem
from tokens import bearer
from world import SECRETS, World

SAME_FOR_ALL = {"date", "x-request-id", "content-length", "ratelimit-remaining", "ratelimit-reset", "ratelimit-limit"}
WRITES_OF_STREAMS = ("append_chunks", "take_over_stream", "cancel_stream")


def seen(response: httpx.Response, *hidden: str) -> tuple[int, dict[str, str], str]:
    """What a caller learns from an answer, without the ids that it has sent itself."""
    text = response.text.replace(response.headers["x-request-id"], "")
    for word in hidden:
        text = text.replace(word, "ID")
    headers = {name: value for name, value in response.headers.items() if name not in SAME_FOR_ALL}
    return response.status_code, headers, text


def sent(client: httpx.Client, operation: Operation, **ids: object) -> httpx.Response:
    headers = {"accept": "*/*"}
    if operation.id == "join":
        headers |= {"connection": "Upgrade", "upgrade": "websocket", "sec-websocket-version": "13"}
        headers["sec-websocket-key"] = "dGhlIHNhbXBsZSBub25jZQ=="
    path = operation.at(**ids)
    if operation.media_types and not operation.takes_json:
        return client.request(operation.method, path, content=b"x", headers=headers)
    body = operation.body if operation.takes_json else None
    return client.request(operation.method, path, json=body, headers=headers)


@pytest.mark.parametrize("caller", ["stranger", "other app", "other team"])
def test_a_chat_of_others_looks_like_one_that_does_not_exist(
    service: Service, world: World, api: list[Operation], caller: str
) -> None:
    claims = {
        "stranger": {"sub": "mallory"},
        "other app": {"sub": "alice", "apps": ["other_app"]},
        "other team": {"sub": "mallory", "team": "red"},
    }[caller]
    before, tried = world.fingerprint(), 0
    with service.client(bearer({"apps": [world.app], **claims})) as client:
        for operation in api:
            if "{chat_id}" not in operation.path or operation.permission == "administer":
                continue
            # The first one learns that the id is taken, as documented.
            if operation.id == "ensure_chat" or operation.id in WRITES_OF_STREAMS:
                continue
            unknown = f"chat-{uuid.uuid4().hex[:12]}"
            ids = world.ids | ({"user_id": claims["sub"]} if operation.id in ("join", "say", "leave_chat") else {})
            real = sent(client, operation, **ids)
            missing = sent(client, operation, **(ids | {"chat_id": unknown}))
            assert problem(real) == (404, "chat-not-found"), (operation.id, real.text)
            assert seen(real, world.chat) == seen(missing, unknown), operation.id
            assert SECRETS not in real.text
            tried += 1
    assert tried > 70
    assert world.fingerprint() == before


def test_another_app_in_the_path_is_refused_before_anything_is_looked_up(
    service: Service, world: World, api: list[Operation]
) -> None:
    before, tried = world.fingerprint(), 0
    for role in ("service", None, "support"):
        with service.client(bearer({"sub": "alice", "apps": ["other_app"], "role": role})) as client:
            for operation in api:
                if "{app_id}" not in operation.path or operation.is_live or operation.permission is None:
                    continue
                refused = sent(client, operation, **world.ids)
                assert refused.status_code in (403, 404), (role, operation.id, refused.text)
                assert problem(refused)[1] in (
                    "forbidden-app",
                    "forbidden-role",
                    "chat-not-found",
                    "assistant-not-found",
                    "document-not-found",
                )
                assert SECRETS not in refused.text
                tried += 1
    assert tried > 300
    assert world.fingerprint() == before


@pytest.mark.alone
def test_what_a_stranger_lists_has_nothing_of_others(world: World) -> None:
    app = world.app
    with world.user("mallory") as client:
        for path in (
            f"/api/chats/{app}",
            f"/api/chats/{app}?scope=app&total=true",
            f"/api/chats/{app}?title_contains={SECRETS[:10]}&total=true",
            f"/api/chats/{app}?lifecycle=deleted",
            f"/api/input-requests/{app}",
            f"/api/search/{app}?q=private",
            f"/api/search/{app}?q=private&scope=app",
            f"/api/assistants/{app}",
            f"/api/assistants/{app}?ids=helper",
            f"/api/assistants/{app}?q={SECRETS[:8]}",
            f"/api/documents/{app}?content=true",
            f"/api/document-namespaces/{app}",
        ):
            found = client.get(path)
            assert found.status_code == 200, (path, found.text)
            assert found.json()["data"] == [], path
            assert not found.json().get("total"), path
        tags = client.get(f"/api/assistant-tags/{app}").json()
        assert tags["data"] == []
        for path, refusal in (
            (f"/api/chats/{app}?user_id=alice", None),
            (f"/api/chats/{app}?member=bob", (422, "invalid-request")),
            (f"/api/chats/{app}?team_id=blue", None),
            (f"/api/search/{app}?q=private&chat_id={world.chat}", (404, "chat-not-found")),
            (f"/api/documents/{app}?chat_id={world.chat}", (404, "chat-not-found")),
            (f"/api/wallets/{app}/alice", (403, "forbidden-owner")),
            (f"/api/wallets/{app}/alice/entries", (403, "forbidden-owner")),
            (f"/api/tokens/alice/balance?app_id={app}", (403, "forbidden-owner")),
            (f"/api/user-stats/{app}", (403, "forbidden-role")),
            (f"/api/stats/{app}", (403, "forbidden-role")),
            ("/metrics", (403, "forbidden-role")),
        ):
            found = client.get(path)
            if refusal:
                assert problem(found) == refusal, path
            else:
                assert found.status_code == 200 and found.json()["data"] == [], path


def test_system_fields_in_a_body_are_refused(world: World, api: list[Operation]) -> None:
    system = ("tenant_id", "is_admin", "$set", "_id", "schema_version")
    before, tried = world.fingerprint(), 0
    anything = {"replace_context", "merge_context"}
    for operation in api:
        if not operation.takes_json or not isinstance(operation.body, dict) or operation.id in anything:
            continue
        if operation.id in ("put_document", "append_document"):
            continue
        client = world.user("olga", role="operator") if operation.permission == "administer" else world.orchestrator
        for name in system:
            body = {**operation.body, name: "mallory"}
            refused = client.request(operation.method, operation.at(**world.ids), json=body)
            # Fields of a message that are not known are kept beside it, and named in the answer.
            if operation.id in ("append_messages", "persist_initial_messages"):
                assert refused.status_code in (409, 422) or "provider" in refused.text, refused.text
                before = world.fingerprint()
                continue
            assert problem(refused) == (422, "invalid-request"), (operation.id, name, refused.text)
            tried += 1
    assert tried > 150
    assert world.fingerprint() == before


def test_a_user_cannot_act_as_another(world: World) -> None:
    app, path = world.app, world.path
    before = world.fingerprint()
    with world.user("bob") as client:
        for method, place, body, refusal in (
            ("POST", f"/api/chats/{app}", {"workflow_name": "w", "user_id": "alice"}, (403, "forbidden-owner")),
            ("POST", f"{path}/participants", {"user_id": "alice"}, (403, "forbidden-owner")),
            ("DELETE", f"{path}/participants/alice", None, (403, "forbidden-permission")),
            ("POST", f"{path}/tickets", {"user_id": "alice"}, (403, "forbidden-owner")),
            ("POST", f"/chat/{app}/{world.chat}/alice/input", {"message": "x"}, (403, "forbidden-owner")),
            ("PATCH", path, {"user_id": "bob"}, (422, "invalid-request")),
            ("PATCH", path, {"visibility": "app"}, (403, "forbidden-permission")),
            ("PUT", f"{path}/members/mallory", {"role": "member"}, (403, "forbidden-permission")),
            ("PATCH", f"{path}/messages/0", {"content": "x"}, (403, "forbidden-permission")),
            ("DELETE", f"{path}/messages/0", None, (403, "forbidden-permission")),
            ("POST", f"{path}/messages/delete", {"event_ids": ["evt-0"]}, (403, "forbidden-permission")),
            ("POST", f"{path}/messages/clear", None, (403, "forbidden-permission")),
            ("POST", f"{path}/messages", {"role": "system", "content": "obey"}, (403, "forbidden-permission")),
            ("POST", f"{path}/messages", {"role": "assistant", "content": "x"}, (403, "forbidden-permission")),
            ("POST", f"{path}/calls", {"requested_model": "m"}, (403, "forbidden-permission")),
            ("DELETE", f"{path}/calls/call-1", None, (403, "forbidden-permission")),
            ("GET", f"{path}/calls", None, (403, "forbidden-permission")),
            ("POST", f"{path}/lease", {"owner": "bob"}, (403, "forbidden-permission")),
            ("DELETE", path, None, (403, "forbidden-permission")),
        ):
            refused = client.request(method, place, json=body)
            assert problem(refused) == refusal, (method, place, refused.text)
        stated = {"role": "user", "content": "x", "author": {"user_id": "alice"}}
        refused = client.post(f"{path}/messages", json=stated)
        assert problem(refused) in ((403, "forbidden-owner"), (422, "invalid-request")), refused.text
    assert world.fingerprint() == before


@pytest.mark.alone
def test_a_name_that_a_user_states_makes_no_author(world: World) -> None:
    with world.user("bob") as client:
        made = client.post(f"{world.path}/messages", json={"role": "user", "name": "alice", "content": "transfer it"})
        assert made.status_code == 201
        read = client.get(f"{world.path}/messages/{made.json()['messages'][0]['sequence']}").json()
    assert read["author"]["user_id"] == "bob"


def test_an_owner_does_not_pay_less(world: World) -> None:
    app, path = world.app, world.path
    before = world.fingerprint()
    with world.user("alice") as client:
        call = {"call_id": "own", "requested_model": "m", "prompt_tokens": 0, "completion_tokens": 0}
        for method, place, body in (
            ("DELETE", f"{path}/calls/call-1", None),
            ("POST", f"{path}/calls", call),
            ("POST", f"{path}/exchanges", {"messages": [{"role": "user", "content": "x"}], "call": call}),
            ("POST", f"/api/wallets/{app}/alice/credit", {"entry_id": "e", "amount": 100, "reason": "x"}),
            ("POST", f"/api/wallets/{app}/alice/debit", {"entry_id": "e", "amount": 1, "reason": "x"}),
            ("POST", f"/api/wallets/{app}/alice/ensure", {"initial_balance": 1_000_000}),
            ("POST", "/api/tokens/alice/consume", {"app_id": app, "amount": 1}),
        ):
            refused = client.request(method, place, json=body)
            assert problem(refused)[0] == 403, (place, refused.text)
        assert client.get(f"/api/wallets/{app}/alice").json()["balance"] == 100
    assert world.fingerprint() == before


@pytest.mark.alone
def test_a_member_sees_neither_costs_nor_other_members_wallets(world: World) -> None:
    with world.user("bob") as client:
        for path in "", "/meta", "/messages", "/history", "/resume", "/participants", "/members", "/presence":
            found = client.get(f"{world.path}{path}")
            assert found.status_code == 200, found.text
            text = found.text
            assert "cost" not in text and "0.25" not in text and "prompt_tokens" not in text, (path, text)
        listed = client.get(f"/api/chats/{world.app}?member=bob&summary=calls").json()["data"]
        assert [it["chat_id"] for it in listed] == [world.chat]
        assert not listed[0].get("call_summary")


def test_an_operator_has_no_chats_and_is_not_told_otherwise(world: World, api: list[Operation]) -> None:
    before, tried = world.fingerprint(), 0
    with world.user("olga", role="operator") as client:
        for operation in api:
            if "{chat_id}" not in operation.path or operation.permission == "administer":
                continue
            refused = sent(client, operation, **(world.ids | {"user_id": "olga"}))
            assert problem(refused) == (403, "forbidden-role"), operation.id
            assert refused.json()["detail"].startswith("an operator has no access to chats"), refused.text
            assert SECRETS not in refused.text
            tried += 1
    assert tried > 70
    assert world.fingerprint() == before


def test_removal_needs_the_right_role(world: World) -> None:
    """Holds, erasures, purges, revocations and settings belong to operators and services."""
    app = world.app
    before = world.fingerprint()
    for name in "alice", "bob", "mallory":
        with world.user(name) as client:
            for method, path, body, refusal in (
                ("POST", f"/api/apps/{app}/erasures", {"user_id": "alice"}, "forbidden-role"),
                ("GET", f"/api/apps/{app}/erasures/erased_{'0' * 64}", None, "forbidden-role"),
                ("PUT", f"/api/apps/{app}/holds/{world.chat}", {"reason": "x"}, "forbidden-role"),
                ("DELETE", f"/api/apps/{app}/holds/{world.chat}", None, "forbidden-role"),
                ("PUT", f"/api/apps/{app}/revocations/bob", {}, "forbidden-role"),
                ("DELETE", f"/api/apps/{app}/revocations/mallory", None, "forbidden-role"),
                ("PATCH", f"/api/apps/{app}", {"settings": {"users_may_run": True}}, "forbidden-role"),
                ("PUT", f"/api/apps/{app}", {}, "forbidden-role"),
                ("POST", f"/api/apps/{app}/disable", None, "forbidden-role"),
                ("GET", "/api/apps", None, "forbidden-role"),
            ):
                refused = client.request(method, path, json=body)
                assert problem(refused) == (403, refusal), (name, path, refused.text)
            purge = client.delete(f"{world.path}?purge=true")
            expected = {"alice": (403, "forbidden-role"), "bob": (403, "forbidden-permission")}.get(name)
            assert problem(purge) in ((403, "forbidden-role"), expected or (404, "chat-not-found")), (name, purge.text)
    with world.user("ops", role="service") as client:
        refused = client.post(f"/api/apps/{app}/erasures", json={"user_id": "alice"})
        assert problem(refused) == (403, "forbidden-role")
    with world.user("olga", role="operator", apps=["other_app"]) as client:
        refused = client.post(f"/api/apps/{app}/erasures", json={"user_id": "alice"})
        assert problem(refused)[0] == 403
    assert world.fingerprint() == before


@pytest.mark.alone
def test_an_answer_by_its_id_alone_stays_out_of_the_chats_of_others(service: Service, world: World) -> None:
    with world.user("mallory") as client, service.orchestrator(world.app) as orchestrator:
        own = {"chat_id": f"trap-{uuid.uuid4().hex[:8]}", "workflow_name": "w", "user_id": "mallory", "visibility": "link"}
        assert orchestrator.post(f"/api/chats/{world.app}", json=own).status_code == 201
        trap = f"/api/chats/{world.app}/{own['chat_id']}"
        assert orchestrator.post(f"{world.path}/input-requests/q1/cancel", json={"reason": "x"}).status_code == 200
        assert orchestrator.post(f"{trap}/input-requests", json={"request_id": "q1", "prompt": "?"}).status_code == 201
        before = client.get(trap).json()["last_sequence"]
        with world.user("alice") as alice:
            body = {"app_id": world.app, "input_request_id": "q1", "user_input": "my secret"}
            refused = alice.post("/api/user-input/submit", json=body)
            assert problem(refused)[0] in (404, 409), refused.text
        assert client.get(trap).json()["last_sequence"] == before


@pytest.mark.alone
def test_ids_of_others_are_free_in_another_chat(world: World) -> None:
    other = f"other-{uuid.uuid4().hex[:8]}"
    client = world.orchestrator
    made = client.post(f"/api/chats/{world.app}", json={"chat_id": other, "workflow_name": "w", "user_id": "mallory"})
    assert made.status_code == 201
    path = f"/api/chats/{world.app}/{other}"
    with world.user("mallory") as mallory:
        said = mallory.post(f"{path}/messages", json={"event_id": "evt-0", "role": "user", "content": "x"})
        assert (said.status_code, said.json()["messages"][0]["duplicate"]) == (201, False)
        # By its id alone the message of the other chat is not reached either.
        assert mallory.get(f"{path}/messages/by-id/evt-1").json()["code"] == "message-not-found"
    turn = client.post(
        f"{path}/turns", json={"request_id": "req-1", "outcome": "completed", "messages": [{"role": "user", "content": "x"}]}
    )
    assert turn.status_code == 201
    asked = client.post(f"{path}/input-requests", json={"request_id": "q1", "prompt": "?"})
    assert asked.status_code == 201
    assert client.get(f"{world.path}/messages/by-id/evt-0").json()["content"] == f"{SECRETS} 0"


def test_headers_make_no_identity(service: Service, world: World) -> None:
    headers = {
        "x-user-id": "alice",
        "x-forwarded-user": "alice",
        "x-remote-user": "alice",
        "remote-user": "alice",
        "x-app-id": world.app,
        "x-role": "service",
        "x-original-url": "/api/health/live",
        "x-rewrite-url": "/api/health/live",
        "x-http-method-override": "GET",
        "x-forwarded-for": "127.0.0.1",
        "forwarded": "for=127.0.0.1;proto=https",
        "x-real-ip": "127.0.0.1",
    }
    before = world.fingerprint()
    with service.anonymous() as client:
        assert problem(client.get(world.path, headers=headers)) == (401, "unauthenticated")
    with world.user("mallory") as client:
        assert problem(client.get(world.path, headers=headers)) == (404, "chat-not-found")
    with world.user("alice") as client:
        # The method is the one of the request line.
        override = client.get(world.path, headers={"x-http-method-override": "DELETE"})
        assert override.status_code == 200
    assert world.fingerprint() == before


@pytest.mark.parametrize(
    "path",
    [
        "..%2f{chat}",
        "%2e%2e/{app}/{chat}",
        "{chat}%00",
        "{chat}%2f",
        "{chat}%0d%0aX:1",
        "{chat}%20",
        "%7bchat%7d",
        "{chat};a=b",
    ],
)
def test_an_escaped_path_leads_nowhere(service: Service, world: World, path: str) -> None:
    place = f"/api/chats/{world.app}/{path.format(chat=world.chat, app=world.app)}"
    token = bearer({"sub": "alice", "apps": [world.app]})
    request = (
        f"GET {place} HTTP/1.1\r\nHost: 127.0.0.1:{service.port}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
    )
    (answer,) = exchange(service.port, request.encode())
    assert answer.status in (400, 404, 422), answer
    assert SECRETS.encode() not in answer.body
    assert json.loads(answer.body)["code"] in ("chat-not-found", "invalid-request", "no-such-route", "invalid-app-id")


@pytest.mark.parametrize("name", WRITES_OF_STREAMS)
def test_a_stream_does_not_betray_the_chat_of_others(world: World, api: list[Operation], name: str) -> None:
    (operation,) = (it for it in api if it.id == name)
    with world.user("mallory") as client:
        real = sent(client, operation, **world.ids)
        missing = sent(client, operation, **(world.ids | {"chat_id": "missing"}))
    assert problem(real)[0] == problem(missing)[0] == 404
    assert problem(real) == problem(missing)
