"""The arguments of calls, as the service can store them."""

from __future__ import annotations

import json
import math
from typing import Any, cast

from .._json import SURROGATE

#: The most levels of lists and dictionaries: the service allows 64, and has the arguments within nine others.
MOST_LEVELS = 55


def read(text: str) -> Any:
    """Returns the value that a text of arguments is the JSON of; the text itself if the service would refuse the value."""
    try:
        given: Any = json.loads(text or "{}", parse_constant=_refused)
    except RecursionError:
        return text
    except ValueError:
        # The model has broken off, or has written no JSON; the text is kept.
        return {"text": text}
    return given if _is_storable(given, MOST_LEVELS) else text


def is_whole(text: str) -> bool:
    """Tells whether a text of arguments is a JSON object, to which nothing can be added."""
    if not (text.lstrip().startswith("{") and text.rstrip().endswith("}")):
        return False
    try:
        json.loads(text)
    except (RecursionError, ValueError):
        return False
    return True


def stored(given: Any) -> Any:
    """Returns arguments; their JSON as a text if the service would refuse them."""
    return given if _is_storable(given, MOST_LEVELS) else json.dumps(given)


def _is_storable(value: Any, levels: int) -> bool:
    """Tells whether the service stores a value, which has at most so many levels."""
    if isinstance(value, dict):
        fields = cast("dict[object, Any]", value)
        return levels > 0 and all(_is_name(name) and _is_storable(item, levels - 1) for name, item in fields.items())
    if isinstance(value, (list, tuple)):
        return levels > 0 and all(_is_storable(item, levels - 1) for item in cast("list[Any]", value))
    if isinstance(value, str):
        return SURROGATE.search(value) is None
    if isinstance(value, int):
        return -(2**63) <= value < 2**63
    return not isinstance(value, float) or math.isfinite(value)


def _is_name(name: object) -> bool:
    return not isinstance(name, str) or ("\0" not in name and SURROGATE.search(name) is None)


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")
