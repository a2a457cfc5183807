"""What the cases share: a folder, members and services that end with the case."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from appending import Appending
from processes import Member, ReplicaSet, Service

DATABASE = "drills"


class Case:
    """The processes of a case."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._sets: list[ReplicaSet] = []
        self._services: list[Service] = []
        self._loads: list[Appending] = []
        key = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        (folder / "integrity.pem").write_bytes(key)

    async def members(self, members: list[Member], **options: Any) -> ReplicaSet:
        """Starts a replica set."""
        found = ReplicaSet(members)
        self._sets.append(found)
        await found.start(**options)
        return found

    async def service(
        self, uri: str | None, name: str = "service-1", environment: Mapping[str, str] | None = None, **settings: object
    ) -> Service:
        """Starts a service, with a private mongod if no other is named, and waits until it is ready.

        In names of settings, `__` stands for a dot.
        """
        given = {
            **({"mongo.uri": uri} if uri else {}),
            "mongo.database": DATABASE,
            "integrity.key_file": self.folder / "integrity.pem",
            "integrity.interval_ms": 1000,
            **{key.replace("__", "."): value for key, value in settings.items()},
        }
        service = Service(self.folder, name, given, environment)
        self._services.append(service)
        service.start()
        await service.wait_until_ready()
        return service

    async def load(self, *services: Service, **options: Any) -> Appending:
        """Starts writers at these services."""
        load = Appending(list(services), **options)
        await load.start()
        self._loads.append(load)
        return load

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[Case]:
        """Ends every process when the case ends, also after a fault."""
        try:
            yield self
        finally:
            for load in self._loads:
                await load.close()
            for service in self._services:
                if service.running:
                    await service.kill()
            for members in self._sets:
                await members.end()


@pytest.fixture
def case(tmp_path: Path) -> Iterator[Case]:
    """The processes of one case."""
    yield Case(tmp_path)
