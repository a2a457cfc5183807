"""Requests that no library sends."""

from __future__ import annotations

import re
import socket
import time
from dataclasses import dataclass


@dataclass
class Answer:
    status: int
    head: str
    body: bytes


def connect(port: int, timeout: float = 10) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=timeout)


def read_until_closed(connection: socket.socket, limit: float = 5, *, one: bool = False) -> tuple[bytes, bool]:
    """What arrives until the service closes the connection or the time is up, and whether it was closed.

    With ``one`` the first whole answer is enough.
    """
    received, until = b"", time.monotonic() + limit
    while (left := until - time.monotonic()) > 0:
        connection.settimeout(left)
        try:
            data = connection.recv(65_536)
        except TimeoutError:
            break
        except ConnectionError:
            return received, True
        if not data:
            return received, True
        received += data
        if one and has_whole_answer(received):
            break
    return received, False


def has_whole_answer(received: bytes) -> bool:
    head, _, rest = received.partition(b"\r\n\r\n")
    length = re.search(rb"(?im)^content-length: *(\d+)", head)
    return length is not None and len(rest) >= int(length[1])


def answers(received: bytes) -> list[Answer]:
    """The answers of a connection, each with its body."""
    found = []
    while received.startswith(b"HTTP/1."):
        head, _, rest = received.partition(b"\r\n\r\n")
        text = head.decode("latin-1")
        length = re.search(r"(?im)^content-length: *(\d+)", text)
        size = int(length[1]) if length else 0
        found.append(Answer(int(text.split(" ", 2)[1]), text, rest[:size]))
        received = rest[size:]
    assert not received, received[:200]
    return found


def exchange(port: int, request: bytes, limit: float = 2, *, one: bool = False) -> list[Answer]:
    """Sends bytes, and returns every answer to them, or the first ``one``."""
    with connect(port) as connection:
        try:
            connection.sendall(request)
        except ConnectionError:
            pass
        return answers(read_until_closed(connection, limit, one=one)[0])
