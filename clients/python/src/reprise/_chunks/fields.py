"""Fields of events, which are objects of an SDK or dictionaries of the same shape."""

from __future__ import annotations

import base64
from typing import Any, cast


def get(of: Any, name: str) -> Any:
    """Returns a field of a dictionary or of an object; ``None`` without one."""
    if isinstance(of, dict):
        return cast("dict[str, Any]", of).get(name)
    return getattr(of, name, None)


def has(of: Any, name: str) -> bool:
    """Returns whether a dictionary or an object has a field."""
    return name in of if isinstance(of, dict) else hasattr(of, name)


def type_of(of: Any) -> str:
    """Returns the field ``type``; an empty text without one."""
    kind = get(of, "type")
    # That of LiteLLM is a member of an enumeration, whose text is another one.
    return str.__str__(kind) if isinstance(kind, str) else ""


def origin(of: Any) -> str:
    """Returns the package that has the class of an event."""
    return type(of).__module__.partition(".")[0]


def items(of: Any, name: str) -> list[Any]:
    """Returns a field that is a list; an empty one without it."""
    found = get(of, name)
    return list(cast("list[Any]", found)) if isinstance(found, (list, tuple)) else []


def words(of: Any, *names: str) -> str | None:
    """Returns the first of some fields that is a text, and not empty."""
    found = (get(of, name) for name in names)
    return next((text for text in found if isinstance(text, str) and text), None)


def plain(value: Any) -> Any:
    """Returns a value as JSON has it: models as dictionaries without empty fields, and bytes as Base64."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", exclude_none=True)
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value).items()
        return {name: plain(field) for name, field in fields}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in cast("list[Any]", value)]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if value is None or isinstance(value, (str, int, float)):
        return value
    return {name: plain(field) for name, field in attributes(value).items() if field is not None}


def attributes(of: Any) -> dict[str, Any]:
    """Returns the fields of an object."""
    return dict(cast("dict[str, Any]", of.__dict__))
