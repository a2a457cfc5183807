"""Forged, stale and borrowed tokens."""

from __future__ import annotations

import base64
import json
import time
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from raw import exchange
from service import Service, problem
from tokens import SECRET, bearer, claims, part, signed
from world import World

HEADER = {"alg": "HS256", "typ": "JWT"}
NOW = int(time.time())


def status(service: Service, token: str) -> tuple[int, str | None]:
    with service.client(token) as client:
        response = client.get("/api/chats/acme_corp")
        if response.is_success:
            return response.status_code, None
        assert token not in response.text
        return problem(response)


def test_a_valid_token_is_accepted(service: Service) -> None:
    """Otherwise the refusals below would say nothing."""
    assert status(service, bearer({})) == (200, None)
    assert status(service, signed({"alg": "HS256"}, claims())) == (200, None)
    assert status(service, signed({"alg": "HS256", "typ": "at+jwt"}, claims())) == (200, None)


def unsigned(algorithm: str) -> str:
    return f"{part({'alg': algorithm, 'typ': 'JWT'})}.{part(claims())}."


def with_padding() -> str:
    head, payload, signature = bearer({}).split(".")
    return f"{head}=.{payload}=.{signature}="


FORGERIES = {
    "alg none": unsigned("none"),
    "alg None": unsigned("None"),
    "alg NONE": unsigned("NONE"),
    "alg nOnE with a signature": signed({"alg": "nOnE"}, claims()),
    "an empty signature": bearer({}).rsplit(".", 1)[0] + ".",
    "no signature": bearer({}).rsplit(".", 1)[0],
    "a signature of zeros": f"{bearer({}).rsplit('.', 1)[0]}.{part(bytes(32))}",
    "a changed payload": f"{part(HEADER)}.{part(claims(role='service'))}.{bearer({}).rsplit('.', 1)[1]}",
    "another secret": signed(HEADER, claims(), b"another-secret-of-the-tests-of-32-bytes"),
    "an empty secret": signed(HEADER, claims(), b""),
    "HS384": signed({"alg": "HS384"}, claims(), digest="sha384"),
    "HS512": signed({"alg": "HS512"}, claims(), digest="sha512"),
    "RS256 in the header": signed({"alg": "RS256"}, claims()),
    "EdDSA in the header": signed({"alg": "EdDSA"}, claims()),
    "a list of algorithms": signed({"alg": ["HS256", "none"]}, claims()),
    "no algorithm": signed({"typ": "JWT"}, claims()),
    "alg null": signed({"alg": None}, claims()),
    "alg hs256": signed({"alg": "hs256"}, claims()),
    "two algorithms": signed(b'{"alg":"none","alg":"HS256"}', claims()),
    "critical extensions": signed({**HEADER, "crit": ["b64"], "b64": False}, claims()),
    "an encrypted token": f"{part({'alg': 'dir', 'enc': 'A256GCM'})}..AAAA.AAAA.AAAA",
    "an ID token": signed({"alg": "HS256", "typ": "id_token+jwt"}, claims()),
    "a logout token": signed({"alg": "HS256", "typ": "logout+jwt"}, claims()),
    "a header that is no object": signed(["HS256"], claims()),
    "a payload that is no object": signed(HEADER, "alice"),
    "a payload that is no JSON": signed(HEADER, b"sub=alice"),
    "claims given twice": signed(HEADER, json.dumps(claims())[:-1].encode() + b',"sub":"mallory"}'),
    "a role given twice": signed(HEADER, json.dumps(claims(role="user"))[:-1].encode() + b',"role":"service"}'),
    "the other base64": f"{base64.b64encode(json.dumps(HEADER).encode()).decode()}.{part(claims())}.AAAA",
    "padding": with_padding(),
    "dots": "..",
    "a key of the wrong form": "reprise_" + "0" * 64,
    "long parts": "a" * 7000 + ".b.c",
}


@pytest.mark.parametrize("forgery", FORGERIES, ids=lambda it: it.replace(" ", "-"))
def test_a_forged_token_is_refused(service: Service, forgery: str) -> None:
    assert status(service, FORGERIES[forgery]) == (401, "unauthenticated")


CLAIMS: dict[str, dict[str, Any]] = {
    "expired": {"exp": NOW - 60},
    "no expiry": {"exp": None},
    "an expiry as text": {"exp": str(NOW + 60)},
    "an expiry that is no number": {"exp": "never"},
    "an expiry below zero": {"exp": -1},
    "an expiry that is null": {"exp": [NOW + 60]},
    "not valid yet": {"nbf": NOW + 600},
    "a start as text": {"nbf": "x"},
    "another issuer": {"iss": "https://evil.example"},
    "no issuer": {"iss": None},
    "a prefix of the issuer": {"iss": "https://login.example.evil.example"},
    "another audience": {"aud": "another-service"},
    "no audience": {"aud": None},
    "an empty audience": {"aud": []},
    "no subject": {"sub": None},
    "an empty subject": {"sub": ""},
    "a subject that is an object": {"sub": {"$ne": None}},
    "a subject with a line": {"sub": "ali\nce"},
    "a subject with NUL": {"sub": "alice\0"},
    "a subject with blanks": {"sub": " alice"},
    "a subject that is a number": {"sub": 1},
    "apps that are an object": {"apps": {"$ne": ""}},
    "a team that is an object": {"team": {"$ne": ""}},
}


@pytest.mark.parametrize("name", CLAIMS, ids=lambda it: it.replace(" ", "-"))
def test_claims_that_do_not_hold_are_refused(service: Service, name: str) -> None:
    assert status(service, signed(HEADER, claims(**CLAIMS[name]))) == (401, "unauthenticated")


@pytest.mark.parametrize("apps", [None, [], [""], ["other_app"], ["acme_corp*"], ["ACME_CORP"], "acme_corp", ["**"], [".*"]])
def test_apps_are_names_and_no_patterns(service: Service, apps: Any) -> None:
    found, code = status(service, signed(HEADER, claims(apps=apps)))
    assert (found, code) in ((401, "unauthenticated"), (403, "forbidden-app")), apps


@pytest.mark.parametrize("role", ["Service", "SERVICE", "admin", "root", "service ", "service\0", "", "*"])
def test_a_role_that_is_not_known_gives_no_right(service: Service, world: World, role: str) -> None:
    before = world.fingerprint()
    with service.client(signed(HEADER, claims(sub="mallory", apps=[world.app], role=role))) as client:
        refused = client.get(world.path)
        assert problem(refused) in ((404, "chat-not-found"), (401, "unauthenticated"))
        assert problem(client.get("/api/apps"))[0] in (401, 403)
        assert problem(client.get(f"/api/stats/{world.app}"))[0] in (401, 403)
    assert world.fingerprint() == before


@pytest.mark.parametrize("role", [["service"], {"$in": ["service"]}, True, 1])
def test_a_role_of_another_type_gives_no_right(service: Service, world: World, role: Any) -> None:
    with service.client(signed(HEADER, claims(sub="mallory", apps=[world.app], role=role))) as client:
        assert problem(client.get(world.path)) in ((404, "chat-not-found"), (401, "unauthenticated"))


def test_keys_that_a_token_brings_or_names_are_not_used(
    tight: Service, issuer_key: rsa.RSAPrivateKey, trap: list[str], trap_url: str
) -> None:
    mallory = rsa.generate_private_key(public_exponent=65_537, key_size=2048)
    own = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(mallory.public_key()))
    payload = claims(sub="mallory")
    good = jwt.encode(payload, issuer_key, "RS256", {"kid": "key-1"})
    assert status(tight, good) == (200, None)
    # The names of keys are looked up in the configured list, and nowhere else.
    for kid in ("../../../../dev/null", "/dev/null", "key-1\0", "", f"{trap_url}/jwks", "$ne"):
        assert status(tight, jwt.encode(payload, mallory, "RS256", {"kid": kid})) == (401, "unauthenticated")
        assert status(tight, signed({"alg": "HS256", "kid": kid}, payload, b"")) == (401, "unauthenticated")
    for extra in (
        {"jku": f"{trap_url}/jwks"},
        {"x5u": f"{trap_url}/certificate"},
        {"jwk": own},
        {"x5c": [base64.b64encode(b"certificate").decode()]},
        {"kid": {"$ne": None}},
        {"kid": ["key-1"]},
        {"kid": 1},
    ):
        for kid in {"kid": "key-1"}, {"kid": "unknown"}, {}:
            text = f"{part({'alg': 'RS256', **kid, **extra})}.{part(payload)}"
            raw = mallory.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256())
            assert status(tight, f"{text}.{part(raw)}") == (401, "unauthenticated"), extra
    assert trap == []


def test_a_public_key_is_no_shared_secret(tight: Service, issuer_key: rsa.RSAPrivateKey) -> None:
    public = issuer_key.public_key()
    forms = [
        public.public_bytes(encoding, form)
        for encoding, form in (
            (serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo),
            (serialization.Encoding.PEM, serialization.PublicFormat.PKCS1),
            (serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo),
        )
    ]
    forms += [forms[0].strip(), json.dumps(json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(public))).encode()]
    for secret in forms:
        for header in {"alg": "HS256"}, {"alg": "HS256", "kid": "key-1"}:
            assert status(tight, signed(header, claims(), secret)) == (401, "unauthenticated")
    for algorithm in "RS384", "RS512", "PS256":
        token = jwt.encode(claims(), issuer_key, algorithm, {"kid": "key-1"})
        assert status(tight, token) == (401, "unauthenticated")


def test_a_token_of_one_service_is_not_one_of_another(tight: Service, service: Service, issuer_key: rsa.RSAPrivateKey) -> None:
    assert status(tight, bearer({})) == (401, "unauthenticated")
    assert status(service, jwt.encode(claims(), issuer_key, "RS256", {"kid": "key-1"})) == (401, "unauthenticated")


@pytest.mark.parametrize("name", ["token", "access_token", "authorization", "bearer", "jwt", "ticket"])
def test_a_token_in_the_address_is_none(service: Service, world: World, name: str) -> None:
    with service.anonymous() as client:
        token = bearer({"sub": "alice", "apps": [world.app]})
        refused = client.get(world.path, params={name: token})
        assert problem(refused)[0] in (401, 422)
        refused = client.get(f"{world.path}/events", params={name: token})
        assert problem(refused)[0] in (401, 422)
    assert token not in service.log()


def test_a_token_in_a_cookie_is_none(service: Service, world: World) -> None:
    token = bearer({"sub": "alice", "apps": [world.app]})
    for name in (
        "__Host-access_token",
        "__Secure-access_token",
        "access_token",
        "__Host-session",
        "__Host-reprise_session",
        "token",
    ):
        with service.anonymous() as client:
            headers = {"cookie": f"{name}={token}", "origin": service.url}
            assert problem(client.get(world.path, headers=headers)) == (401, "unauthenticated"), name
            assert problem(client.post(f"{world.path}/messages", json={}, headers=headers)) == (401, "unauthenticated")


def test_two_authorizations_are_refused(service: Service) -> None:
    good, other = bearer({"sub": "alice"}), bearer({"sub": "mallory"})
    for first, second in (good, other), (good, good), ("x", good):
        request = (
            f"GET /api/chats/acme_corp HTTP/1.1\r\nHost: 127.0.0.1:{service.port}\r\nAuthorization: Bearer {first}\r\n"
            f"Authorization: Bearer {second}\r\nConnection: close\r\n\r\n"
        )
        (answer,) = exchange(service.port, request.encode())
        assert answer.status == 401
    for value in (
        f"bearer  {good} x",
        f"Basic {good}",
        f"Token {good}",
        good,
        f"Bearer {good},Bearer {other}",
        f"Bearer\t{good}",
    ):
        with service.anonymous() as client:
            response = client.get("/api/chats/acme_corp", headers={"authorization": value})
            assert problem(response) == (401, "unauthenticated"), value


def test_a_very_long_token_is_refused_unread(service: Service) -> None:
    long = signed(HEADER, claims(padding="a" * 9000))
    assert status(service, long) == (401, "unauthenticated")
    huge = "a" * 2_000_000
    request = f"GET /api/chats/acme_corp HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {huge}\r\n\r\n"
    found = exchange(service.port, request.encode(), 3)
    assert [it.status for it in found] in ([431], [])


@pytest.mark.alone
def test_a_ticket_is_for_one_chat_one_user_and_one_use(service: Service, world: World) -> None:
    with world.user("bob") as bob:
        ticket = bob.post(f"{world.path}/tickets", json={}).json()["ticket"]
        other = bob.post(f"/api/chats/{world.app}", json={"workflow_name": "w"}).json()["chat_id"]
    with service.anonymous() as client:
        client.timeout = httpx.Timeout(3)
        for path in (
            f"/api/chats/{world.app}/{other}/events",
            f"/api/chats/other_app/{world.chat}/events",
            f"/api/chats/{world.app}/missing/events",
        ):
            assert problem(client.get(path, params={"ticket": ticket})) == (401, "unauthenticated"), path
        for method, path in ("GET", ""), ("GET", "/messages"), ("POST", "/messages"), ("DELETE", ""):
            refused = client.request(method, world.path + path, params={"ticket": ticket})
            assert problem(refused)[0] in (401, 422), (method, path)
        # None of these has used it up, nor has a token beside it, or a `HEAD`.
        refused = client.get(
            f"{world.path}/events", params={"ticket": ticket}, headers={"authorization": f"Bearer {bearer({})}"}
        )
        assert problem(refused) == (401, "unauthenticated")
        assert client.head(f"{world.path}/events", params={"ticket": ticket}).status_code in (401, 405)
        with client.stream("GET", f"{world.path}/events", params={"ticket": ticket}) as stream:
            assert stream.status_code == 200
        assert problem(client.get(f"{world.path}/events", params={"ticket": ticket})) == (401, "unauthenticated")
        for forged in "ticket_" + "0" * 32, "", "*", '{"$ne":null}', ticket[:-1], ticket.upper(), ticket + "%00":
            refused = client.get(f"{world.path}/events", params={"ticket": forged})
            assert problem(refused)[0] in (401, 422), forged


def test_a_ticket_has_no_more_rights_than_its_user(service: Service, world: World) -> None:
    with world.user("bob") as bob:
        for body in {"user_id": "alice"}, {"permissions": ["read", "run"]}, {"permissions": ["say"]}:
            assert problem(bob.post(f"{world.path}/tickets", json=body))[0] in (403, 422), body
    with world.user("mallory") as mallory:
        assert problem(mallory.post(f"{world.path}/tickets", json={})) == (404, "chat-not-found")
    # A service names the person, who needs the right to read.
    made = world.orchestrator.post(f"{world.path}/tickets", json={"user_id": "mallory"})
    if made.is_success:
        with service.anonymous() as client:
            refused = client.get(f"{world.path}/events", params={"ticket": made.json()["ticket"]})
            assert problem(refused)[0] in (401, 404)
    else:
        assert problem(made)[0] in (403, 404)


@pytest.mark.alone
def test_a_revoked_user_is_refused(service: Service, world: World) -> None:
    token = bearer({"sub": "carol", "apps": [world.app]})
    with service.client(token) as carol, world.user("olga", role="operator") as olga:
        assert carol.get(f"/api/chats/{world.app}").status_code == 200
        assert olga.put(f"/api/apps/{world.app}/revocations/carol", json={}).status_code == 200
        until = time.monotonic() + 8
        while carol.get(f"/api/chats/{world.app}").status_code == 200:
            assert time.monotonic() < until
            time.sleep(0.1)
        assert problem(carol.get(f"/api/chats/{world.app}")) == (401, "unauthenticated")
    assert SECRET not in service.log()
