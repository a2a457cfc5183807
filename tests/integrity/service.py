"""A service with or without a key, the commands beside it, and its database."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pymongo

APP = "acme_corp"
WAIT_SEC = 30


def create_key(folder: Path) -> Path:
    """Creates a key as docs/operations/data.md describes it."""
    file = folder / "integrity.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", file], check=True)
    return file


class Service:
    """A process that serves the API, on a database of its own."""

    def __init__(self, binary: Path, database: str, key: Path | None, interval_ms: int) -> None:
        self.binary = binary
        self.has_key = key is not None
        self.environment = {
            **os.environ,
            "REPRISE__MONGO__URI": os.environ["MONGODB_URI"],
            "REPRISE__MONGO__DATABASE": database,
            "REPRISE__SERVER__LISTEN": "127.0.0.1:0",
            # A service logs the chats that were changed, which is what happens here.
            "REPRISE__LOG__FILTER": "off",
            "REPRISE__SEARCH__ENABLED": "false",
        }
        if key is not None:
            self.environment["REPRISE__INTEGRITY__KEY_FILE"] = str(key)
            self.environment["REPRISE__INTEGRITY__INTERVAL_MS"] = str(interval_ms)
        self.mongo: pymongo.MongoClient[dict[str, Any]] = pymongo.MongoClient(os.environ["MONGODB_URI"])
        self.database = self.mongo[database]
        self.start()

    def start(self) -> None:
        """Starts the process, and waits until it is ready."""
        self.process = subprocess.Popen([self.binary, "serve"], env=self.environment, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        url = self.process.stdout.readline().removeprefix("listening on ").strip()
        self.http = httpx.Client(base_url=url, trust_env=False, timeout=WAIT_SEC)
        until("the service is ready", lambda: self.http.get("/api/health/ready").is_success)

    def stop(self) -> None:
        """Stops the process as an operator does."""
        self.process.terminate()
        self.process.wait(WAIT_SEC)
        self.http.close()

    def close(self) -> None:
        """Stops the process, and drops its database."""
        if self.process.poll() is None:
            self.stop()
        self.mongo.drop_database(self.database.name)
        self.mongo.close()

    def create_chat(self) -> str:
        """Creates a chat; returns its id."""
        created = self.http.post(f"/api/chats/{APP}", json={"workflow_name": "Generator"})
        chat_id: str = created.raise_for_status().json()["chat_id"]
        return chat_id

    def append(self, chat_id: str, content: str) -> None:
        """Appends one message."""
        body = {"messages": [{"role": "user", "name": "user", "content": content}]}
        self.http.post(f"/api/chats/{APP}/{chat_id}/messages", json=body).raise_for_status()

    def wait_until_signed(self, chat_id: str, sequence: int) -> None:
        """Waits for a pass that has signed a message. Without a key there is none."""
        path = f"/api/chats/{APP}/{chat_id}/messages/{sequence}/proof"
        if self.has_key:
            until("the message is signed", lambda: self.http.get(path).json()["verdict"] == "signed")

    def wait_for_pass(self) -> None:
        """Waits until this process has finished a pass. The first one looks at every chat."""
        signed_at = "reprise_integrity_pass_timestamp_seconds "
        broken = "reprise_integrity_broken_chats "

        def has_passed() -> bool:
            lines = self.http.get("/metrics").text.splitlines()
            values = (line.removeprefix(name) for line in lines for name in (signed_at, broken) if line.startswith(name))
            return any(float(value) > 0 for value in values)

        if self.has_key:
            until("a pass over the chats", has_passed)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs a command with the settings of the service."""
        command = [str(self.binary), *arguments]
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=WAIT_SEC)

    def export_checkpoints(self) -> str:
        """Returns what an operator keeps away from the database."""
        return self._successful("export", "checkpoints", "--app", APP)

    def faults(self, checkpoints: str | None) -> list[str]:
        """Returns the faults that `reprise check --deep` prints, with the checkpoints that were exported before."""
        with tempfile.NamedTemporaryFile("w", suffix=".checkpoints") as file:
            file.write(checkpoints or "")
            file.flush()
            said = self.run("check", "--deep", *([] if checkpoints is None else ["--checkpoints", file.name]))
        faults = [line for line in said.stdout.splitlines() if line.startswith("FAULT")]
        # The status says the same as the lines.
        if said.returncode != (1 if faults else 0):
            raise RuntimeError(f"`reprise check` ends with {said.returncode}: {said.stdout}{said.stderr}")
        return faults

    def _successful(self, *arguments: str) -> str:
        said = self.run(*arguments)
        if said.returncode != 0:
            raise RuntimeError(f"`reprise {' '.join(arguments)}` ends with {said.returncode}: {said.stderr}")
        return said.stdout


def until(what: str, is_so: Callable[[], bool]) -> None:
    """Waits until something is so."""
    end = time.monotonic() + WAIT_SEC
    while True:
        try:
            if is_so():
                return
        except httpx.TransportError:
            pass
        if time.monotonic() > end:
            raise RuntimeError(f"not within {WAIT_SEC} s: {what}")
        time.sleep(0.02)
