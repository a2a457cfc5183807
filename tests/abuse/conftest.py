"""Services that are attacked: one with every surface, and some with other settings on the same database."""

from __future__ import annotations

import http.server
import json
import threading
import uuid
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from operations import Operation, operations
from service import Database, Service
from tokens import AUDIENCE, ISSUER, SECRET, claims
from world import World

ADAPTERS = ("chatsg", "discobot", "hecate", "mozaiks", "yao")
FRIEND = "https://friend.example"
WITHOUT_QUOTAS = {
    "limits.requests_per_sec_per_user": 0,
    "limits.new_chats_per_min_per_user": 0,
    "limits.failed_attempts_per_min_per_address": 0,
}


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that requires tokens, with every adapter on a listener, and without quotas."""
    settings: dict[str, object] = {
        "auth.mode": "jwt",
        "auth.algorithm": "HS256",
        "auth.secret": SECRET,
        "auth.issuer": ISSUER,
        "auth.audience": AUDIENCE,
        "auth.allowed_origins": FRIEND,
        "log.format": "json",
        "auth.leeway_sec": 0,
        "limits.header_timeout_ms": 1000,
        "limits.recheck_ms": 1500,
        **WITHOUT_QUOTAS,
    }
    for name in ADAPTERS:
        settings[f"adapters.{name}.enabled"] = "true"
        settings[f"adapters.{name}.app_id"] = "bound_app"
        settings[f"adapters.{name}.listen"] = "127.0.0.1:0"
    service = Service(settings, tmp_path_factory.mktemp("service"))
    service.wait_until_ready()
    yield service
    service.stop()


@pytest.fixture(scope="session")
def database(service: Service) -> Database:
    return Database(service.data_dir)


@pytest.fixture(scope="session")
def issuer_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65_537, key_size=2048)


@pytest.fixture(scope="session")
def tight(tmp_path_factory: pytest.TempPathFactory, database: Database, issuer_key: rsa.RSAPrivateKey) -> Iterator[Service]:
    """A service with public keys, small limits and short times, on the database of the first one."""
    folder = tmp_path_factory.mktemp("tight")
    key = {**json.loads(RSAAlgorithm.to_jwk(issuer_key.public_key())), "kid": "key-1", "use": "sig", "alg": "RS256"}
    (folder / "jwks.json").write_text(json.dumps({"keys": [key]}))
    settings = {
        "auth.mode": "jwt",
        "auth.algorithm": "RS256",
        "auth.key_file": folder / "jwks.json",
        "mongo.uri": database.uri,
        "limits.body_bytes": 65_536,
        "limits.request_timeout_ms": 1500,
        "limits.header_timeout_ms": 700,
        "limits.connections_per_address": 40,
        "limits.requests_per_sec_per_user": 5,
        "limits.new_chats_per_min_per_user": 5,
        "limits.questions_per_min_per_app": 5,
        "limits.streams_per_user": 2,
        "limits.failed_attempts_per_min_per_address": 0,
        "limits.frames_per_sec": 5,
        "limits.frames_burst": 5,
    }
    service = Service(settings, folder)
    service.wait_until_ready()
    yield service
    service.stop()


@pytest.fixture(scope="session")
def orchestrator_key(issuer_key: rsa.RSAPrivateKey) -> str:
    """A token of an orchestrator for the service with public keys."""
    return jwt.encode(claims(sub="orchestrator", role="service"), issuer_key, "RS256", {"kid": "key-1"})


@pytest.fixture(scope="session")
def token_of(issuer_key: rsa.RSAPrivateKey) -> Callable[[str], str]:
    """Makes tokens of persons for the service with public keys."""
    return lambda name: jwt.encode(claims(sub=name), issuer_key, "RS256", {"kid": "key-1"})


@pytest.fixture(scope="session")
def unguarded(tmp_path_factory: pytest.TempPathFactory, database: Database) -> Iterator[Service]:
    """A service without authentication, as on the machine of a developer, on the database of the first one."""
    service = Service({"mongo.uri": database.uri, **WITHOUT_QUOTAS}, tmp_path_factory.mktemp("unguarded"))
    service.wait_until_ready()
    yield service
    service.stop()


@pytest.fixture
def app() -> str:
    """The id of an app of the test alone."""
    return f"app_{uuid.uuid4().hex[:12]}"


@pytest.fixture(scope="session")
def api(service: Service) -> list[Operation]:
    """Every operation of the API."""
    with service.anonymous() as client:
        return operations(client)


@pytest.fixture(scope="session")
def shared_world(service: Service, database: Database) -> Iterator[World]:
    """An app with a private chat of alice, which has some of every record."""
    world = World(service, database, f"app_{uuid.uuid4().hex[:12]}")
    yield world
    world.close()


@pytest.fixture
def world(request: pytest.FixtureRequest, service: Service, database: Database, app: str) -> Iterator[World]:
    """The same. Tests that change it have one alone."""
    if not request.node.get_closest_marker("alone"):
        yield request.getfixturevalue("shared_world")
        return
    world = World(service, database, app)
    yield world
    world.close()


@pytest.fixture
def orchestrator(service: Service, app: str) -> Iterator[httpx.Client]:
    with service.orchestrator(app) as client:
        yield client


@pytest.fixture
def chat(orchestrator: httpx.Client, app: str) -> str:
    """The path of a private chat of alice, without messages."""
    body: dict[str, Any] = {"chat_id": f"chat-{uuid.uuid4().hex[:12]}", "workflow_name": "Generator", "user_id": "alice"}
    created = orchestrator.post(f"/api/chats/{app}", json=body)
    assert created.status_code == 201, created.text
    return f"/api/chats/{app}/{body['chat_id']}"


@pytest.fixture
def trap() -> Iterator[list[str]]:
    """What was asked of an address that nothing may ask."""
    yield Trap.asked
    Trap.asked.clear()


@pytest.fixture
def trap_url() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Trap)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


class Trap(http.server.BaseHTTPRequestHandler):
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        Trap.asked.append(self.path)
        self.send_response(200)
        self.end_headers()

    do_POST = do_GET

    def log_message(self, *_: object) -> None:
        pass
