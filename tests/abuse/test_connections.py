"""Bytes that are no proper requests, and connections that want to last."""

from __future__ import annotations

import json
import socket
import ssl
import struct
import time
import uuid

import pytest

from raw import answers, connect, exchange, read_until_closed
from service import Service
from tokens import bearer
from world import World


def head(service: Service, lines: list[str], method: str = "POST", path: str | None = None) -> bytes:
    token = bearer({"sub": "orchestrator", "role": "service"})
    usual = [f"{method} {path or '/api/chats/acme_corp'} HTTP/1.1", f"Host: 127.0.0.1:{service.port}"]
    usual += [f"Authorization: Bearer {token}", "Content-Type: application/json"]
    return "\r\n".join([*usual, *lines, "", ""]).encode("latin-1")


SMUGGLED = b"DELETE /api/chats/acme_corp/smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
AMBIGUOUS = {
    "a length and chunks": ["Content-Length: 4", "Transfer-Encoding: chunked"],
    "chunks and a length": ["Transfer-Encoding: chunked", "Content-Length: 4"],
    "two lengths": ["Content-Length: 4", "Content-Length: 60"],
    "two lengths in one": ["Content-Length: 4, 60"],
    "a length with a sign": ["Content-Length: +4"],
    "a length below zero": ["Content-Length: -1"],
    "a hexadecimal length": ["Content-Length: 0x4"],
    "a length with blanks": ["Content-Length: 4 4"],
    "a huge length": ["Content-Length: 99999999999999999999"],
    "chunks that are not last": ["Transfer-Encoding: chunked, identity"],
    "an unknown encoding": ["Transfer-Encoding: xchunked"],
    "a blank before the colon": ["Transfer-Encoding : chunked"],
    "a folded line": ["Transfer-Encoding:\r\n chunked"],
    "a vertical tab": ["Transfer-Encoding:\x0bchunked"],
    "a quoted encoding": ['Transfer-Encoding: "chunked"'],
    "an encoding twice": ["Transfer-Encoding: chunked", "Transfer-Encoding: identity"],
}


@pytest.mark.parametrize("name", AMBIGUOUS, ids=lambda it: it.replace(" ", "-"))
def test_a_request_whose_length_is_unclear_is_one_request_or_none(service: Service, name: str) -> None:
    request = head(service, AMBIGUOUS[name]) + b"0\r\n\r\n" + SMUGGLED
    found = exchange(service.port, request, 1.5)
    # An answer to what is hidden in the body would be one to another caller.
    assert len(found) <= 1, found
    assert all(400 <= it.status < 500 for it in found), found


@pytest.mark.parametrize("coding", ["chunked, chunked", "gzip, chunked", "xchunked, chunked"])
def test_a_transfer_coding_that_is_not_known_is_refused(service: Service, coding: str) -> None:
    """A proxy in front may understand such a body differently."""
    request = head(service, [f"Transfer-Encoding: {coding}"]) + b"2\r\n{}\r\n0\r\n\r\n" + SMUGGLED
    found = exchange(service.port, request, 0.5)
    assert [it.status for it in found] in ([400], [501]), found


def test_a_request_with_two_hosts_is_refused(service: Service) -> None:
    """A proxy may have let the first one pass, and the service may believe the second."""
    request = head(service, [f"Host: evil.example:{service.port}"], "GET", "/api/health/live") + SMUGGLED
    found = exchange(service.port, request, 0.5)
    assert [it.status for it in found] == [400], found


@pytest.mark.parametrize(
    "chunks",
    [
        b"5\r\n{}\r\n0\r\n\r\n",
        b"-1\r\n{}",
        b"0x2\r\n{}\r\n0\r\n\r\n",
        b"2 \r\n{}",
        b"ffffffffffffffff\r\n",
        b"2\n{}\n0\n\n",
        b"+2\r\n{}\r\n0\r\n\r\n",
    ],
)
def test_chunks_that_are_malformed_end_the_connection(service: Service, chunks: bytes) -> None:
    found = exchange(service.port, head(service, ["Transfer-Encoding: chunked"]) + chunks + SMUGGLED, 0.5)
    assert len(found) <= 1, found
    assert all(400 <= it.status < 500 for it in found), found


def test_extensions_of_chunks_do_not_grow_without_end(service: Service) -> None:
    request = head(service, ["Transfer-Encoding: chunked"]) + b"2;" + b"a" * 200_000 + b"\r\n{}\r\n0\r\n\r\n"
    found = exchange(service.port, request, 2)
    assert [it.status for it in found] in ([400], [422], []), found


@pytest.mark.parametrize(
    "line",
    [
        "GET /api/health/live",
        "GET /api/health/live HTTP/0.9",
        "GET /api/health/live HTTP/9.9",
        "GET  /api/health/live HTTP/1.1",
        "GET /api/health/live\tHTTP/1.1",
        "GET http://evil.example/api/health/live HTTP/1.1",
        "GET //evil.example/api/health/live HTTP/1.1",
        "CONNECT 127.0.0.1:27017 HTTP/1.1",
        "PRI * HTTP/2.0",
        "OPTIONS * HTTP/1.1",
        "TRACE /api/health/live HTTP/1.1",
        "GET /api/health/live#x HTTP/1.1",
        "G\x00T /api/health/live HTTP/1.1",
    ],
)
def test_a_request_line_of_another_form_opens_nothing(service: Service, line: str) -> None:
    request = f"{line}\r\nHost: 127.0.0.1:{service.port}\r\nCookie: secret-cookie=1\r\nConnection: close\r\n\r\n".encode(
        "latin-1"
    )
    with connect(service.port) as connection:
        connection.sendall(request)
        received, _ = read_until_closed(connection, 1.5)
    # A proxy or an echo of headers (TRACE) would be worth something to an attacker.
    assert b"secret-cookie" not in received
    assert b"MongoDB" not in received and b"mongod" not in received
    assert not received or received.startswith(b"HTTP/1.") or received.startswith(b"\x00\x00"), received[:100]


def test_very_many_or_very_long_headers_are_refused(service: Service) -> None:
    for lines in (
        ["X-A: " + "a" * 1_000_000],
        [f"X-{n}: a" for n in range(10_000)],
        ["X-" + "a" * 100_000 + ": a"],
    ):
        found = exchange(service.port, head(service, lines, "GET"), 3)
        assert [it.status for it in found] in ([431], [400], []), found
    long = exchange(service.port, head(service, [], "GET", "/api/chats/" + "a" * 200_000), 3)
    assert [it.status for it in long] in ([414], [431], [400], []), long


def test_headers_that_never_end_are_given_up(service: Service) -> None:
    """The service gives a head one second."""
    started = time.monotonic()
    with connect(service.port) as connection:
        connection.sendall(b"GET /api/health/live HTTP/1.1\r\nHost: x\r\n")
        for number in range(60):
            try:
                connection.sendall(f"X-{number}: a\r\n".encode())
            except ConnectionError:
                break
            time.sleep(0.1)
        _, closed = read_until_closed(connection, 1)
    assert closed
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("length", ["Content-Length: 1000", "Transfer-Encoding: chunked"])
def test_a_body_that_does_not_arrive_is_given_up(tight: Service, world: World, orchestrator_key: str, length: str) -> None:
    """That service gives a request 1.5 seconds."""
    before, started = world.fingerprint(), time.monotonic()
    with connect(tight.port) as connection:
        connection.sendall(
            f"POST {world.path}/messages HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {orchestrator_key}\r\n"
            f"Content-Type: application/json\r\n{length}\r\n\r\n".encode()
        )
        for _ in range(12):
            connection.sendall(b"1\r\n{\r\n")
            time.sleep(0.1)
        received, _ = read_until_closed(connection, 3)
    (answer,) = answers(received)
    assert (answer.status, json.loads(answer.body)["code"]) == (408, "body-timeout")
    assert time.monotonic() - started < 5
    assert world.fingerprint() == before


def test_half_open_connections_of_one_address_leave_room_for_probes(tight: Service) -> None:
    held = []
    try:
        for _ in range(60):
            try:
                connection = connect(tight.port)
                connection.sendall(b"GET /")
                held.append(connection)
            except OSError:
                break
        time.sleep(1.2)
        # All of them were given up by now.
        assert exchange(tight.port, b"GET /api/health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")[0].status == 200
    finally:
        for connection in held:
            connection.close()


def test_the_service_survives_noise(service: Service) -> None:
    for noise in (
        b"\x16\x03\x01\x02\x00\x01\x00\x01",
        bytes(range(256)) * 40,
        b"\0" * 100_000,
        b"\r\n" * 50_000,
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ):
        with connect(service.port) as connection:
            try:
                connection.sendall(noise)
            except ConnectionError:
                pass
            # A reset instead of an end.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    with pytest.raises((ssl.SSLError, OSError)):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.wrap_socket(connect(service.port, 3))
    with service.anonymous() as client:
        assert client.get("/api/health/live").status_code == 200
    assert "panicked" not in service.log()


def test_http2_without_tls_is_bounded_if_it_is_spoken(service: Service) -> None:
    """A flood of streams that are reset at once must not keep the service busy."""
    preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

    def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
        return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload

    # GET / with the scheme http, from the static table.
    request = bytes([0x82, 0x84, 0x86, 0x41, 0x01]) + b"x"
    flood = b"".join(frame(1, 5, stream, request) + frame(3, 0, stream, struct.pack(">I", 8)) for stream in range(1, 40_001, 2))
    with connect(service.port) as connection:
        started = time.monotonic()
        try:
            connection.sendall(preface + frame(4, 0, 0) + flood)
            _, closed = read_until_closed(connection, 3)
        except OSError:
            closed = True
    with service.anonymous() as client:
        assert client.get("/api/health/live").elapsed.total_seconds() < 2
    assert closed, f"after {time.monotonic() - started:.1f} s"


def test_a_refused_request_leaves_its_connection_usable_or_says_that_it_closes(service: Service, world: World) -> None:
    """Otherwise a refused request costs the next one its answer, that of another caller behind a proxy."""
    token = bearer({"sub": "mallory", "apps": ["other_app"]})
    body = b'{"role":"user","content":"x"}'
    # Whether the service sees the body before it closes is a matter of chance.
    for _ in range(10):
        with connect(service.port, 3) as connection:
            connection.sendall(
                f"POST {world.path}/messages HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            )
            first = connection.recv(65_536)
            assert first.startswith(b"HTTP/1.1 404")
            if b"connection: close" in first.lower():
                continue
            connection.sendall(body)
            time.sleep(0.05)
            connection.sendall(b"GET /api/health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert connection.recv(65_536).startswith(b"HTTP/1.1 200")


def test_pipelined_requests_have_their_own_rights(service: Service, world: World) -> None:
    """The token of one request is not that of the next one on its connection."""
    token = bearer({"sub": "alice", "apps": [world.app]})
    host = f"Host: 127.0.0.1:{service.port}\r\n"
    first = f"GET {world.path} HTTP/1.1\r\n{host}Authorization: Bearer {token}\r\n\r\n"
    second = f"GET {world.path} HTTP/1.1\r\n{host}Connection: close\r\n\r\n"
    found = exchange(service.port, (first + second).encode())
    assert [it.status for it in found] == [200, 401]


@pytest.mark.parametrize("expectation", ["100-continue", "200-ok", "100-continue, 100-continue"])
def test_a_refused_request_is_not_told_to_continue(service: Service, expectation: str) -> None:
    request = (
        f"POST /api/chats/acme_corp/{uuid.uuid4().hex}/messages HTTP/1.1\r\nHost: x\r\nExpect: {expectation}\r\n"
        "Content-Type: application/json\r\nContent-Length: 10000000\r\n\r\n"
    )
    with connect(service.port) as connection:
        connection.sendall(request.encode())
        received, _ = read_until_closed(connection, 1)
    assert received.startswith(b"HTTP/1.1 4"), received[:100]
