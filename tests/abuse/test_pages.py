"""What pages of other sites may do with a browser, and what a browser makes of an answer."""

from __future__ import annotations

import json
import re
from urllib.parse import quote

import httpx
import pytest

from conftest import FRIEND
from operations import Operation, operations
from raw import exchange
from service import Service, problem
from tokens import bearer
from world import World

STRANGERS = [
    "https://evil.example",
    "null",
    "https://friend.example.evil.example",
    "https://evilfriend.example",
    "http://friend.example",
    "https://friend.example:444",
    "https://user@friend.example",
    "https://FRIEND.example/",
    "https://friend.example/path",
    "https://friend.example, https://evil.example",
    "file://",
    "*",
    "",
]


@pytest.mark.parametrize("origin", STRANGERS)
def test_a_page_of_another_origin_may_not_read(service: Service, world: World, origin: str) -> None:
    token = bearer({"sub": "alice", "apps": [world.app]})
    request = (
        f"GET {world.path} HTTP/1.1\r\nHost: 127.0.0.1:{service.port}\r\nAuthorization: Bearer {token}\r\n"
        f"Origin: {origin}\r\nConnection: close\r\n\r\n"
    )
    (answer,) = exchange(service.port, request.encode())
    assert "access-control-allow-origin" not in answer.head.lower(), answer.head
    assert "access-control-allow-credentials" not in answer.head.lower()
    preflight = (
        f"OPTIONS {world.path} HTTP/1.1\r\nHost: 127.0.0.1:{service.port}\r\nOrigin: {origin}\r\n"
        "Access-Control-Request-Method: DELETE\r\nAccess-Control-Request-Headers: authorization\r\nConnection: close\r\n\r\n"
    )
    (answer,) = exchange(service.port, preflight.encode())
    assert "access-control-allow-origin" not in answer.head.lower(), answer.head


def test_a_page_that_is_permitted_gets_no_cookies(service: Service, world: World) -> None:
    with world.user("alice") as client:
        response = client.get(world.path, headers={"origin": FRIEND})
    assert response.headers["access-control-allow-origin"] == FRIEND
    assert "access-control-allow-credentials" not in response.headers
    assert "origin" in response.headers["vary"]
    with service.anonymous() as client:
        headers = {"origin": FRIEND, "access-control-request-method": "GET", "access-control-request-private-network": "true"}
        preflight = client.options(world.path, headers=headers)
    assert "access-control-allow-private-network" not in preflight.headers


@pytest.mark.parametrize("origin", STRANGERS)
def test_a_page_of_another_origin_opens_no_socket(service: Service, world: World, origin: str) -> None:
    token = bearer({"sub": "alice", "apps": [world.app]})
    request = (
        f"GET /ws/Generator/{world.app}/{world.chat}/alice HTTP/1.1\r\nHost: 127.0.0.1:{service.port}\r\n"
        f"Authorization: Bearer {token}\r\nOrigin: {origin}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    (answer,) = exchange(service.port, request.encode(), one=True)
    assert (answer.status, json.loads(answer.body)["code"]) == (403, "forbidden-origin")


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "0.0.0.0", "169.254.169.254", "[::ffff:1.2.3.4]", ""],
)
def test_a_rebound_host_name_is_refused_without_authentication(unguarded: Service, host: str) -> None:
    """A page of a site whose name leads to this machine would have every right."""
    for place in host, f"{host}:{unguarded.port}":
        request = f"GET /api/chats/acme_corp HTTP/1.1\r\nHost: {place}\r\nConnection: close\r\n\r\n"
        (answer,) = exchange(unguarded.port, request.encode())
        assert answer.status in (400, 403), (place, answer)
        assert b'"data"' not in answer.body


def test_a_page_of_another_site_changes_nothing_without_authentication(unguarded: Service, app: str) -> None:
    """Such a page can send these without asking first."""
    with unguarded.anonymous() as client:
        for headers in (
            {"origin": "https://evil.example", "content-type": "application/json"},
            {"origin": "null", "content-type": "text/plain"},
            {"origin": "https://evil.example"},
        ):
            for method, path, body in (
                ("POST", f"/api/chats/{app}", b'{"workflow_name":"w"}'),
                ("PUT", f"/api/documents/{app}/x", b"x"),
                ("POST", f"/api/documents/{app}/x", b"x"),
                ("POST", f"/yao/{app}/v1/chat/sessions", b'{"assistant_id":"a"}'),
            ):
                refused = client.request(method, path, content=body, headers=headers)
                assert refused.status_code in (403, 404, 415), (headers, path, refused.text)
        assert client.get(f"/api/chats/{app}").json()["data"] == []
        assert client.get(f"/api/documents/{app}").json()["data"] == []


@pytest.mark.alone
def test_no_answer_runs_in_the_origin_of_the_service(service: Service, world: World, api: list[Operation]) -> None:
    script = "<script>alert(document.domain)</script>"
    client = world.orchestrator
    client.post(f"{world.path}/messages", json={"role": "user", "content": script}).raise_for_status()
    client.patch(world.path, json={"title": script}).raise_for_status()
    for media_type in (
        "text/html",
        "image/svg+xml",
        "application/xhtml+xml",
        "text/xml",
        "application/pdf",
        "text/javascript",
        "multipart/x-mixed-replace",
    ):
        path = f"/api/documents/{world.app}/page"
        client.put(path, content=script.encode(), headers={"content-type": media_type}).raise_for_status()
        page = client.get(path)
        assert "sandbox" in page.headers["content-security-policy"], media_type
        assert "allow-" not in page.headers["content-security-policy"]
        assert page.headers["x-content-type-options"] == "nosniff"
    for operation in api:
        if operation.method != "GET" or operation.is_live or operation.id in ("begin_sign_in", "finish_sign_in"):
            continue
        answer = client.get(operation.at(**world.ids))
        assert answer.headers["x-content-type-options"] == "nosniff", operation.id
        assert "default-src 'none'" in answer.headers["content-security-policy"], operation.id
        assert not answer.headers.get("content-type", "").startswith("text/html"), operation.id
    with service.anonymous() as anonymous:
        for path in (
            f"/api/chats/{quote(script)}",
            f"/{quote(script)}",
            f"/problems/{quote(script)}",
            f"/chat/{quote(script)}/x",
            f"/chat/a/{quote(script)}",
            f"/dashboard/{quote(script)}",
        ):
            assert "<script>alert" not in anonymous.get(path, follow_redirects=True).text, path


def test_the_dashboard_may_load_from_its_service_only(service: Service) -> None:
    with service.anonymous() as client:
        page = client.get("/dashboard", follow_redirects=True)
        policy = page.headers["content-security-policy"]
        assert "unsafe-eval" not in policy
        assert not re.search(r"script-src[^;]*unsafe-inline", policy)
        assert "frame-ancestors 'none'" in policy
        for path in (
            "/dashboard/../../../../etc/passwd",
            "/dashboard/%2e%2e/%2e%2e/etc/passwd",
            "/dashboard/..%5c..%5cetc%5cpasswd",
            "/dashboard//etc/passwd",
        ):
            assert b"root:" not in client.get(path).content
            (answer,) = exchange(service.port, f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
            assert b"root:" not in answer.body and answer.status == 404, (path, answer.head)


@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example",
        "//evil.example",
        "/\\evil.example",
        "/%2f%2fevil.example",
        "\t//evil.example",
        "javascript:alert(1)",
        "/%0d%0aSet-Cookie:a=b",
        "/\r\nx:y",
    ],
)
def test_no_redirect_leads_to_another_site(service: Service, target: str) -> None:
    with service.anonymous() as client:
        for path, params in ("/api/sign-in", {"return_to": target}), ("/api/sign-in/callback", {"state": target, "code": "x"}):
            answer = client.get(path, params=params)
            assert answer.status_code in (400, 403, 404, 422), answer.text
            assert "location" not in answer.headers and "set-cookie" not in answer.headers
        for path in "//evil.example/%2e%2e", "/chat//evil.example", f"/chat/a/{quote(target, safe='')}":
            location = client.get(path).headers.get("location", "")
            assert not re.match(r"(?i)(https?:)?[\\/]{2}", location) and "evil.example:" not in location, location


@pytest.mark.parametrize("cookie", ["__Host-access_token", "__Secure-access_token"])
def test_the_cookie_of_one_adapter_is_bound_to_its_paths_and_origins(service: Service, world: World, cookie: str) -> None:
    token = bearer({"sub": "alice", "apps": [world.app]})
    before = world.fingerprint()
    with service.anonymous() as client:
        # A client that is no page has no origin.
        mine = client.get(
            f"/yao/{world.app}/v1/chat/sessions/{world.chat}", headers={"cookie": f"{cookie}={token}", "origin": service.url}
        )
        assert mine.status_code == 200
        for origin in [*STRANGERS[:8], None]:
            headers = {"cookie": f"{cookie}={token}", "content-type": "application/json"}
            headers |= {"origin": origin} if origin is not None else {}
            for method, path in ("DELETE", ""), ("PUT", ""), ("POST", "/messages"), ("POST", "/turns"):
                body = b'{"title":"x"}'
                refused = client.request(
                    method, f"/yao/{world.app}/v1/chat/sessions/{world.chat}{path}", content=body, headers=headers
                )
                assert (refused.status_code, refused.json()["error"]) == (403, "access_denied"), (origin, refused.text)
        for name in "chatsg", "discobot", "hecate", "mozaiks":
            for operation in operations(client, f"/{name}/openapi.json"):
                if operation.is_live or operation.method != "GET":
                    continue
                headers = {"cookie": f"{cookie}={token}", "origin": service.url}
                refused = client.get(operation.at(**world.ids), headers=headers)
                assert refused.status_code == 401, (name, operation.id, refused.text)
    assert world.fingerprint() == before


def test_metrics_and_descriptions_tell_strangers_nothing(service: Service, world: World) -> None:
    with service.anonymous() as client:
        assert problem(client.get("/metrics")) == (401, "unauthenticated")
        for path in "/api/health/live", "/api/health/ready":
            text = client.get(path).text
            assert "mongodb://" not in text and "127.0.0.1" not in text and service.folder.name not in text, text
        for path in (
            "/debug",
            "/debug/pprof",
            "/actuator",
            "/.env",
            "/.git/config",
            "/admin",
            "/console",
            "/metrics/",
            "/api/metrics",
            "/config",
            "/api/config",
            "/server-status",
        ):
            assert problem(client.get(path)) == (404, "no-such-route"), path
        description = client.get("/openapi.json").text
        assert "mongodb://" not in description and str(service.folder) not in description
    with world.user("alice") as client:
        assert problem(client.get("/metrics")) == (403, "forbidden-role")
    metrics = world.orchestrator.get("/metrics").text
    for secret in world.app, world.chat, "alice", "Generator":
        assert secret not in metrics, secret


@pytest.mark.parametrize("name", ["chatsg", "discobot", "hecate", "mozaiks", "yao"])
def test_a_listener_of_an_adapter_serves_nothing_else(service: Service, world: World, name: str) -> None:
    with service.client(bearer({"sub": "orchestrator", "role": "service"}), name) as client:
        for path in (
            "/metrics",
            "/api/apps",
            f"/api/chats/{world.app}/{world.chat}",
            f"/{name}/{world.app}/x",
            "/dashboard",
            "/api/health/ready",
            f"/api/documents/{world.app}",
            f"/../api/chats/{world.app}",
        ):
            answer = client.get(path)
            is_own = name == "mozaiks" and path.startswith("/api/chats/")
            assert answer.status_code in (401, 404, 405) or is_own, (path, answer.text)
            assert "private" not in answer.text


def test_a_header_of_an_answer_has_no_text_of_the_caller(service: Service, world: World) -> None:
    canary = "x\r\nset-cookie: a=b"
    client = world.orchestrator
    for path, params in (
        (f"/api/chats/{world.app}/{quote(canary)}", {}),
        (f"/api/chats/{world.app}", {"cursor": canary}),
        (f"/api/chats/{world.app}", {"order_by": canary}),
        (f"{world.path}/history", {"dialect": canary}),
        (f"{world.path}/messages/by-id/{quote(canary, safe='')}", {}),
    ):
        answer = client.get(path, params=params)
        assert "set-cookie" not in answer.headers
    for value in "a\tb", "x" * 65, "é", "$(id)", "../x":
        answer = client.get(world.path, headers={"x-request-id": value.encode()})
        assert re.fullmatch(r"req_[0-9a-f]{32}", answer.headers["x-request-id"]), value
    made = client.put(
        f"/api/documents/{world.app}/typed", content=b"x", headers={"content-type": "text/plain; a=" + "b" * 4000}
    )
    assert made.status_code in (201, 415, 422)
    with httpx.Client(trust_env=False, verify=False) as plain:
        answer = plain.get(
            f"{service.url}/api/chats/{world.app}",
            headers={"traceparent": "00-" + "f" * 32 + "-" + "f" * 16 + "-01", "tracestate": "a" * 5000},
        )
        assert problem(answer) == (401, "unauthenticated")
