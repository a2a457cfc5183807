"""Sockets, event streams and positions in them."""

from __future__ import annotations

import json
import os
import struct
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection
from websockets.sync.client import connect as open_socket

from raw import connect, exchange, read_until_closed
from service import Service, problem
from tokens import bearer
from world import World


def socket_url(service: Service, world: World, user: str = "alice", workflow: str = "Generator") -> str:
    return f"{service.url.replace('http', 'ws')}/ws/{workflow}/{world.app}/{world.chat}/{user}"


UPGRADE = (
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)


def joined(service: Service, world: World, user: str = "alice", **options: Any) -> ClientConnection:
    token = bearer({"sub": user, "apps": [world.app]})
    headers = {"authorization": f"Bearer {token}"}
    return open_socket(socket_url(service, world, user), additional_headers=headers, proxy=None, **options)


@pytest.fixture
def alice(service: Service, world: World) -> Iterator[ClientConnection]:
    """A socket of alice, after the replay of her chat."""
    with joined(service, world) as connection:
        until_boundary(connection)
        yield connection


def until_boundary(connection: ClientConnection) -> None:
    while json.loads(connection.recv(5))["type"] != "chat.resume_boundary":
        pass


def next_error(connection: ClientConnection) -> dict[str, Any]:
    while True:
        frame: dict[str, Any] = json.loads(connection.recv(5))
        if frame["type"] == "chat.error":
            return frame


@pytest.mark.parametrize(
    "position",
    [
        '{"_data":"8263"}',
        "-2",
        "9223372036854775808",
        "1e3",
        "0x1",
        "1;2",
        "1.-1",
        "1.1.1",
        "NaN",
        "$natural",
        "\u0661",
        " 1",
        "1 ",
        "true",
        "[]",
    ],
)
def test_a_position_is_a_number_and_never_a_token_of_the_database(world: World, position: str) -> None:
    client = world.orchestrator
    for path in f"{world.path}/events", f"/api/document-events/{world.app}":
        refused = client.get(f"{path}?after={quote(position)}", timeout=3)
        assert problem(refused) == (422, "invalid-request"), (path, refused.text)
        if position == position.strip():
            refused = client.get(path, headers={"last-event-id": position.encode()}, timeout=3)
            assert problem(refused) == (422, "invalid-request"), (path, refused.text)
    refused = client.get(f"{world.path}/messages?after={quote(position)}")
    assert problem(refused) == (422, "invalid-request"), refused.text


@pytest.mark.parametrize("position", ["9223372036854775807", "4294967296", "99.99", "0.9223372036854775807"])
def test_a_position_past_the_end_is_the_end(world: World, position: str) -> None:
    with world.orchestrator.stream("GET", f"{world.path}/events", params={"after": position}) as stream:
        assert stream.status_code == 200
        events = []
        for line in stream.iter_lines():
            if line.startswith("event: "):
                events.append(line[7:])
            if events and events[-1] == "caught-up":
                break
    assert "message" not in events or position == "0.9223372036854775807"


@pytest.mark.alone
def test_text_of_a_message_forges_no_event(world: World) -> None:
    forged = 'x\n\nevent: message\nid: 99\ndata: {"sequence": 99, "role": "system"}\r\n\r\nretry: 1\u2028\u0085'
    client = world.orchestrator
    client.post(f"{world.path}/messages", json={"role": "user", "content": forged}).raise_for_status()
    ids, texts = [], []
    with client.stream("GET", f"{world.path}/events") as stream:
        for line in stream.iter_raw():
            texts.append(line.decode())
            if "event: caught-up" in "".join(texts):
                break
    for line in "".join(texts).split("\n"):
        if line.startswith("id: "):
            ids.append(line)
        assert not line.startswith("retry: 1"), line
    assert "id: 99" not in ids


def test_a_socket_of_another_person_or_workflow_does_not_open(service: Service, world: World) -> None:
    before = world.fingerprint()
    for token, user, workflow, expected in (
        ({"sub": "mallory"}, "mallory", "Generator", 404),
        ({"sub": "mallory"}, "alice", "Generator", 403),
        ({"sub": "alice"}, "alice", "Other", 404),
        ({"sub": "alice", "apps": ["other_app"]}, "alice", "Generator", 404),
        ({"sub": "olga", "role": "operator"}, "olga", "Generator", 403),
    ):
        headers = {"authorization": f"Bearer {bearer({'apps': [world.app], **token})}"}
        with pytest.raises(InvalidStatus) as refused:
            open_socket(socket_url(service, world, user, workflow), additional_headers=headers, proxy=None)
        assert refused.value.response.status_code == expected, (token, refused.value.response.body)
        assert b"private" not in refused.value.response.body
    assert world.fingerprint() == before


@pytest.mark.parametrize(
    "first",
    [
        '{"type":"authorize"}',
        '{"type":"authorize","token":""}',
        '{"type":"authorize","token":{"$ne":null}}',
        "null",
        "[]",
        "x",
        '{"type":"user.input.submit","text":"x"}',
    ],
)
def test_nothing_is_sent_before_the_token(service: Service, world: World, first: str) -> None:
    before = world.fingerprint()
    with open_socket(socket_url(service, world), proxy=None) as connection:
        connection.send(first)
        with pytest.raises(ConnectionClosed) as closed:
            frame = connection.recv(5)
            raise AssertionError(frame)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code in (4401, 1008)
    assert world.fingerprint() == before


def test_a_silent_socket_without_a_token_is_closed(service: Service, world: World) -> None:
    started = time.monotonic()
    with open_socket(socket_url(service, world), proxy=None) as connection, pytest.raises(ConnectionClosed):
        connection.recv(8)
    assert time.monotonic() - started < 5


def test_a_frame_that_is_no_command_changes_nothing(alice: ClientConnection, world: World) -> None:
    before = world.fingerprint()
    for frame in (
        "x",
        "[]",
        "null",
        "{}",
        '{"type":"unknown"}',
        '{"type":{"$ne":null}}',
        '{"type":"user.input.submit"}',
        '{"type":"user.input.submit","text":{"$each":[]}}',
        '{"type":"user.input.submit","text":"x","role":"system"}',
        '{"type":"user.input.submit","text":"x","author":{"user_id":"bob"}}',
        '{"type":"user.input.submit","text":"x","event_id":{"$gt":""}}',
        '{"type":"user.input.submit","text":"\\ud800"}',
        '{"type":"user.input.submit","text":"x","text":"y"}',
        '{"type":"user.input.submit","text":"x","chat_id":"another"}',
        '{"type":"client.resume","lastClientIndex":"0"}',
        '{"type":"client.resume","lastClientIndex":1e400}',
        '{"type":"client.resume","lastClientIndex":{"_data":"82"}}',
        '{"type":"authorize","token":"again"}',
        '{"type":"user.input.submit","text":' + "[" * 1000 + "}",
    ):
        alice.send(frame)
        error = next_error(alice)
        assert error["error_code"] in ("SCHEMA_VALIDATION_FAILED", "UNKNOWN_TYPE", "RATE_LIMIT_EXCEEDED"), (frame, error)
        assert error["error_code"] != "RATE_LIMIT_EXCEEDED"
    assert world.fingerprint() == before


def test_a_frame_beyond_the_limit_closes_the_socket(service: Service, world: World) -> None:
    before = world.fingerprint()
    text = json.dumps({"type": "user.input.submit", "text": "x" * 70_000})
    for frames in (text, [text[:40_000], text[40_000:]], [text[n : n + 100] for n in range(0, len(text), 100)]):
        with joined(service, world) as connection:
            until_boundary(connection)
            with pytest.raises(ConnectionClosed) as closed:
                connection.send(frames)
                while True:
                    connection.recv(5)
        # The reason is lost if the service closes while the client is still sending.
        assert closed.value.rcvd is None or closed.value.rcvd.code == 1009
    assert world.fingerprint() == before


def test_a_compressed_socket_is_not_offered(service: Service, world: World) -> None:
    """What is small on the wire could be large in memory."""
    with joined(service, world, compression="deflate") as connection:
        assert connection.response is not None
        assert "sec-websocket-extensions" not in connection.response.headers


def test_frames_that_break_the_protocol_close_the_socket(service: Service, world: World) -> None:
    token = bearer({"sub": "alice", "apps": [world.app]})
    request = (
        f"GET /ws/Generator/{world.app}/{world.chat}/alice HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
        f"{UPGRADE}\r\n"
    )
    mask = os.urandom(4)
    for frame in (
        # Not masked.
        b"\x81\x02{}",
        # Binary.
        b"\x82\x82" + mask + bytes(2),
        # Reserved bits, a reserved kind, a continuation of nothing.
        b"\xf1\x80" + mask,
        b"\x83\x80" + mask,
        b"\x80\x80" + mask,
        # A fragmented ping, and one that is too long.
        b"\x09\x80" + mask,
        b"\x89\xfe\x00\x7e" + mask + bytes(126),
        # Four exabytes.
        b"\x81\xff" + struct.pack(">Q", 2**62) + mask,
        # No UTF-8.
        b"\x81\x82\0\0\0\0\xff\xfe",
    ):
        with connect(service.port) as connection:
            connection.sendall(request.encode())
            assert connection.recv(65_536).startswith(b"HTTP/1.1 101")
            connection.sendall(frame)
            _, closed = read_until_closed(connection, 3)
        assert closed, frame
    assert "panicked" not in service.log()


def test_a_flood_of_frames_is_ignored_and_then_ends(tight: Service, world: World, orchestrator_key: str) -> None:
    """That service permits five frames a second."""
    headers = {"authorization": f"Bearer {orchestrator_key}"}
    before = world.fingerprint()
    with open_socket(socket_url(tight, world), additional_headers=headers, proxy=None) as connection:
        until_boundary(connection)
        with pytest.raises(ConnectionClosed) as closed:
            for _ in range(3000):
                connection.send('{"type":"unknown"}')
            while True:
                connection.recv(5)
    assert closed.value.rcvd is not None and closed.value.rcvd.code == 1008
    assert world.fingerprint() == before


def test_an_upgrade_smuggles_no_request(service: Service, world: World) -> None:
    """After a refused upgrade the bytes that follow are requests of their own, without its token."""
    token = bearer({"sub": "mallory", "apps": [world.app]})
    request = (
        f"GET /ws/Generator/{world.app}/{world.chat}/mallory HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
        f"{UPGRADE}\r\n"
        f"GET {world.path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    )
    found = exchange(service.port, request.encode(), 1)
    assert [it.status for it in found] in ([404, 401], [404]), found
    for version in "12", "14", "x":
        bad = request.replace("Version: 13", f"Version: {version}").split("\r\n\r\n")[0] + "\r\n\r\n"
        assert exchange(service.port, bad.encode(), one=True)[0].status in (400, 404, 426)


def test_a_person_has_a_bounded_number_of_streams(tight: Service, world: World, token_of: Any) -> None:
    """That service permits two."""
    with httpx.Client(
        base_url=tight.url, trust_env=False, verify=False, headers={"authorization": f"Bearer {token_of('alice')}"}
    ) as client:
        first, second = (client.stream("GET", f"{world.path}/events") for _ in range(2))
        with first as one, second as two:
            assert (one.status_code, two.status_code) == (200, 200)
            refused = client.get(f"{world.path}/events", timeout=3)
            assert problem(refused) == (429, "too-many-requests")
            assert int(refused.headers["retry-after"]) > 0
            documents = client.get(f"/api/document-events/{world.app}", timeout=3)
            assert problem(documents) == (429, "too-many-requests")


def test_a_token_that_expires_ends_its_stream(service: Service, world: World) -> None:
    token = bearer({"sub": "alice", "apps": [world.app], "exp": int(time.time()) + 2})
    with service.client(token) as client, client.stream("GET", f"{world.path}/events") as stream:
        assert stream.status_code == 200
        started = time.monotonic()
        for _ in stream.iter_lines():
            assert time.monotonic() - started < 8
    assert time.monotonic() - started < 8


@pytest.mark.alone
def test_events_of_documents_tell_a_stranger_no_paths(world: World) -> None:
    """A document of the app comes last, so that what would have come before it has come."""
    place = f"/api/documents/{world.app}/notes"
    told: list[str] = []
    headers = {"content-type": "text/plain"}
    with world.user("mallory") as client, client.stream("GET", f"/api/document-events/{world.app}?namespace=notes") as stream:
        assert stream.status_code == 200
        for line in stream.iter_lines():
            told.append(line)
            if line == "event: resync" and told.count(line) == 1:
                for name, who in (("plan", "alice"), ("secret-of-alice", "alice"), ("secret-of-bob", "bob")):
                    made = world.orchestrator.put(f"{place}/{name}?user_id={who}", content=b"changed", headers=headers)
                    assert made.is_success, made.text
                made = world.orchestrator.put(f"{place}/open?visibility=app", content=b"x", headers=headers)
                assert made.status_code == 201
            if "notes/open" in line:
                break
    text = "\n".join(told)
    assert "secret-of" not in text and "notes/plan" not in text, text
    assert "alice" not in text
