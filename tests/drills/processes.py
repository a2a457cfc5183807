"""The processes of a drill: members of a replica set, and services. All of them end with this program."""

from __future__ import annotations

import asyncio
import ctypes
import functools
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pymongo
import pymongo.errors

from tokens import AUDIENCE, SECRET

ROOT = Path(__file__).parents[2]
BINARY = Path(os.environ.get("REPRISE_BIN", ROOT / "target" / "debug" / "reprise"))
READY_SEC = 240
SET_NAME = "rs0"
PR_SET_PDEATHSIG = 1
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Fault(Exception):
    """Something that the service may not do."""


@functools.cache
def find_mongod() -> str:
    """Returns the mongod of `MONGOD` or of `PATH`, or the one that `reprise` downloads."""
    if named := os.environ.get("MONGOD") or shutil.which("mongod"):
        return named
    caches = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    cache = Path(os.environ.get("LOCAL_MONGOD_CACHE", caches / "reprise" / "mongod"))
    if not list(cache.glob("*/mongod")):
        # It starts a private mongod, and downloads the binary before.
        subprocess.run([BINARY, "check"], stdin=subprocess.DEVNULL, capture_output=True, timeout=600)
    return str(next(cache.glob("*/mongod")))


def free_port() -> int:
    """Returns a loopback port that no process listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


@dataclass
class Process:
    """A process that is started, killed and started again with the same arguments."""

    arguments: Sequence[str | Path]
    log: Path
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    running: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts the process."""
        environment = {**os.environ, **self.environment}
        with self.log.open("ab") as log:
            self.running = subprocess.Popen(
                self.arguments,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                preexec_fn=_end_with_parent,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        assert self.running is not None
        return self.running.pid

    @property
    def is_running(self) -> bool:
        return self.running is not None and self.running.poll() is None

    def signal(self, number: signal.Signals) -> None:
        """Sends a signal, unless the process has ended."""
        if self.is_running:
            os.kill(self.pid, number)

    async def kill(self) -> None:
        """Kills the process: nothing that it was doing is finished."""
        self.signal(signal.SIGKILL)
        await self.wait()

    async def stop(self, seconds: float = 60) -> int:
        """Asks the process to stop; returns its status."""
        self.signal(signal.SIGTERM)
        return await self.wait(seconds)

    async def wait(self, seconds: float = 60) -> int:
        """Waits until the process has ended."""
        assert self.running is not None
        until = time.monotonic() + seconds
        while (status := self.running.poll()) is None:
            if time.monotonic() > until:
                raise Fault(f"{self.arguments[0]} has not ended within {seconds} s")
            await asyncio.sleep(0.02)
        return status

    def resident_bytes(self) -> int | None:
        """Returns the memory of the process, or nothing if it has ended."""
        try:
            return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * PAGE_BYTES
        except (OSError, IndexError, AssertionError):
            return None

    def cpu_sec(self) -> float:
        """Returns the processor time of the process, 0 if it has ended."""
        try:
            fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        except (OSError, IndexError, AssertionError):
            return 0
        return (int(fields[11]) + int(fields[12])) / CLOCK_TICKS


class Member(Process):
    """A mongod of a replica set."""

    def __init__(
        self, folder: Path, number: int, *, dbpath: Path | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        self.port = free_port()
        self.dbpath = dbpath or folder / f"member-{number}"
        self.dbpath.mkdir(parents=True, exist_ok=True)
        arguments: list[str | Path] = [find_mongod(), "--dbpath", self.dbpath, "--port", str(self.port), "--replSet", SET_NAME]
        arguments += ["--bind_ip", "127.0.0.1", "--oplogSize", "64", "--wiredTigerCacheSizeGB", "0.25"]
        arguments += ["--nounixsocket", "--noscripting"]
        # As OPERATIONS.md recommends them, and without files for support.
        for parameter in (
            "shutdownTimeoutMillisForSignaledShutdown=100",
            "transactionLifetimeLimitSeconds=5",
            "diagnosticDataCollectionEnabled=false",
            "oplogFetcherSteadyStateMaxFetcherRestarts=0",
            "oplogNetworkTimeoutBufferSeconds=1",
            "ttlMonitorSleepSecs=2",
        ):
            arguments += ["--setParameter", parameter]
        super().__init__(arguments, folder / f"member-{number}.log", environment or {})

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def ask(self, command: str, value: Any = 1, **more: Any) -> dict[str, Any]:
        """Runs a command at this member alone."""
        client: pymongo.MongoClient[dict[str, Any]] = pymongo.MongoClient(
            self.address, directConnection=True, serverSelectionTimeoutMS=1000, socketTimeoutMS=10_000
        )
        with client:
            return client.admin.command(command, value, **more)


class ReplicaSet:
    """The members of a replica set."""

    def __init__(self, members: list[Member]) -> None:
        self.members = members

    @property
    def uri(self) -> str:
        return self.uri_of([it.address for it in self.members])

    @staticmethod
    def uri_of(addresses: list[str]) -> str:
        """Returns the connection string of a set with members at these addresses."""
        return f"mongodb://{','.join(addresses)}/?replicaSet={SET_NAME}"

    async def start(self, addresses: list[str] | None = None, first_choice: int | None = None) -> None:
        """Starts all members, and makes them a set with these addresses, by default their own; one may be elected first."""
        for member in self.members:
            member.start()
        for member in self.members:
            await until(lambda it=member: it.ask("ping"), f"{member.address} to answer")
        hosts = addresses or [it.address for it in self.members]
        config = {
            "_id": SET_NAME,
            "members": [
                {"_id": number, "host": host, "priority": 2 if number == first_choice else 1}
                for number, host in enumerate(hosts)
            ],
        }
        await asyncio.to_thread(self.members[0].ask, "replSetInitiate", config)
        await self.wait_until_whole()

    async def primary(self) -> Member:
        """Waits for a primary that its members agree on."""
        return await until(self.find_primary, "a primary")

    def find_primary(self) -> Member | None:
        """Returns the primary, unless there is none or more than one."""
        found: list[Member] = []
        for member in self.members:
            if member.is_running:
                try:
                    hello = member.ask("hello")
                except pymongo.errors.PyMongoError:
                    continue
                if hello.get("isWritablePrimary"):
                    found.append(member)
        return found[0] if len(found) == 1 else None

    async def wait_until_whole(self) -> None:
        """Waits until one member is the primary and all others follow it."""
        await until(self._is_whole, "the replica set to be whole")

    def _is_whole(self) -> bool:
        states = sorted(it["stateStr"] for it in self.members[0].ask("replSetGetStatus")["members"])
        return states == ["PRIMARY"] + ["SECONDARY"] * (len(self.members) - 1) and self.find_primary() is not None

    def client(self) -> pymongo.MongoClient[dict[str, Any]]:
        """Returns a client of the database itself, behind the back of the services."""
        return pymongo.MongoClient(self.uri, serverSelectionTimeoutMS=30_000)

    async def end(self) -> None:
        """Ends every member."""
        for member in self.members:
            member.signal(signal.SIGKILL)
        for member in self.members:
            if member.running:
                await member.wait()


async def until(condition: Callable[[], Any], what: str, seconds: float = READY_SEC) -> Any:
    """Waits until a condition of the database holds; returns what it has found."""
    gives_up = time.monotonic() + seconds
    while True:
        error: object = None
        try:
            if found := await asyncio.to_thread(condition):
                return found
        except pymongo.errors.PyMongoError as caught:
            error = caught
        if time.monotonic() > gives_up:
            raise Fault(f"waited {seconds} s for {what}: {error}")
        await asyncio.sleep(0.1)


class Service(Process):
    """A service. Settings are named as in `deploy/config.default.toml`."""

    def __init__(self, folder: Path, name: str, settings: Mapping[str, object], more: Mapping[str, str] | None = None) -> None:
        self.name = name
        self.port = free_port()
        folder.mkdir(parents=True, exist_ok=True)
        given = {
            "server.listen": f"127.0.0.1:{self.port}",
            "auth.mode": "jwt",
            "auth.algorithm": "HS256",
            "auth.secret": SECRET,
            "auth.audience": AUDIENCE,
            "log.filter": "warn,persistence::mongo::engine::observation=error",
            **settings,
        }
        environment = {f"REPRISE__{key.upper().replace('.', '__')}": str(value) for key, value in given.items()}
        super().__init__([BINARY, "serve"], folder / f"{name}.log", {**environment, **(more or {})})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def wait_until_ready(self, seconds: float = READY_SEC) -> None:
        """Waits until the service is ready."""
        gives_up = time.monotonic() + seconds
        async with httpx.AsyncClient(trust_env=False, verify=False) as client:
            while True:
                try:
                    if (await client.get(f"{self.url}/api/health/ready", timeout=15)).status_code == 200:
                        return
                except httpx.TransportError:
                    pass
                if time.monotonic() > gives_up or not self.is_running:
                    raise Fault(f"{self.name} is not ready: {self.log.read_text()[-2000:]}")
                await asyncio.sleep(0.1)

    async def run(self, *arguments: str | Path, seconds: float = 1800) -> Said:
        """Runs a command of the binary with the settings of the service."""
        process = await asyncio.create_subprocess_exec(
            BINARY,
            *arguments,
            env={**os.environ, **self.environment},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            output, _ = await asyncio.wait_for(process.communicate(), seconds)
        except TimeoutError:
            process.kill()
            raise Fault(f"`reprise {' '.join(map(str, arguments))}` has not ended within {seconds} s") from None
        return Said(process.returncode or 0, output.decode())

    async def tell(self, *arguments: str | Path) -> str:
        """Runs a command that must succeed; returns what it prints."""
        said = await self.run(*arguments)
        if said.status != 0:
            raise Fault(f"`reprise {' '.join(map(str, arguments))}` ends with {said.status}: {said.text[-3000:]}")
        return said.text


@dataclass(frozen=True)
class Said:
    """What a command has printed, and its status."""

    status: int
    text: str


CHECKS = (("check", "--deep"), ("stats", "verify"), ("wallets", "verify"))


#: What `check` says if the primary changes just then; see *Known faults* in docs/FAULTS.md.
ELECTED_MEANWHILE = "the server has no transactions"


async def run_checks(service: Service) -> list[tuple[str, Said]]:
    """Runs the commands that judge a whole database."""
    found: list[tuple[str, Said]] = []
    for command in CHECKS:
        for _ in range(3):
            said = await service.run(*command)
            if ELECTED_MEANWHILE not in said.text:
                break
        found.append((f"reprise {' '.join(command)}", said))
    return found


async def verify_database(service: Service) -> None:
    """The commands that judge a whole database find nothing wrong."""
    for command, said in await run_checks(service):
        if said.status != 0:
            raise Fault(f"`{command}` ends with {said.status}: {said.text[-3000:]}")
