"""The body of a request as JSON, and which of its values JSON does not have."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any, cast

from .errors import InvalidValue

SURROGATE = re.compile("[\ud800-\udfff]")
#: What ``json`` makes of a name of a field that is a number, a boolean or ``None``.
CONVERTED_NAME = re.compile(r'"(?:-?[0-9][-+.e0-9]*|true|false|null)":')


def encoded(body: Any) -> bytes:
    """Returns the body as JSON; a value that JSON does not have is an :class:`~reprise.InvalidValue`."""
    try:
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        # A search of the JSON takes a tenth of the time that a walk through the body takes.
        if CONVERTED_NAME.search(text) and _has_other_names(body):
            raise ValueError("a name of a field is no text")
        return text.encode()
    except ValueError as error:
        found = next(_invalid(body, ""), None)
        if found is None:
            raise
        raise InvalidValue(*found) from error
    except TypeError as error:
        foreign = next(_foreign(body), None)
        if foreign is None:
            raise
        raise TypeError(foreign) from error


def checked_id(value: object, name: str) -> str:
    """Returns an id; ``TypeError`` or ``ValueError``, which names it, if it is no text or empty."""
    if not isinstance(value, str):
        raise TypeError(f"{name}: pass a text, not a {type(value).__name__}")
    if not value:
        raise ValueError(f"{name}: pass a text that is not empty")
    return checked(value, name)


def checked(text: str, pointer: str) -> str:
    """Returns the text; one that UTF-8 does not have is an :class:`~reprise.InvalidValue`."""
    found = next(_surrogates(text, pointer), None)
    if found is not None:
        raise InvalidValue(*found)
    return text


def check_texts(value: Any, pointer: str = "") -> None:
    """Raises :class:`~reprise.InvalidValue` if a text of a value is none that UTF-8 has."""
    for place, leaf, _ in _leaves(value, pointer):
        if isinstance(leaf, str):
            checked(leaf, place)


def _has_other_names(body: Any) -> bool:
    """Tells whether a name of a field is no text."""
    values = [body]
    for value in values:
        if isinstance(value, dict):
            fields = cast("dict[object, Any]", value)
            if not all(isinstance(name, str) for name in fields):
                return True
            values.extend(fields.values())
        elif isinstance(value, (list, tuple)):
            values.extend(cast("list[Any]", value))
    return False


def _invalid(value: Any, pointer: str) -> Iterator[tuple[str, str]]:
    """Yields the pointer to each value that JSON does not have, and what to do about it."""
    for place, leaf, is_name in _leaves(value, pointer):
        if is_name and not isinstance(leaf, str):
            yield place, f"{leaf!r} is no text, as a name of JSON is: replace it, for example with {str(leaf)!r}"
        elif isinstance(leaf, float) and not math.isfinite(leaf):
            yield place, f"{leaf} is no number of JSON: replace it, for example with null or a text"
        elif isinstance(leaf, str):
            yield from _surrogates(leaf, place)


def _foreign(body: Any) -> Iterator[str]:
    """Yields what to do about each value of a class that JSON does not have."""
    for place, leaf, _ in _leaves(body, ""):
        if leaf is not None and not isinstance(leaf, (str, int, float)):
            advice = "pass it as a text, a number, a list or a dictionary"
            yield f"{place or 'the body'}: a {type(leaf).__name__} is no value of JSON: {advice}"


def _leaves(value: Any, pointer: str) -> Iterator[tuple[str, Any, bool]]:
    """Yields what is no list and no dictionary, the names of fields as well, each with its pointer and whether it is a name."""
    if isinstance(value, dict):
        for name, item in cast("dict[object, Any]", value).items():
            yield f"{pointer} (a name of a field)".lstrip(), name, True
            yield from _leaves(item, f"{pointer}/{_escaped(str(name))}")
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(cast("list[Any]", value)):
            yield from _leaves(item, f"{pointer}/{index}")
    else:
        yield pointer, value, False


def _surrogates(text: str, pointer: str) -> Iterator[tuple[str, str]]:
    found = SURROGATE.search(text)
    if found:
        repair = "text.encode('utf-16', 'surrogatepass').decode('utf-16', 'replace')"
        yield (
            pointer,
            f"the character {found.start()} is the surrogate U+{ord(found[0]):04X}, which UTF-8 does not have: replace it, for "
            f"example with {repair}, which keeps pairs of surrogates as what they mean",
        )


def _escaped(name: str) -> str:
    """Returns a name as a pointer has it (RFC 6901)."""
    return SURROGATE.sub("\ufffd", name).replace("~", "~0").replace("/", "~1")
