"""The operations of an API, from its own description."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx

#: Examples of the description that name other records than those of a test.
BODIES: dict[str, Any] = {
    "create_chat": {"workflow_name": "Generator"},
    "ensure_chat": {"workflow_name": "Generator"},
    "append_messages": {"role": "user", "content": "x"},
    "submit_user_input": {"app_id": "acme_corp", "input_request_id": "q1", "user_input": "so"},
    "restore_context": {"version": 1},
    "complete_chat": {},
    "create_ticket": {},
    "join_chat": {},
}
#: Parameters that are required.
REQUIRED = {
    "put_transcript": "dialect=openai",
    "diff_context": "from=1&to=2",
    "delete_resume_points": "request_id=req-1",
    "revoke_lease": "acquired_at=2025-10-02T10:00:00.000Z",
    "search_messages": "q=private",
    "delete_documents": "namespace=notes",
    "delete_assistants": "ids=helper",
    "get_workflow_series": "from=2025-10-02T10:00:00Z&to=2025-10-02T11:00:00Z",
    "get_user_series": "from=2025-10-02T10:00:00Z&to=2025-10-02T11:00:00Z",
}


@dataclass(frozen=True)
class Operation:
    id: str
    method: str
    path: str
    permission: str | None
    body: Any
    parameters: tuple[str, ...]
    #: Media types of the body.
    media_types: tuple[str, ...]

    def at(self, **ids: object) -> str:
        """The path with these ids, and with some that exist nowhere for the others."""
        path = re.sub(r"\{(\w+)\}", lambda found: str(ids.get(found[1], MISSING.get(found[1], "missing"))), self.path)
        return f"{path}?{REQUIRED[self.id]}" if self.id in REQUIRED else path

    @property
    def takes_json(self) -> bool:
        return "application/json" in self.media_types

    @property
    def is_live(self) -> bool:
        """Whether the answer has no end."""
        return self.id in ("listen", "listen_to_documents", "join", "resume_ui_stream")


MISSING = {"sequence": "99", "version": "99", "fencing_token": "99", "pseudonym": f"erased_{'0' * 64}"}


def operations(client: httpx.Client, path: str = "/openapi.json") -> list[Operation]:
    document = client.get(path).raise_for_status().json()
    found = []
    for place, item in document["paths"].items():
        for method, operation in item.items():
            if method == "parameters":
                continue
            content = operation.get("requestBody", {}).get("content", {})
            name = operation["operationId"]
            schema = content.get("application/json", {}).get("schema", {})
            body = BODIES[name] if name in BODIES else _example(document, schema)
            parameters = [it["name"] for it in operation.get("parameters", []) if it["in"] == "query"]
            permission = operation.get("x-permission")
            found.append(Operation(name, method.upper(), place, permission, body, tuple(parameters), tuple(content)))
    assert len(found) > 5
    return found


def _resolved(document: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in schema:
        target: Any = document
        for step in schema["$ref"][2:].split("/"):
            target = target[step]
        schema = target
    return schema


def _example(document: dict[str, Any], schema: dict[str, Any]) -> Any:
    schema = _resolved(document, schema)
    if "example" in schema:
        return copy.deepcopy(schema["example"])
    if schema.get("examples"):
        return copy.deepcopy(schema["examples"][0])
    for union in "oneOf", "anyOf":
        for member in schema.get(union, []):
            if (found := _example(document, member)) is not None:
                return found
    return None


def leaves(value: Any, pointer: str = "") -> Iterator[tuple[str, Any]]:
    """Every text and number of a body, with a pointer to it."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(inner, f"{pointer}/{name}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, f"{pointer}/{index}")
    else:
        yield pointer, value


def replaced(value: Any, pointer: str, new: Any) -> Any:
    """A copy of a body with another value at one place."""
    changed = copy.deepcopy(value)
    *steps, last = pointer[1:].split("/")
    place = changed
    for step in steps:
        place = place[int(step)] if isinstance(place, list) else place[step]
    place[int(last) if isinstance(place, list) else last] = new
    return changed
