"""Lists that are asked for too much, and callers that ask too often."""

from __future__ import annotations

import base64
import concurrent.futures
import json
import uuid
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from operations import Operation, operations
from service import Service, problem
from world import World


@pytest.mark.parametrize(
    "value",
    ["-1", "0", "1000000000", "9223372036854775808", "1.5", "1e2", "NaN", "", "x", "\u0663", "0x10", "10;drop", '{"$gt":0}'],
)
def test_a_page_has_a_bounded_size(world: World, api: list[Operation], value: str) -> None:
    tried = 0
    for operation in api:
        for name in {"limit", "newest", "depth", "offset"} & set(operation.parameters):
            if operation.method != "GET":
                continue
            client = world.user("olga", role="operator") if operation.permission == "administer" else world.orchestrator
            place = operation.at(**world.ids)
            place += f"{'&' if '?' in place else '?'}{name}={value}"
            if operation.id in ("get_history", "get_resume") and value in ("1000000000", "9223372036854775808"):
                # Newest of all there are.
                continue
            refused = client.get(place)
            assert problem(refused) == (422, "invalid-request"), (operation.id, name, refused.text)
            assert [it["parameter"] for it in refused.json()["errors"]] == [name]
            tried += 1
    assert tried > 15


@pytest.mark.parametrize("name", ["chatsg", "hecate", "mozaiks", "yao"])
def test_a_page_of_an_adapter_has_a_bounded_size(service: Service, world: World, name: str) -> None:
    with service.anonymous() as client:
        found = operations(client, f"/{name}/openapi.json")
    tried = 0
    for operation in found:
        for parameter in {"limit", "offset", "page", "pagesize", "max", "reserve", "after_sequence", "before_sequence"} & set(
            operation.parameters
        ):
            for value in "-1", "1000000000", "9223372036854775808", "NaN", '{"$gt":0}', "1e9":
                answer = world.orchestrator.get(operation.at(**world.ids), params={parameter: value})
                assert answer.status_code in (200, 400, 404, 422), (operation.id, parameter, value, answer.text)
                assert answer.elapsed.total_seconds() < 2
                assert len(answer.content) < 100_000
                tried += 1
    assert tried >= 6


@pytest.mark.alone
def test_a_cursor_that_is_forged_reads_nothing_of_others(world: World, api: list[Operation]) -> None:
    """A cursor is opaque, and no key: what it says is checked like anything else."""
    other = f"app_{uuid.uuid4().hex[:8]}"
    forged = [
        "x",
        "=",
        "AAAA",
        "-1",
        '{"$gt":null}',
        "a" * 5000,
        "\0",
        base64.b64encode(json.dumps({"_id": {"$gt": ""}}).encode()).decode(),
    ]
    real: dict[str, str] = {}
    for number in range(3):
        body = {"workflow_name": "w", "user_id": "alice", "title": f"t{number}"}
        world.orchestrator.post(f"/api/chats/{world.app}", json=body).raise_for_status()
    for operation in api:
        if "cursor" in operation.parameters and operation.method == "GET":
            client = world.user("olga", role="operator") if operation.permission == "administer" else world.orchestrator
            place = operation.at(**world.ids)
            page = client.get(place, params=None if "?" in place else {"limit": 1})
            assert page.status_code == 200, (operation.id, page.text)
            if cursor := page.json().get("next_cursor"):
                real[operation.id] = cursor
    assert "list_chats" in real and "list_messages" in real
    # A cursor of another list, of another filter, and one with a bit changed.
    forged += [*real.values(), *(it[:-2] + ("AA" if it[-2:] != "AA" else "BB") for it in real.values())]
    before = world.fingerprint()
    for operation in api:
        if (
            "cursor" not in operation.parameters
            or operation.method != "GET"
            or operation.permission in ("administer", "observe")
        ):
            continue
        for cursor in forged:
            place = operation.at(**world.ids)
            answer = world.orchestrator.get(place + ("&" if "?" in place else "?"), params={"cursor": cursor})
            if not answer.is_success:
                assert problem(answer) == (422, "invalid-request"), (operation.id, cursor, answer.text)
            assert answer.elapsed.total_seconds() < 2
    with world.user("mallory") as mallory:
        for cursor in real.values():
            answer = mallory.get(f"/api/chats/{world.app}", params={"cursor": cursor})
            assert answer.status_code in (200, 422)
            assert answer.status_code == 422 or answer.json()["data"] == []
    with world.user("alice", apps=[other]) as elsewhere:
        answer = elsewhere.get(f"/api/chats/{other}", params={"cursor": real["list_chats"]})
        assert answer.status_code in (200, 422)
        assert answer.status_code == 422 or answer.json()["data"] == []
    assert world.fingerprint() == before


@pytest.mark.parametrize(
    "field", ["$where", "_id", "messages", "user_id", "created_at;1", '{"$meta":"textScore"}', "title.0", "-created", ""]
)
def test_a_list_is_ordered_by_known_fields_only(world: World, field: str) -> None:
    client, app = world.orchestrator, world.app
    for path in (
        f"/api/chats/{app}",
        f"/api/user-stats/{app}",
        f"/api/agent-stats/{app}",
        f"/api/model-stats/{app}",
        f"/api/input-requests/{app}",
    ):
        name = "order" if path.startswith("/api/input") else "order_by"
        assert problem(client.get(path, params={name: field})) == (422, "invalid-request"), path
    assert problem(client.get(f"/api/chats/{app}", params={"order": field})) == (422, "invalid-request")
    yao = client.get(f"/yao/{app}/v1/chat/sessions", params={"order_by": field, "time_field": field, "group_by": field})
    assert yao.status_code in (200, 400)
    assert "$where" not in yao.text or yao.status_code == 400


@pytest.mark.parametrize(
    "key", ["$where:1", "a.b:1", "_id:1", "secret:x", ":", "a\\", "\0:1", "a" * 5000 + ":1", "user_id:alice"]
)
def test_a_list_by_metadata_has_declared_keys_only(world: World, key: str) -> None:
    with world.user("olga", role="operator") as olga:
        assert olga.put(f"/api/apps/{world.app}", json={}).is_success
        for keys in ["$where"], ["a.b"], ["a\0"], [{"$ne": 1}], ["a"] * 2, [""], ["a" * 65], list("abcdefghi"):
            refused = olga.patch(f"/api/apps/{world.app}", json={"settings": {"metadata_keys": keys}})
            assert refused.status_code in (200, 422), (keys, refused.text)
            assert refused.status_code == 422 or keys[0] in ("$where", "a.b"), keys
        assert olga.patch(f"/api/apps/{world.app}", json={"settings": {"metadata_keys": None}}).status_code == 200
    refused = world.orchestrator.get(f"/api/chats/{world.app}", params={"metadata": key})
    assert problem(refused) == (422, "invalid-request"), refused.text


def test_a_search_is_words_and_has_a_bound(world: World) -> None:
    client, app = world.orchestrator, world.app
    for words in "", "*", "a*", " ".join(f"w{n}" for n in range(9)), "x" * 257, "\0", "..", "$where" * 50, "(a+)+$" * 60:
        refused = client.get(f"/api/search/{app}", params={"q": words})
        assert problem(refused) == (422, "invalid-request"), (words, refused.text)
    for words in (
        '{"$ne":null}',
        "private*",
        "alice said",
        "\u202ealice",
        "a' || '1'=='1",
        "$regex .*",
        "private private private private",
    ):
        found = client.get(f"/api/search/{app}", params={"q": words})
        assert found.status_code == 200, (words, found.text)
        assert {it["chat_id"] for it in found.json()["data"]} <= {world.chat}
        assert found.elapsed.total_seconds() < 2
    with world.user("mallory") as mallory:
        for scope in {}, {"scope": "app"}, {"user_id": "alice"}, {"workflow_name": "Generator"}:
            found = mallory.get(f"/api/search/{app}", params={"q": "private", **scope})
            assert found.status_code == 422 or found.json()["data"] == [], scope
        assert problem(mallory.get(f"/api/search/{app}", params={"q": "private", "scope": "all"})) == (422, "invalid-request")


def test_a_person_who_asks_too_often_waits(
    tight: Service, app: str, token_of: Callable[[str], str], orchestrator_key: str
) -> None:
    """That service permits five requests a second, and ten seconds' worth at once."""
    with httpx.Client(
        base_url=tight.url, trust_env=False, verify=False, headers={"authorization": f"Bearer {token_of('flood')}"}
    ) as client:
        found = [client.get(f"/api/chats/{app}") for _ in range(80)]
        refused = [it for it in found if it.status_code == 429]
        assert refused and problem(refused[0]) == (429, "too-many-requests")
        assert int(refused[0].headers["retry-after"]) >= 1
        assert [it.status_code for it in found[:40]] == [200] * 40
        # Neither another header nor another app helps, and others are not disturbed.
        for headers in {"x-forwarded-for": "1.2.3.4"}, {"user-agent": "other"}, {"x-request-id": "other"}:
            again = [client.get(f"/api/chats/{app}_2", headers=headers).status_code for _ in range(20)]
            assert again.count(429) > 5, headers
        assert client.get("/api/health/ready").status_code == 200
    for token in token_of("other"), orchestrator_key:
        with httpx.Client(
            base_url=tight.url, trust_env=False, verify=False, headers={"authorization": f"Bearer {token}"}
        ) as client:
            assert client.get(f"/api/chats/{app}").status_code == 200


def test_a_person_who_hoards_chats_or_questions_waits(
    tight: Service, app: str, token_of: Callable[[str], str], orchestrator_key: str
) -> None:
    """That service permits five new chats of a person, and five questions of an app, a minute."""
    with httpx.Client(
        base_url=tight.url, trust_env=False, verify=False, headers={"authorization": f"Bearer {token_of('hoarder')}"}
    ) as client:
        made = [client.post(f"/api/chats/{app}", json={"workflow_name": "w"}) for _ in range(7)]
        assert [it.status_code for it in made] == [201] * 5 + [429] * 2
        chat = made[0].json()["chat_id"]
        assert problem(client.post(f"/api/chats/{app}/{chat}/fork", json={})) == (429, "too-many-requests")
        listed = client.get(f"/api/chats/{app}", params={"total": "true"}).json()
        assert listed["total"] == 5
    with httpx.Client(
        base_url=tight.url, trust_env=False, verify=False, headers={"authorization": f"Bearer {orchestrator_key}"}
    ) as client:
        asked = [client.post(f"/api/chats/{app}/{chat}/input-requests", json={"prompt": "?"}) for _ in range(7)]
        assert [it.status_code for it in asked] == [201] * 5 + [429] * 2
        assert len(client.get(f"/api/chats/{app}/{chat}/input-requests").json()["data"]) == 5


def test_questions_that_are_asked_at_once_keep_the_limit(orchestrator: httpx.Client, chat: str) -> None:
    def ask(number: int) -> int:
        return orchestrator.post(f"{chat}/input-requests", json={"prompt": "?", "request_id": f"q{number}"}).status_code

    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        statuses = list(pool.map(ask, range(40)))
    assert sorted(statuses) == [201] * 16 + [409] * 24
    assert len(orchestrator.get(chat).json()["pending_inputs"]) == 16


@pytest.mark.alone
def test_answers_that_are_given_at_once_are_one(service: Service, world: World) -> None:
    def answer(number: int) -> int:
        with world.user("alice") as client:
            body = {"content": f"answer {number}", "event_id": f"a{number}"}
            return client.post(f"{world.path}/input-requests/q1/answer", json=body).status_code

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        statuses = list(pool.map(answer, range(16)))
    assert sorted(statuses) == [201] + [409] * 15
    assert world.orchestrator.get(world.path).json()["last_sequence"] == 4


@pytest.mark.alone
def test_debits_that_are_made_at_once_do_not_overdraw(world: World) -> None:
    wallet = f"/api/wallets/{world.app}/alice"

    def debit(number: int) -> int:
        body = {"entry_id": f"d{number}", "amount": 30, "reason": "x"}
        return world.orchestrator.post(f"{wallet}/debit", json=body).status_code

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        statuses = list(pool.map(debit, range(16)))
    assert sorted(statuses) == [201] * 3 + [402] * 13
    assert world.orchestrator.get(wallet).json()["balance"] == 10
    for amount in -1, 0, 1.5, "30", 10**13, 2**63, True, None, [30], {"$inc": 1}:
        body = {"entry_id": "bad", "amount": amount, "reason": "x"}
        for verb in "debit", "credit":
            assert problem(world.orchestrator.post(f"{wallet}/{verb}", json=body))[0] == 422, amount
    assert world.orchestrator.get(wallet).json()["balance"] == 10


def test_workers_that_race_for_a_lease_do_not_share_it(orchestrator: httpx.Client, chat: str) -> None:
    def acquire(number: int) -> httpx.Response:
        return orchestrator.post(f"{chat}/lease", json={"owner": f"w{number}", "ttl_ms": 60_000})

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        found = list(pool.map(acquire, range(16)))
    assert sorted(it.status_code for it in found) == [201] + [409] * 15
    token = next(it for it in found if it.status_code == 201).json()["fencing_token"]
    message = {"role": "user", "content": "x"}
    for forged in token - 1, token + 1, 2**63, -1, "x", "", f"{token},{token}", f"{token}.0":
        refused = orchestrator.post(f"{chat}/messages", json=message, headers={"fencing-token": str(forged)})
        assert problem(refused) in ((409, "fenced"), (422, "invalid-request")), forged
    assert orchestrator.get(chat).json()["last_sequence"] == 0
    for body in (
        {"owner": "w", "ttl_ms": 99},
        {"owner": "w", "ttl_ms": 3_600_001},
        {"owner": "w", "ttl_ms": "x"},
        {"owner": {"$ne": ""}},
    ):
        assert problem(orchestrator.post(f"{chat}/lease", json=body)) == (422, "invalid-request")


def test_a_difference_of_large_snapshots_is_bounded(service: Service, orchestrator: httpx.Client, chat: str) -> None:
    """One long key with many members below it would repeat the key in each line of the patch."""
    key = "k" * 60_000
    for value in 1, 2:
        snapshot = {key: {str(n): value for n in range(10_000)}}
        assert orchestrator.put(f"{chat}/context", json=snapshot, headers={"prefer": "return=minimal"}).status_code == 200
    service.forget_peak()
    memory = service.peak_memory()
    refused = orchestrator.get(f"{chat}/context/diff?from=1&to=2")
    assert problem(refused) == (422, "diff-too-large")
    assert refused.elapsed.total_seconds() < 5
    assert service.peak_memory() - memory < 100_000_000


def test_nested_steps_with_long_names_stay_small(orchestrator: httpx.Client, chat: str, database: Any) -> None:
    steps = []
    for number in range(1000):
        step = {"type": "llm", "status": "running", "assistant_id": "a", "stack_id": f"{number:03}".ljust(128, "s")}
        step["stack_depth"] = number
        if number:
            step["stack_parent_id"] = f"{number - 1:03}".ljust(128, "s")
        steps.append(step)
    body = {"request_id": "deep", "outcome": "failed", "messages": [{"role": "user", "content": "x"}], "steps": steps}
    made = orchestrator.post(f"{chat}/turns", json=body)
    assert made.status_code in (201, 413, 422), made.text[:300]
    stored = sum(len(it.raw) for it in database.raw("resume_points") if chat.rsplit("/", 1)[1].encode() in it.raw)
    assert stored < 5 * len(json.dumps(body))
    plan = orchestrator.get(f"{chat}/resume")
    assert plan.status_code == 200
    assert plan.elapsed.total_seconds() < 5
    assert len(plan.content) < 20_000_000


def test_a_call_that_thousands_of_messages_name_is_deleted_in_time(orchestrator: httpx.Client, chat: str) -> None:
    call = {"call_id": "named", "requested_model": "m", "prompt_tokens": 1, "completion_tokens": 1}
    assert orchestrator.post(f"{chat}/calls", json=call).status_code == 201
    messages = [{"role": "assistant", "content": "x", "produced_by_call_id": "named"}] * 1000
    for _ in range(10):
        assert orchestrator.post(f"{chat}/messages", json={"messages": messages}).status_code == 201
    deleted = orchestrator.delete(f"{chat}/calls/named")
    assert deleted.status_code == 204
    assert deleted.elapsed.total_seconds() < 4
    assert orchestrator.get(f"{chat}/messages/9999").json().get("produced_by_call_id") is None
    assert orchestrator.get(f"{chat}/calls").json()["usage"]["prompt_tokens"] == 0


def test_a_text_of_an_assistant_that_grows_is_bounded(world: World) -> None:
    """A description may refer to another text thousands of times, and texts to each other."""
    place = f"/api/assistants/{world.app}/growing"
    for locale in {"k": "x" * 60_000}, {"k": "{{l}}" * 100, "l": "{{k}}{{l}}" * 100}:
        assistant = {"name": "{{k}}" * 100, "description": "{{k}}" * 12_000, "locales": {"de": locale}}
        assert world.orchestrator.put(place, json=assistant).is_success
        read = world.orchestrator.get(place, params={"locale": "de"})
        assert read.status_code == 200
        assert len(read.content) < 1_000_000
        assert read.elapsed.total_seconds() < 2
    assert world.orchestrator.delete(place).status_code == 204


def test_times_and_zones_are_no_paths_and_have_a_range(world: World) -> None:
    client, place = world.orchestrator, f"/api/chats/{world.app}"
    for zone in "../../etc/passwd", "/etc/localtime", "Europe/Berlin/../x", "UTC;x", "\0", "A" * 5000:
        assert problem(client.get(place, params={"group_by": "time", "tz": zone})) == (422, "invalid-request"), zone
    for time in (
        "0000-00-00T00:00:00Z",
        "+275760-09-13T00:00:00Z",
        "-0001-01-01T00:00:00Z",
        "2025-01-01T00:00:00+99:99",
        "$now",
        "",
    ):
        assert problem(client.get(place, params={"created_from": time})) == (422, "invalid-request"), time
    for wait in "-1s", "61s", "1h", "99999999999999999999s", "1e9s", "x":
        refused = client.get(f"{world.path}/input-requests/q1", params={"wait": wait})
        assert problem(refused) == (422, "invalid-request"), wait
    for seconds in -1, 0, 10**18, 1.5, "1", {"$gt": 0}:
        refused = client.post(f"{world.path}/input-requests", json={"prompt": "?", "expires_in_sec": seconds})
        assert problem(refused) == (422, "invalid-request"), seconds
    for cost in -1, 2**62, "1e9", "0.0000001", "-1", {"$numberDecimal": "1"}:
        for name in "cost_usd", "cost_micros_usd":
            refused = client.post(f"{world.path}/calls", json={"requested_model": "m", name: cost})
            assert problem(refused) == (422, "invalid-request"), (name, cost)
