"""Text of others in a terminal, files of others in an import, settings that open a hole."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import tarfile
import zipfile
from pathlib import Path

import httpx
import pytest

from service import BINARY, Database, Service
from tokens import bearer
from world import World

#: What a terminal obeys, besides lines and tabs.
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\x1bP\u0090\u009b\x08\r\x7f"


def printed(result: subprocess.CompletedProcess[bytes]) -> str:
    return (result.stdout + result.stderr).decode(errors="replace")


@pytest.mark.alone
def test_what_was_said_does_not_control_a_terminal(service: Service, world: World) -> None:
    client = world.orchestrator
    for content in (EVIL, {EVIL: EVIL}, [{"type": "text", "text": EVIL}]):
        client.post(
            f"{world.path}/messages", json={"role": "user", "content": content, "metadata": {"a": EVIL}}
        ).raise_for_status()
    client.patch(world.path, json={"metadata": {EVIL: EVIL}}).raise_for_status()
    client.post(f"{world.path}/tool-runs", json={"tool_name": "t", "error": EVIL}).raise_for_status()
    client.put(f"/api/apps/{world.app}/holds/{world.chat}", json={"reason": EVIL})
    tried = 0
    for arguments in (
        ["history", world.app, world.chat],
        ["history", world.app, world.chat, "--format", "text"],
        ["history", world.app, world.chat, "--format", "json"],
        ["stats", "show", world.app],
        ["apps", "list"],
        ["keys", "list"],
        ["tokens", "list"],
        ["audit", "--app", world.app],
        ["purge", "--dry-run"],
        ["check", "--deep", "--app", world.app],
        ["resume-sweep"],
    ):
        result = service.run(*arguments)
        found = CONTROL.search(printed(result))
        assert not found, (arguments, repr(found))
        tried += result.returncode == 0
    assert tried >= 8


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["history", EVIL, "x"], id="history-app"),
        pytest.param(["history", "acme_corp", EVIL], id="history-chat"),
        pytest.param(["import", "messages", f"/nowhere/{EVIL}", "--app", "a", "--dialect", "openai"], id="import"),
        pytest.param(["stats", "show", EVIL], id="stats"),
        pytest.param(["serve", "--listen", EVIL], id="listen"),
        pytest.param(["apps", "register", EVIL], id="register"),
        pytest.param([EVIL], id="command"),
    ],
)
def test_an_argument_does_not_control_a_terminal(service: Service, arguments: list[str]) -> None:
    """A script passes on names that others have chosen."""
    result = service.run(*arguments)
    assert result.returncode != 0
    assert not CONTROL.search(printed(result)), printed(result)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def imported(service: Service, *arguments: object) -> str:
    return printed(service.run("import", *map(str, arguments)))


def test_a_file_of_others_does_not_control_a_terminal(service: Service, folder: Path, app: str) -> None:
    lines = [
        {"chat_id": f"c{EVIL}", "workflow_name": "w", "messages": []},
        {"chat_id": "c1", "workflow_name": EVIL, "messages": [{"role": "user", "content": "x"}]},
        {"chat_id": "c2", "workflow_name": "w", EVIL: 1, "messages": [{"role": EVIL, "content": "x"}]},
        {"chat_id": "c3", "workflow_name": "w", EVIL: 1, "messages": [{"role": "user", "content": "x", EVIL: 1}]},
        {
            "chat_id": "c4",
            "workflow_name": "w",
            "title": EVIL,
            "messages": [{"role": "tool", "tool_call_id": EVIL, "content": EVIL}],
        },
    ]
    file = folder / "chats.jsonl"
    file.write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in lines) + f"\n{EVIL}\n")
    said = imported(service, "messages", file, "--app", app, "--dialect", "openai")
    assert "error" in said
    assert not CONTROL.search(said), repr(CONTROL.search(said))
    sessions = folder / "sessions"
    sessions.mkdir()
    name = EVIL.replace("\0", "").replace("/", "")
    (sessions / f"session_{name}.jsonl").write_text('{"type":"user","content":"x"}\n')
    (sessions / "index.json").write_text(
        json.dumps({name: {"id": name, "title": name, "file": f"session_{name}.jsonl", "status": name}})
    )
    said = imported(service, "jsonl", sessions, "--app", app)
    assert not CONTROL.search(said), repr(CONTROL.search(said))


ARCHIVES = {
    "an unknown field": {"record": "archive", EVIL: 1},
    "an unknown record": {"record": EVIL},
    "another app": {"record": "archive", "version": 1, "format": 10, "app_id": EVIL},
    "another version": {"record": "archive", "version": EVIL, "format": EVIL, "app_id": "a"},
    "text": EVIL,
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(it, id=it.replace(" ", "-")) for it in ARCHIVES],
)
def test_an_archive_of_others_does_not_control_a_terminal(service: Service, folder: Path, name: str) -> None:
    file = folder / "archive.ndjson"
    file.write_text(json.dumps(ARCHIVES[name], ensure_ascii=False) + "\n")
    said = imported(service, "archive", file)
    assert re.search("cannot|error", said), said
    assert not CONTROL.search(said), said


def test_an_index_does_not_lead_out_of_its_directory(service: Service, folder: Path, app: str) -> None:
    """Neither by a path, nor by a link, nor by the id of a session."""
    secret = "the secret of this machine"
    (folder / "secret.jsonl").write_text(json.dumps({"type": "user", "content": secret}) + "\n")
    sessions = folder / "sessions"
    sessions.mkdir()
    outside = str(folder / "secret")
    index = {}
    for number, path in enumerate(
        ("../secret.jsonl", f"{outside}.jsonl", "..\\secret.jsonl", "%2e%2e/secret.jsonl", "./../secret.jsonl")
    ):
        index[f"s{number}"] = {"id": f"s{number}", "file": path, "fileName": path, "path": path, "filename": path, "title": "t"}
    for name in "../secret", "..", ".", "/etc/passwd", f"../{folder.name}/secret", "a/../../secret", outside:
        index[name] = {"id": name, "title": "t"}
    (sessions / "index.json").write_text(json.dumps(index))
    (sessions / "session_link.jsonl").symlink_to(folder / "secret.jsonl")
    imported(service, "jsonl", sessions, "--app", app)
    with service.orchestrator(app) as client:
        for chat in client.get(f"/api/chats/{app}").json()["data"]:
            path = f"/api/chats/{app}/{chat['chat_id']}"
            text = client.get(f"{path}/history").text
            # A link of the directory is followed as its owner has put it there.
            assert secret not in text or chat["chat_id"] == "link", chat
    exported = folder / "exported"
    assert service.run("export", "jsonl", str(exported), "--app", app).returncode == 0
    assert (folder / "secret.jsonl").read_text().count(secret) == 1
    assert {it.parent for it in folder.rglob("*.jsonl")} <= {folder, sessions, exported}


def peak_of(service: Service, *arguments: object) -> tuple[int, str]:
    """The most memory that a command takes, in bytes, and what it says."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(write, 1)
        os.dup2(write, 2)
        os.execve(BINARY, [str(BINARY), *map(str, arguments)], service.environment())
    os.close(write)
    with os.fdopen(read, errors="replace") as output:
        said = output.read()
    _, _, usage = os.wait4(pid, 0)
    return usage.ru_maxrss * 1024, said


def test_a_compression_bomb_takes_bounded_memory(service: Service, folder: Path, app: str) -> None:
    bomb = gzip.compress(b'{"chat_id":"c","messages":"' + b"x" * 100_000_000, compresslevel=1)
    assert len(bomb) < 1_000_000
    file = folder / "chats.jsonl.gz"
    file.write_bytes(bomb)
    sessions = folder / "sessions"
    sessions.mkdir()
    (sessions / "session_a.jsonl.gz").write_bytes(bomb)
    (sessions / "a.json.gz").write_bytes(bomb)
    # A line, and a file, may have 32 MiB.
    for arguments in (
        ["import", "messages", file, "--app", app, "--dialect", "openai"],
        ["import", "jsonl", sessions, "--app", app],
        ["import", "json", sessions / "a.json.gz", "--app", app],
        ["import", "ag2", file, "--app", app],
    ):
        peak, said = peak_of(service, *arguments)
        assert peak < 140_000_000, (arguments, peak, said)
        assert re.search("error|fault|too|not", said), (arguments, said)
    with service.orchestrator(app) as client:
        for chat in client.get(f"/api/chats/{app}").json()["data"]:
            assert chat["last_sequence"] == 0


def test_other_archives_are_no_files_of_chats(service: Service, folder: Path, app: str) -> None:
    evil = folder / "evil"
    evil.write_text("x")
    with tarfile.open(folder / "a.tar.gz", "w:gz") as tar:
        tar.add(evil, "../../../../../tmp/abuse-escaped")
    with zipfile.ZipFile(folder / "a.zip", "w") as archive:
        archive.writestr("../../../../../tmp/abuse-escaped", "x")
    for name in "a.tar.gz", "a.zip":
        for arguments in (
            ["messages", folder / name, "--app", app, "--dialect", "openai"],
            ["archive", folder / name],
            ["ag2", folder / name, "--app", app],
        ):
            assert re.search("error|cut off|cannot", imported(service, *arguments)), arguments
    assert not Path("/tmp/abuse-escaped").exists()
    with service.orchestrator(app) as client:
        assert client.get(f"/api/chats/{app}").json()["data"] == []


@pytest.mark.alone
def test_an_archive_writes_to_collections_of_its_app_only(
    service: Service, database: Database, world: World, folder: Path
) -> None:
    """An archive is made by hand: it names other collections, other apps and operators."""
    result = service.run("export", "app", world.app)
    assert result.returncode == 0
    lines = [json.loads(line) for line in result.stdout.decode().splitlines()]
    victim = f"victim_{world.app[4:]}"
    before = database.fingerprint(victim)
    document = next(line for line in lines if line["record"] == "document" and line["collection"] == "chat_sessions")
    changes = [
        {"collection": "access_keys"},
        {"collection": "apps"},
        {"collection": "store_format"},
        {"collection": "revocations"},
        {"collection": "audit_entries"},
        {"collection": "system.users"},
        {"collection": "chat_sessions.$cmd"},
        {"collection": ""},
        {"collection": {"$ne": ""}},
        {"document": {**document["document"], "app_id": victim}},
        {"document": {**document["document"], "_id": {"$ne": None}}},
        {"document": {"$where": "1"}},
    ]
    keys = database.of_service["access_keys"].count_documents({})
    for number, change in enumerate(changes):
        forged = [json.loads(json.dumps(line)) for line in lines]
        place = next(index for index, line in enumerate(forged) if line == document)
        forged[place] |= change
        file = folder / f"forged-{number}.ndjson"
        file.write_text("\n".join(json.dumps(line) for line in forged) + "\n")
        result = service.run("import", "archive", str(file))
        assert result.returncode != 0, (change, printed(result))
        assert "panicked" not in printed(result)
    assert database.of_service["access_keys"].count_documents({}) == keys
    assert database.fingerprint(victim) == before
    with service.orchestrator(victim) as client:
        assert client.get(f"/api/chats/{victim}").json()["data"] == []


JWT = {"AUTH__MODE": "jwt", "AUTH__ALGORITHM": "HS256", "AUTH__SECRET": "s" * 40}
WEAK_SETTINGS: dict[str, dict[str, str]] = {
    "no authentication on every address": {"SERVER__LISTEN": "0.0.0.0:0"},
    "an adapter without authentication on every address": {
        "ADAPTERS__YAO__ENABLED": "true",
        "ADAPTERS__YAO__APP_ID": "a",
        "ADAPTERS__YAO__LISTEN": "0.0.0.0:0",
    },
    "a short secret": {"AUTH__MODE": "jwt", "AUTH__ALGORITHM": "HS256", "AUTH__SECRET": "short"},
    "no secret": {"AUTH__MODE": "jwt", "AUTH__ALGORITHM": "HS256"},
    "the algorithm none": {"AUTH__MODE": "jwt", "AUTH__ALGORITHM": "none"},
    "keys over plain http": {"AUTH__MODE": "jwt", "AUTH__ALGORITHM": "RS256", "AUTH__JWKS_URL": "http://login.example/jwks"},
    "keys from a file address": {"AUTH__MODE": "jwt", "AUTH__ALGORITHM": "RS256", "AUTH__JWKS_URL": "file:///etc/passwd"},
    "every origin": {**JWT, "AUTH__ALLOWED_ORIGINS": "*"},
    "the origin null": {**JWT, "AUTH__ALLOWED_ORIGINS": "null"},
    "an origin with a path": {**JWT, "AUTH__ALLOWED_ORIGINS": "https://a.example/x"},
    "webhooks over plain http": {"WEBHOOKS__URL": "http://10.0.0.1/x", "WEBHOOKS__SECRET": "whsec_" + "A" * 32},
    "webhooks to the addresses of a cloud": {
        "WEBHOOKS__URL": "http://169.254.169.254/latest",
        "WEBHOOKS__SECRET": "whsec_" + "A" * 32,
    },
    "webhooks to a file": {"WEBHOOKS__URL": "file:///etc/passwd", "WEBHOOKS__SECRET": "whsec_" + "A" * 32},
    "webhooks to another protocol": {"WEBHOOKS__URL": "gopher://127.0.0.1:6379/_x", "WEBHOOKS__SECRET": "whsec_" + "A" * 32},
    "webhooks to a name that only looks like this machine": {
        "WEBHOOKS__URL": "http://127.0.0.1.evil.example/x",
        "WEBHOOKS__SECRET": "whsec_" + "A" * 32,
    },
    "webhooks with credentials before the name": {
        "WEBHOOKS__URL": "http://127.0.0.1@evil.example/x",
        "WEBHOOKS__SECRET": "whsec_" + "A" * 32,
    },
    "webhooks without a secret": {"WEBHOOKS__URL": "https://ops.example/x"},
    "webhooks with a short secret": {"WEBHOOKS__URL": "https://ops.example/x", "WEBHOOKS__SECRET": "whsec_AAAA"},
    "no limit of bodies": {"LIMITS__BODY_BYTES": "0"},
}


ALL = [pytest.param(it, id=it.replace(" ", "-")) for it in WEAK_SETTINGS]


def started(database: Database, name: str, command: str) -> subprocess.CompletedProcess[bytes]:
    settings = {f"REPRISE__{key}": value for key, value in WEAK_SETTINGS[name].items()}
    environment = {**os.environ, "REPRISE__MONGO__URI": database.uri, "REPRISE__SERVER__LISTEN": "127.0.0.1:0", **settings}
    return subprocess.run([BINARY, command], env=environment, capture_output=True, timeout=20)


@pytest.mark.parametrize("name", ALL)
def test_settings_that_open_a_hole_are_refused(database: Database, name: str) -> None:
    result = started(database, name, "serve")
    assert result.returncode == 1, result.stdout
    assert database.password not in printed(result)


@pytest.mark.parametrize("name", ALL)
def test_a_service_that_refuses_its_settings_does_not_say_that_it_listens(database: Database, name: str) -> None:
    """What supervises it takes that line for a start."""
    assert b"listening on" not in started(database, name, "serve").stdout


@pytest.mark.parametrize("name", ALL)
def test_the_check_finds_settings_that_open_a_hole(database: Database, name: str) -> None:
    assert started(database, name, "check").returncode == 1


@pytest.mark.alone
def test_a_request_makes_the_service_fetch_nothing(service: Service, world: World, trap: list[str], trap_url: str) -> None:
    client, path = world.orchestrator, world.path
    image = {"type": "image_url", "image_url": {"url": f"{trap_url}/image.png"}}
    for method, place, body in (
        ("POST", f"{path}/messages", {"role": "user", "content": [image, {"type": "file", "file_url": f"{trap_url}/file"}]}),
        ("POST", f"{path}/messages?dialect=openai", {"messages": [{"role": "user", "content": [image]}]}),
        ("PUT", f"{path}/artifact", {"ui_tool_id": "t", "payload": {"url": f"{trap_url}/artifact", "$ref": f"{trap_url}/ref"}}),
        ("PUT", f"/api/assistants/{world.app}/a", {"name": "a", "avatar": f"{trap_url}/avatar", "config": {"url": trap_url}}),
        ("PUT", f"{path}/context", {"webhook": trap_url, "callback_url": trap_url}),
        ("PATCH", path, {"metadata": {"webhook_url": trap_url}}),
        ("POST", f"{path}/input-requests", {"prompt": "?", "metadata": {"callback": trap_url}}),
        ("POST", f"{path}/complete", {}),
    ):
        sent = client.request(method, place, json=body, headers={"x-callback-url": trap_url, "link": f"<{trap_url}>"})
        assert sent.is_success, (place, sent.text)
    for dialect in "openai", "anthropic", "gemini", "bedrock-converse", "ui-message", "langchain":
        assert client.get(f"{path}/history", params={"dialect": dialect}).status_code == 200
    # A caller sets no address of webhooks, neither in a chat nor in an app.
    for body in {"webhook_url": trap_url}, {"webhooks": {"url": trap_url}}:
        assert client.post(f"/api/chats/{world.app}", json={"workflow_name": "w", **body}).status_code == 422
        with world.user("olga", role="operator") as olga:
            olga.put(f"/api/apps/{world.app}", json={})
            assert olga.patch(f"/api/apps/{world.app}", json={"settings": body}).status_code == 422
    with service.anonymous() as anonymous:
        token = bearer({"sub": "x", "apps": "*"})
        for headers in (
            {"host": "evil.example"},
            {"x-forwarded-host": trap_url},
            {"traceparent": "00-" + "1" * 32 + "-" + "2" * 16 + "-01"},
        ):
            anonymous.get(f"/api/chats/{world.app}", headers={**headers, "authorization": f"Bearer {token}"})
    assert trap == []
    assert isinstance(client, httpx.Client)
