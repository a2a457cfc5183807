"""Renders the description of the API as pages, one for each tag."""

import json
import re
from pathlib import Path
from typing import Any

Json = dict[str, Any]
METHODS = "get", "post", "put", "patch", "delete"


def document(root: Path) -> Json:
    """The description of the API, as the tests of the service keep it."""
    text = (root / "crates/service/tests/it/snapshots/it__openapi__document.snap").read_text()
    return without_dialects(json.loads(text.split("---\n", 2)[2]))


def without_dialects(api: Json) -> Json:
    """The tests do not keep the list of dialects; the document about them has it."""
    for name in "Dialect", "StoredDialect":
        api["components"]["schemas"][name].pop("enum")
    return api


def pages(api: Json) -> dict[str, tuple[str, str]]:
    """The title and the text of the page of each tag, by its name."""
    found = {}
    for tag in api["tags"]:
        operations = [
            (method, path, item[method])
            for path, item in api["paths"].items()
            for method in METHODS
            if method in item and tag["name"] in item[method]["tags"]
        ]
        title = tag["name"][0].upper() + tag["name"][1:]
        parts = [f"# {title}\n\n{tag['description']}.\n"]
        parts += [operation(api, *each) for each in operations]
        parts += schemas(api, operations)
        found[tag["name"].replace(" ", "-")] = title, "\n".join(parts)
    return found


def index(operations: dict[str, tuple[str, str]]) -> str:
    lines = [
        "# The reference of the API",
        "",
        "Every operation, as the service itself describes it at `/openapi.json`. [The HTTP API](../documents/API.md) explains the",
        "rules that they share, and [problems](../documents/PROBLEMS.md) has every error by its code.",
        "",
    ]
    for name, (title, text) in operations.items():
        lines += [f"- [{title}]({name}.md): {len(re.findall('class=.operation', text))} operations"]
    return "\n".join(lines) + "\n"


def operation(api: Json, method: str, path: str, given: Json) -> str:
    # A heading is short; the rest of the summary is text.
    summary, _, rest = given["summary"].rstrip(".").partition(re.search(r"[:.] |$", given["summary"].rstrip("."))[0] or "\n")
    shown = path.replace("{", "&#123;").replace("}", "&#125;")
    lines = [f"## {summary}", "", f'<p class="operation"><b>{method.upper()}</b>{shown}</p>', ""]
    lines += [f"{rest[0].upper()}{rest[1:]}.", ""] if rest else []
    lines += [given.get("description", ""), ""]
    parameters = [resolved(api, each) for each in given.get("parameters", [])]
    if parameters:
        lines += ["| parameter | in | type | meaning |", "|---|---|---|---|"]
        for each in parameters:
            name = f"`{each['name']}`" + (", required" if each.get("required") else "")
            meaning = cell(each.get("description", ""))
            lines.append(f"| {name} | {each['in']} | {kind(each.get('schema', {}))} | {meaning} |")
        lines.append("")
    if "requestBody" in given:
        lines += [f"Body: {contents(given['requestBody'])}", ""]
    lines += ["| status | answer | body |", "|---|---|---|"]
    for status, response in sorted(given["responses"].items()):
        response = resolved(api, response)
        lines.append(f"| {status} | {problems(response['description'])} | {contents(response)} |")
    return "\n".join([*lines, ""])


def problems(description: str) -> str:
    """Codes of problems are links to what is said about them."""
    known = re.fullmatch(r"(`[a-z-]+`(, )?)+", description)
    if not known:
        return cell(description)
    return re.sub(r"`([a-z-]+)`", r"[`\1`](../documents/PROBLEMS.md#\1)", description)


def contents(given: Json) -> str:
    shown = []
    for media, content in given.get("content", {}).items():
        if media == "application/problem+json":
            continue
        name = kind(content.get("schema", {}))
        shown.append(name if media == "application/json" else f"{name} as `{media}`" if name else f"`{media}`")
    return ", ".join(shown)


def schemas(api: Json, operations: list[tuple[str, str, Json]]) -> list[str]:
    """What the operations of a page send and answer, and what that consists of."""
    wanted, seen = list(names([given for _, _, given in operations])), []
    while wanted:
        name = wanted.pop(0)
        if name in seen or name == "Problem":
            continue
        seen.append(name)
        wanted += names(api["components"]["schemas"][name])
    if not seen:
        return []
    return ["## Schemas\n", *[schema(api["components"]["schemas"][name], name) for name in sorted(seen)]]


def names(value: Any) -> list[str]:
    """The schemas that a value refers to."""
    if isinstance(value, dict):
        own = [value["$ref"].rsplit("/", 1)[1]] if "/schemas/" in str(value.get("$ref")) else []
        return own + [name for each in value.values() for name in names(each)]
    return [name for each in value for name in names(each)] if isinstance(value, list) else []


def schema(given: Json, name: str) -> str:
    lines = [f"### {name}", "", given.get("description", ""), ""]
    fields = dict(given.get("properties", {}))
    required = list(given.get("required", []))
    for part in given.get("allOf", []):
        fields |= part.get("properties", {})
        required += part.get("required", [])
        if "$ref" in part:
            lines += [f"Has the fields of {kind(part)}.", ""]
    if fields:
        lines += ["| field | type | meaning |", "|---|---|---|"]
        for field, value in fields.items():
            mark = ", required" if field in required else ""
            lines.append(f"| `{field}`{mark} | {kind(value)} | {cell(value.get('description', ''))} |")
    elif "allOf" not in given:
        lines.append(f"Type: {kind(given)}")
    return "\n".join([*lines, ""])


def kind(given: Any) -> str:
    """What a schema accepts, in a phrase."""
    if not isinstance(given, dict):
        return ""
    if "$ref" in given:
        name = given["$ref"].rsplit("/", 1)[1]
        return f"[{name}](#{name.lower()})" if name != "Problem" else "problem"
    for key in "oneOf", "anyOf", "allOf":
        if key in given:
            return " or ".join(dict.fromkeys(filter(None, map(kind, given[key]))))
    if "const" in given:
        return f"`{given['const']}`"
    if "enum" in given:
        return ", ".join(f"`{value}`" for value in given["enum"])
    types = given.get("type", "any")
    types = " or ".join(types) if isinstance(types, list) else types
    if types == "array":
        return f"list of {kind(given.get('items', {})) or 'any'}"
    return types.replace("string", given.get("format", "string"))


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def resolved(api: Json, given: Json) -> Json:
    if "$ref" not in given:
        return given
    _, group, name = given["$ref"].removeprefix("#/").split("/")
    return api["components"][group][name]
