"""What an attacker writes into the log, and what the log tells."""

from __future__ import annotations

import json
import re
import time

import httpx
import pytest

from raw import exchange
from service import Database, Service
from tokens import SECRET, bearer
from world import World

CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def lines_after(service: Service, start: int) -> list[str]:
    time.sleep(0.1)
    return service.log()[start:].splitlines()


def attack(service: Service, canary: str) -> None:
    """Sends a canary, a line and an escape in everything that a request has."""
    evil = f"{canary}\x1b[2K\x9b1A\u202e"
    escaped = "".join(f"%{byte:02x}" for byte in f"{canary}\r\n2026-01-01 ERROR forged\x1b[31m\u202e".encode())
    token = bearer({"sub": "mallory", "apps": "*"})
    # No header may have an escape; C1 characters are as good to a terminal.
    header = f"{canary}\x9b2K\x851A"
    for line in (
        f"GET /{escaped} HTTP/1.1",
        f"GET /api/chats/{escaped} HTTP/1.1",
        f"GET /api/chats/acme_corp/{escaped} HTTP/1.1",
        f"GET /api/chats/acme_corp?order_by={escaped} HTTP/1.1",
        f"GET /api/chats/acme_corp?{escaped}=1 HTTP/1.1",
        f"GET /api/documents/acme_corp/{escaped} HTTP/1.1",
        f"{canary.upper()[:20]} /api/chats/acme_corp HTTP/1.1",
        f"{'M' * 20_000} /api/chats/acme_corp HTTP/1.1",
        f"GET /{canary} HTTP/1.1",
    ):
        for authorization in f"Authorization: Bearer {token}\r\n", f"Authorization: Bearer {canary}.x.y\r\n", "":
            request = (
                f"{line}\r\nHost: 127.0.0.1\r\n{authorization}User-Agent: {header}\r\n"
                f"Referer: {header}\r\nX-Request-Id: {header}\r\n"
                f"X-Origin: https://{canary}.example\r\nCookie: {canary}={canary}\r\nX-Forwarded-For: {canary}\r\n"
                f"traceparent: {canary}\r\nAccept: {canary}\r\nConnection: close\r\n\r\n"
            )
            exchange(service.port, request.encode("latin-1", errors="replace"), 1)
    with service.user("mallory", "acme_corp") as client:
        for body in (
            {"workflow_name": evil},
            {"workflow_name": "w", "title": evil},
            {"workflow_name": "w", "metadata": {evil: evil}},
            {evil: 1},
        ):
            client.post("/api/chats/acme_corp", json=body)
        client.post("/api/chats/acme_corp", content=f'{{"a":"{canary}"'.encode(), headers={"content-type": "application/json"})
        client.put(f"/api/documents/acme_corp/{canary}", content=evil.encode(), headers={"content-type": f"text/{canary}"})


@pytest.mark.parametrize("name", ["service", "unguarded"])
def test_a_request_forges_no_line_of_the_log_and_leaves_nothing_of_its_text(request: pytest.FixtureRequest, name: str) -> None:
    service: Service = request.getfixturevalue(name)
    start = len(service.log())
    attack(service, "canaryc0ffee")
    lines = lines_after(service, start)
    assert len(lines) > 20
    text = "\n".join(lines)
    assert "forged" not in text
    assert not CONTROL.search(text), repr(CONTROL.search(text))
    # Neither a header, nor a body, nor a path that leads nowhere.
    assert "canaryc0ffee" not in text.lower(), next(line for line in lines if "canaryc0ffee" in line.lower())
    assert "MMMMMMMMMMMMMMMMMMMMM" not in text
    if name == "service":
        for line in lines:
            assert isinstance(json.loads(line), dict)


def test_every_line_of_a_json_log_is_json(service: Service) -> None:
    lines = service.log().splitlines()
    assert lines
    for line in lines:
        json.loads(line)


@pytest.mark.alone
def test_no_secret_is_in_the_log_or_in_an_answer(service: Service, database: Database, world: World) -> None:
    canary = "s3cr3tc4n4ry"
    client, path = world.orchestrator, world.path
    token = bearer({"sub": "bob", "apps": [world.app], "jti": canary})
    ticket = world.user("bob").post(f"{path}/tickets", json={}).json()["ticket"]
    with service.anonymous() as anonymous:
        try:
            anonymous.get(f"{path}/events", params={"ticket": ticket}, timeout=0.3)
        except httpx.TimeoutException:
            pass
        anonymous.get(f"{path}/messages", params={"ticket": ticket, "access_token": token})
    client.post(f"{path}/messages", json={"role": "user", "content": canary, "metadata": {canary: canary}})
    client.post(f"{path}/messages", json={"role": "user", "event_id": "evt-0", "content": canary})
    client.put(f"{path}/context", json={canary: canary})
    client.put(f"{path}/context", json={f"{canary}\0": 1})
    client.post(f"{path}/input-requests", json={"prompt": canary, "options": [canary]})
    client.post(f"{path}/tool-runs", json={"tool_name": "t", "error": canary, "parameters": canary})
    client.post(f"{path}/turns", json={"outcome": canary, "messages": [{"role": "user", "content": canary}]})
    client.post(f"{path}/fail", json={"reason": canary})
    client.get(f"/api/search/{world.app}", params={"q": canary})
    client.get(f"/api/chats/{world.app}", params={"title_contains": canary})
    log = service.log()
    for secret in canary, token, ticket, SECRET, database.password, "what alice said", token.rsplit(".", 1)[1]:
        assert secret not in log, secret
    shown = service.run("config")
    assert shown.returncode == 0
    for secret in SECRET, database.password:
        assert secret.encode() not in shown.stdout + shown.stderr


def test_the_services_have_not_panicked(service: Service, tight: Service, unguarded: Service) -> None:
    for it in service, tight, unguarded:
        assert it.process.poll() is None
        assert "panick" not in it.log()
        # Nothing that was sent was too much for the database, or not foreseen.
        assert '"code":"internal"' not in it.log() and "code=internal" not in it.log()
