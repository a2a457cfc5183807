"""The binaries of two releases, their services, and the database that they share."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

READY_SEC = 30
# The app whose chats change during the drill, and the app that stays as the previous release has left it.
BUSY_APP, STEADY_APP = "busy_corp", "steady_corp"


class Fault(Exception):
    """Something that an upgrade may not do."""


@dataclass(frozen=True)
class Release:
    """A binary, and how the table calls it."""

    name: str
    binary: Path


@dataclass
class Database:
    """A database on the private mongod, with the settings of everything that works on it."""

    uri: str
    name: str
    log: Path
    secret: str = field(default_factory=lambda: secrets.token_hex(32))

    def environment(self) -> dict[str, str]:
        """Returns the environment of a service and of a command."""
        return {
            **os.environ,
            "REPRISE__MONGO__URI": self.uri,
            "REPRISE__MONGO__DATABASE": self.name,
            "REPRISE__SERVER__LISTEN": "127.0.0.1:0",
            "REPRISE__AUTH__MODE": "jwt",
            "REPRISE__AUTH__ALGORITHM": "HS256",
            "REPRISE__AUTH__SECRET": self.secret,
            "REPRISE__AUTH__AUDIENCE": "drill",
            # A busy machine is slow; that is no finding of this drill.
            "REPRISE__LOG__FILTER": "warn,persistence::mongo::engine::observation=error",
        }


@dataclass(frozen=True)
class Said:
    """What a command has printed, and its status."""

    status: int
    text: str


async def run(release: Release, database: Database, *arguments: str) -> Said:
    """Runs a command of a release to its end."""
    process = await asyncio.create_subprocess_exec(
        release.binary,
        *arguments,
        env=database.environment(),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    return Said(process.returncode or 0, output.decode())


async def tell(release: Release, database: Database, *arguments: str) -> str:
    """Runs a command that must succeed; returns what it prints."""
    said = await run(release, database, *arguments)
    if said.status != 0:
        raise Fault(f"{release.name}: `reprise {' '.join(arguments)}` ends with {said.status}: {said.text}")
    return said.text


@dataclass(frozen=True)
class Format:
    """What `reprise upgrade` says of a database."""

    stored: int
    newest: int
    pending: frozenset[str]


async def read_format(release: Release, database: Database) -> Format:
    """Asks a release for the format of the database; the status of the command does not matter."""
    said = await run(release, database, "upgrade", "--json")
    try:
        found: dict[str, Any] = json.loads(said.text.splitlines()[-1])
        return Format(found["stored"], found["newest"], frozenset(found["pending"]))
    except (ValueError, IndexError, KeyError) as error:
        raise Fault(f"{release.name}: `reprise upgrade --json` prints no format: {said.text}") from error


class Service:
    """A process of a release that serves the API."""

    def __init__(self, release: Release, process: asyncio.subprocess.Process, url: str) -> None:
        self.release = release
        self.url = url
        self._process = process

    @classmethod
    async def start(cls, release: Release, database: Database) -> Service:
        """Starts a service, and waits until it is ready."""
        log = os.open(database.log, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
        try:
            process = await asyncio.create_subprocess_exec(
                release.binary,
                "serve",
                env=database.environment(),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
            )
        finally:
            os.close(log)
        assert process.stdout is not None
        line = (await process.stdout.readline()).decode().strip()
        if not line.startswith("listening on "):
            raise Fault(f"{release.name}: `reprise serve` says {line!r} instead of its address")
        service = cls(release, process, line.removeprefix("listening on "))
        await service._wait_until_ready()
        return service

    async def _wait_until_ready(self) -> None:
        async with httpx.AsyncClient(trust_env=False) as client:
            for _ in range(READY_SEC * 10):
                try:
                    if (await client.get(f"{self.url}/api/health/ready")).status_code == 200:
                        return
                except httpx.TransportError:
                    pass
                await asyncio.sleep(0.1)
        await self.kill()
        raise Fault(f"{self.release.name}: the service is not ready within {READY_SEC} s")

    async def stop(self) -> None:
        """Stops the service as an operator does."""
        if self._process.returncode is None:
            self._process.terminate()
        status = await self._process.wait()
        if status != 0:
            raise Fault(f"{self.release.name}: a service that is stopped ends with {status}")

    async def kill(self) -> None:
        """Kills the process: nothing that it was doing is finished."""
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()


class Fleet:
    """The services that clients reach, which take turns."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.services: list[Service] = []
        self._turn = 0

    def next_url(self) -> str:
        """Returns the address of the service whose turn it is. It may be stopping."""
        self._turn += 1
        return self.services[self._turn % len(self.services)].url

    async def add(self, release: Release) -> None:
        """Adds a service of a release."""
        self.services.append(await Service.start(release, self.database))

    async def replace(self, place: int, release: Release, *, killed: bool = False) -> None:
        """Ends a service, and then starts one of a release in its place. Clients notice by errors only."""
        old = self.services[place]
        await (old.kill() if killed else old.stop())
        self.services[place] = await Service.start(release, self.database)

    async def end(self) -> None:
        """Ends every process, also after a fault."""
        for service in self.services:
            await service.kill()

    def describe(self) -> str:
        """Says which releases run."""
        return " + ".join(service.release.name for service in self.services)
