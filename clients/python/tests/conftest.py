"""A real service with its private mongod, and a connection to it that can be broken."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import socket
import subprocess
import threading
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest

from reprise import AsyncReprise, Reprise

from .faults import AsyncFaults, Faults

ROOT = Path(__file__).parents[3]
# Only one version of AG2 can be installed.
collect_ignore = [] if importlib.util.find_spec("ag2") and importlib.util.find_spec("ag2.knowledge") else ["test_store_ag2.py"]
BINARY = Path(os.environ.get("REPRISE_BIN", ROOT / "target" / "debug" / "reprise"))


class Service:
    """A service that can be killed and started again on the same port."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir, self._port = data_dir, 0
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        arguments = ["serve", "--listen", f"127.0.0.1:{self._port}", "--data-dir", str(self._data_dir)]
        environment = {**os.environ, "REPRISE__LOG__FILTER": "error"}
        self._process = subprocess.Popen(
            [BINARY, *arguments], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, env=environment, text=True
        )
        assert self._process.stdout is not None
        said = self._process.stdout.readline()
        found = re.search(r":(\d+)\s*$", said)
        assert found, f"the service said {said!r}"
        self._port = int(found[1])
        until = time.monotonic() + 60
        while True:
            try:
                if httpx.get(f"{self.url}/api/health/ready").is_success:
                    return
            except httpx.TransportError:
                pass
            assert time.monotonic() < until, "the service is not ready"
            time.sleep(0.1)

    def restart(self) -> None:
        self.stop()
        self.start()

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(30)


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    service = Service(tmp_path_factory.mktemp("reprise"))
    yield service
    service.stop()


@pytest.fixture
def app() -> str:
    """The id of an app of the test alone."""
    return f"app_{uuid.uuid4().hex}"


@pytest.fixture
def faults() -> Faults:
    return Faults()


@pytest.fixture
def client(service: Service, app: str, faults: Faults) -> Iterator[Reprise]:
    """A client that sends each request once, over connections with these faults."""
    with httpx.Client(transport=faults) as http:
        yield Reprise(service.url, app, http=http, retry_for=0)


@pytest.fixture
def async_faults() -> AsyncFaults:
    return AsyncFaults()


@pytest.fixture
async def async_client(service: Service, app: str, async_faults: AsyncFaults) -> AsyncIterator[AsyncReprise]:
    async with httpx.AsyncClient(transport=async_faults) as http:
        yield AsyncReprise(service.url, app, http=http, retry_for=0)


class Line:
    """A connection to a service that loses what it is told to."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        #: How many of the next answers are lost, with their connection.
        self.lost_answers = 0
        #: After how many bytes of an answer the connection breaks; ``None`` for never.
        self.broken_after: int | None = None
        #: How many connections were opened.
        self.accepted = 0
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()
        self.hang_up()

    def hang_up(self) -> None:
        """Breaks every connection."""
        for end in self._open:
            hang_up(end)
        self._open.clear()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.accepted += 1
            server = socket.create_connection(("127.0.0.1", self._target))
            self._open += [client, server]
            threading.Thread(target=self._copy, args=(client, server), daemon=True).start()
            threading.Thread(target=self._answer, args=(server, client), daemon=True).start()

    def _copy(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(65_536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def _answer(self, server: socket.socket, client: socket.socket) -> None:
        sent = 0
        try:
            while data := server.recv(65_536):
                if self.lost_answers > 0:
                    self.lost_answers -= 1
                    break
                if self.broken_after is not None and sent + len(data) > self.broken_after:
                    client.sendall(data[: self.broken_after - sent])
                    break
                client.sendall(data)
                sent += len(data)
        except OSError:
            pass
        # Closing alone would wait for the thread that reads.
        for end in (client, server):
            hang_up(end)


def hang_up(end: socket.socket) -> None:
    try:
        end.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


@pytest.fixture
def line(service: Service) -> Iterator[Line]:
    line = Line(int(service.url.rsplit(":", 1)[1]))
    yield line
    line.close()
