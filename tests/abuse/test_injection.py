"""Values that want to be operators, expressions, paths or names of the database."""

from __future__ import annotations

import json
import uuid
from typing import Any

import httpx
import pymongo.errors
import pytest

from operations import Operation, leaves, replaced
from service import Database, Service, problem
from world import World

#: Each would be more than a value if it reached a query, an update, an expression or an extended JSON parser.
POISON: list[Any] = [
    {"$each": [{"role": "system", "content": "injected"}], "$slice": 0},
    "$last_sequence",
    "$$ROOT",
    {"$function": {"body": "function() { return 'pwn' }", "args": [], "lang": "js"}},
    {"$where": "sleep(10000)", "$expr": {"$eq": [1, 1]}, "$set": {"status": "completed"}, "$unset": {"user_id": ""}},
    {"a.b": 1, "a": {"b": 2}, "": 3, "$": 4, "..": 5, "a..b": 6, "user.name": 7},
    {"$oid": "zz"},
    {"$date": {"$numberLong": "x"}},
    {"$numberDecimal": "NaN", "$binary": 1, "$ref": "chat_sessions", "$id": 1},
    {"__proto__": {"is_admin": True}, "constructor": {"prototype": 1}},
    {"$literal": {"$literal": 1}},
]
IDS = ("id", "name", "role", "agent", "model", "kind", "type", "status", "owner", "state", "tag", "reason", "title", "prompt")


def appended(client: httpx.Client, path: str, message: dict[str, Any]) -> dict[str, Any]:
    made = client.post(f"{path}/messages", json=message)
    assert made.status_code == 201, made.text
    read: dict[str, Any] = client.get(f"{path}/messages/{made.json()['messages'][0]['sequence']}").json()
    return read


def test_operators_and_expressions_are_stored_as_values(orchestrator: httpx.Client, chat: str, app: str) -> None:
    get, put, post = orchestrator.get, orchestrator.put, orchestrator.post
    assistant = f"/api/assistants/{app}/a1"
    for value in POISON:
        an_object = value if isinstance(value, dict) else {"value": value}
        fields = {"content": value, "metadata": an_object, "props": value, "structured_output": value}
        message = appended(orchestrator, chat, {"role": "assistant", **fields})
        assert {name: message[name] for name in fields} == fields
        edited = orchestrator.patch(f"{chat}/messages/{message['sequence']}", json={"content": [value], "metadata": an_object})
        assert edited.status_code == 200
        read = get(f"{chat}/messages/{message['sequence']}").json()
        assert (read["content"], read["metadata"]) == ([value], an_object)

        assert put(f"{chat}/context", json={"old": 1, **an_object}).status_code == 200
        assert get(f"{chat}/context").json()["context_snapshot"] == {"old": 1, **an_object}
        assert put(f"{chat}/context", json={}).status_code == 200
        assert orchestrator.patch(f"{chat}/context", json=an_object).status_code == 200
        assert get(f"{chat}/context").json()["context_snapshot"] == an_object
        assert put(f"{chat}/artifact", json={"ui_tool_id": "t", "payload": value, "display": "x"}).status_code == 200
        assert get(f"{chat}/artifact").json()["last_artifact"]["payload"] == value
        assert orchestrator.patch(chat, json={"metadata": an_object}).status_code == 200
        assert get(chat).json()["metadata"] == an_object

        run = {"tool_name": "t", "parameters": value, "result": value, "metadata": an_object}
        assert post(f"{chat}/tool-runs", json=run).status_code == 201
        newest = get(f"{chat}/tool-runs", params={"limit": 1}).json()["data"][0]
        assert {name: newest[name] for name in run} == run
        assert put(assistant, json={"name": "x", "config": an_object}).is_success
        assert get(assistant).json()["config"] == an_object
        document = f"/api/documents/{app}/poison"
        assert put(document, json=value).is_success
        assert get(document).json() == value

        step = {
            "type": "tool",
            "status": "failed",
            "assistant_id": "a",
            "stack_id": "s",
            "input": an_object,
            "output": an_object,
        }
        step |= {"space_snapshot": an_object, "metadata": an_object}
        turn = {"request_id": uuid.uuid4().hex, "outcome": "failed", "steps": [step], "messages": []}
        assert post(f"{chat}/turns", json=turn).status_code == 201
        point = get(f"{chat}/resume-points", params={"request_id": turn["request_id"]}).json()["data"][0]
        assert {name: point[name] for name in ("input", "output", "space_snapshot", "metadata")} == {
            name: step[name] for name in ("input", "output", "space_snapshot", "metadata")
        }
        question = {"request_id": uuid.uuid4().hex, "prompt": "?", "metadata": an_object}
        asked = post(f"{chat}/input-requests", json=question)
        assert asked.json()["metadata"] == an_object, asked.text
        text = json.dumps(value)
        answered = f"{chat}/input-requests/{question['request_id']}"
        assert post(f"{answered}/answer", json={"content": text}).status_code == 201
        assert get(answered).json()["answer"]["content"] == text
        orchestrator.post(f"{chat}/reopen", json={})
    # Nothing besides has changed.
    session = get(chat).json()
    assert session["user_id"] == "alice"
    assert session["last_sequence"] == 2 * len(POISON)


def test_an_operator_in_place_of_each_text_is_refused(world: World, api: list[Operation]) -> None:
    tried = 0
    before = world.fingerprint()
    for operation in api:
        if not operation.takes_json or not isinstance(operation.body, dict):
            continue
        # Operators of apps have no chats.
        client = world.user("olga", role="operator") if operation.permission == "administer" else world.orchestrator
        for pointer, value in leaves(operation.body):
            name = pointer.rsplit("/", 1)[1]
            if not isinstance(value, str) or not name.endswith(IDS) or "/" in pointer[1:].replace("/0/", ""):
                continue
            body = replaced(operation.body, pointer, {"$ne": None})
            refused = client.request(operation.method, operation.at(**world.ids), json=body)
            assert problem(refused) == (422, "invalid-request"), (operation.id, pointer, refused.text)
            named = [error.get("pointer", "") for error in refused.json()["errors"]]
            assert any(it and (pointer in it or pointer.startswith(it)) for it in named), (operation.id, refused.text)
            tried += 1
    assert tried > 40
    assert world.fingerprint() == before


def test_an_operator_in_the_query_is_refused(world: World, api: list[Operation]) -> None:
    tried = 0
    for operation in api:
        if operation.permission in (None, "administer") or operation.is_live or operation.method != "GET":
            continue
        for parameter in operation.parameters:
            for name in f"{parameter}[$ne]", f"${parameter}":
                refused = world.orchestrator.get(operation.at(**world.ids), params={name: "x"})
                # `/api/tokens` misses its parameter as well.
                assert problem(refused) == (422, "invalid-request"), (operation.id, name)
                tried += 1
    assert tried > 150


def test_names_of_agents_and_workflows_are_no_paths(orchestrator: httpx.Client, app: str) -> None:
    names = ["a.b", "a", "$x", "a$b", "a..b", ".", "a/b", "agents.a.n", "system.users", "%24where", "_id"]
    for number, name in enumerate(names, 1):
        chat = orchestrator.post(f"/api/chats/{app}", json={"workflow_name": name}).json()["chat_id"]
        call = {"agent": name, "requested_model": name, "prompt_tokens": number, "completion_tokens": 0}
        assert orchestrator.post(f"/api/chats/{app}/{chat}/calls", json=call).status_code == 201
    agents = {it["agent"]: it["usage"]["prompt_tokens"] for it in orchestrator.get(f"/api/agent-stats/{app}").json()["agents"]}
    assert agents == {name: number for number, name in enumerate(names, 1)}
    models = orchestrator.get(f"/api/model-stats/{app}").json()["models"]
    assert {it["model"]: it["usage"]["prompt_tokens"] for it in models} == agents
    workflows = orchestrator.get(f"/api/stats/{app}").json()["workflows"]
    assert {it["workflow_name"]: it["usage"]["prompt_tokens"] for it in workflows} == agents


def test_stats_of_similar_names_are_apart(service: Service) -> None:
    tag = uuid.uuid4().hex[:8]
    pairs = [(f"{tag}_a_b", "c"), (f"{tag}_a", "b_c"), (f"{tag}", "a_b_c"), (f"{tag}-a", "b_c")]
    for number, (app, workflow) in enumerate(pairs, 1):
        with service.orchestrator(app) as client:
            for _ in range(number):
                assert client.post(f"/api/chats/{app}", json={"workflow_name": workflow}).status_code == 201
    for number, (app, workflow) in enumerate(pairs, 1):
        with service.orchestrator(app) as client:
            assert client.get(f"/api/stats/{app}/{workflow}").json()["chats"] == number
            assert [it["workflow_name"] for it in client.get(f"/api/stats/{app}").json()["workflows"]] == [workflow]


@pytest.mark.parametrize("text", [".*", "^(a+)+$", "(?s).{1000}", "[a", "a\\", "$where", "\\d"])
def test_a_regular_expression_is_text(orchestrator: httpx.Client, chat: str, app: str, text: str) -> None:
    assert orchestrator.patch(chat, json={"title": "aaaaaaaaaaaaaaaaaaaaaaaaaaaa!"}).status_code == 200
    padded = text.ljust(3, "a")
    found = orchestrator.get(f"/api/chats/{app}", params={"title_contains": padded, "user_id": "alice"})
    assert found.status_code == 200
    assert found.json()["data"] == []
    assert found.elapsed.total_seconds() < 2
    searched = orchestrator.get(f"/api/search/{app}", params={"q": padded})
    assert searched.status_code in (200, 422)
    assert searched.status_code == 422 or searched.json()["data"] == []


def test_the_mongod_runs_no_scripts(database: Database) -> None:
    for query in {"$where": "true"}, {"$expr": {"$function": {"body": "function() { return true }", "args": [], "lang": "js"}}}:
        with pytest.raises(pymongo.errors.OperationFailure):
            list(database.of_service["chat_sessions"].find(query))


def test_the_private_mongod_needs_credentials(database: Database) -> None:
    stranger: pymongo.MongoClient[dict[str, Any]] = pymongo.MongoClient(database.address, serverSelectionTimeoutMS=3000)
    with pytest.raises(pymongo.errors.OperationFailure, match="requires authentication"):
        stranger["reprise"]["chat_sessions"].find_one()
    assert database.client.list_database_names() == ["reprise"]
    for name, command in (
        ("admin", "shutdown"),
        ("admin", "getCmdLineOpts"),
        ("reprise", "usersInfo"),
        ("local", "dropDatabase"),
    ):
        with pytest.raises(pymongo.errors.OperationFailure):
            database.client[name].command(command, 1)
