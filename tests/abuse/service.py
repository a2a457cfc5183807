"""A service as a process: its addresses, its clients, its log and its database."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pymongo
from bson.codec_options import CodecOptions
from bson.raw_bson import RawBSONDocument

from tokens import bearer

ROOT = Path(__file__).parents[2]
BINARY = Path(os.environ.get("REPRISE_BIN", ROOT / "target" / "debug" / "reprise"))
#: What follows the chats in the background: a caller changes nothing by being the cause of it.
BACKGROUND = {"search_entries", "search_marks", "search_progress", "presence", "audit_entries", "pseudonym_keys"}
AS_BYTES = CodecOptions(document_class=RawBSONDocument)


def problem(response: httpx.Response) -> tuple[int, str]:
    """The status and the code of a refusal, which must have the form of one and tell nothing about the inside."""
    assert response.headers["content-type"] == "application/problem+json", (response.status_code, response.text[:300])
    body = response.json()
    assert body["status"] == response.status_code
    assert body["type"] == f"/problems/{body['code']}"
    assert body["http_request_id"] == response.headers["x-request-id"]
    assert not re.search(r"mongodb|bson::|E11000|panicked|\.rs:\d", response.text), response.text
    return response.status_code, body["code"]


def peak_memory(pid: int) -> int:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found
    return int(found[1]) * 1024


@dataclass
class Service:
    """A running service. Settings are named as in ``deploy/config.default.toml``."""

    settings: dict[str, object]
    folder: Path
    addresses: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.log_file = self.folder / "log"
        self.data_dir = self.folder / "data"
        with self.log_file.open("wb") as log:
            self.process = subprocess.Popen(
                [BINARY, "serve", "--listen", "127.0.0.1:0"],
                stdout=subprocess.PIPE,
                stdin=subprocess.DEVNULL,
                stderr=log,
                env=self.environment(),
                text=True,
            )
        self._read_addresses()

    def environment(self) -> dict[str, str]:
        """The variables with which commands find the same settings."""
        names = {f"REPRISE__{name.upper().replace('.', '__')}": str(value) for name, value in self.settings.items()}
        if "mongo.uri" not in self.settings:
            names["REPRISE__MONGOD__DATA_DIR"] = str(self.data_dir)
        return {**os.environ, **names}

    def _read_addresses(self) -> None:
        output = self.process.stdout
        assert output is not None
        first = output.readline()
        if first.startswith("{"):
            said = json.loads(first)
            self.addresses = {"api": said["listening"], **said.get("adapters", {})}
        else:
            lines = [first]
            expected = sum(1 for name in self.settings if name.startswith("adapters.") and name.endswith(".listen"))
            while sum("adapter" in line for line in lines) < expected:
                lines.append(output.readline())
                assert lines[-1], "the service has ended"
            for line in lines:
                if found := re.search(r"(?:adapter (\w+) )?listening on (http://\S+)", line):
                    self.addresses[found[1] or "api"] = found[2]
        threading.Thread(target=output.read, daemon=True).start()

    def wait_until_ready(self) -> None:
        until = time.monotonic() + 60
        with self.anonymous() as client:
            while True:
                try:
                    if client.get("/api/health/ready").is_success:
                        return
                except httpx.TransportError:
                    pass
                assert time.monotonic() < until and self.process.poll() is None, self.log()[-2000:]
                time.sleep(0.05)

    @property
    def url(self) -> str:
        return self.addresses["api"]

    @property
    def port(self) -> int:
        return int(self.url.rsplit(":", 1)[1])

    def anonymous(self, address: str = "api") -> httpx.Client:
        # A connection for each request, so that what is left of one request disturbs no other.
        limits = httpx.Limits(max_keepalive_connections=0)
        return httpx.Client(base_url=self.addresses[address], trust_env=False, verify=False, timeout=20, limits=limits)

    def client(self, token: str, address: str = "api") -> httpx.Client:
        client = self.anonymous(address)
        client.headers["authorization"] = f"Bearer {token}"
        return client

    def user(self, name: str, app: str, address: str = "api", **claims: Any) -> httpx.Client:
        return self.client(bearer({"sub": name, "apps": [app], **claims}), address)

    def orchestrator(self, app: str, address: str = "api") -> httpx.Client:
        return self.user("orchestrator", app, address, role="service")

    def operator(self, app: str) -> httpx.Client:
        return self.user("olga", app, role="operator")

    def log(self) -> str:
        return self.log_file.read_bytes().decode(errors="replace")

    def peak_memory(self) -> int:
        """The most bytes that the process has had in memory."""
        return peak_memory(self.process.pid)

    def forget_peak(self) -> None:
        Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")

    def run(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        """Runs a command of the binary with the settings of the service, as in a terminal."""
        environment = {**self.environment(), "REPRISE__LOG__FORMAT": "text"}
        return subprocess.run([BINARY, *arguments], env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=30)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)


class Database:
    """The database of a service with a private mongod, as the service itself reaches it."""

    def __init__(self, data_dir: Path) -> None:
        secrets = self._lines(data_dir / "credentials")
        self.password = secrets["password"]
        self.address = self._lines(data_dir / "local-mongod.lock")["uri"]
        place = self.address.removeprefix("mongodb://")
        separator = "&" if "?" in place else "?"
        self.uri = f"mongodb://{secrets['user']}:{self.password}@{place}{separator}authSource=admin"
        self.client: pymongo.MongoClient[dict[str, Any]] = pymongo.MongoClient(self.uri)
        self.of_service = self.client["reprise"]

    @staticmethod
    def _lines(file: Path) -> dict[str, str]:
        return dict(line.split(" ", 1) for line in file.read_text().splitlines() if " " in line)

    def fingerprint(self, app: str) -> dict[str, str]:
        """Digests of what each collection has of an app."""
        of_app = {"$match": {"$or": [{"app_id": app}, {"_id.app_id": app}, {"_id": app}]}}
        names = sorted(set(self.of_service.list_collection_names()) - BACKGROUND)
        # One request for all of them.
        pipeline = [{"$unionWith": {"coll": it, "pipeline": [of_app, {"$set": {"in": it}}]}} for it in names]
        none = self.of_service.get_collection("none", codec_options=AS_BYTES)
        found: dict[str, list[bytes]] = {}
        for document in none.aggregate(pipeline):
            found.setdefault(str(document["in"]), []).append(bytes(document.raw))
        return {name: hashlib.sha256(b"".join(sorted(documents))).hexdigest() for name, documents in found.items()}

    def raw(self, collection: str) -> Iterator[RawBSONDocument]:
        """Documents of a collection, as they are stored."""
        return self.of_service.get_collection(collection, codec_options=AS_BYTES).find()
