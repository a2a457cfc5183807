"""The names that frameworks give to things, as segments of document paths, and back."""

from __future__ import annotations

import re
from urllib.parse import unquote

from .._json import checked

MAX_SEGMENT = 256
#: What a segment cannot hold, and the sign that stands before what replaces it.
RESERVED = re.compile(r"[%/\x00-\x1f\x7f-\x9f]")
#: Segments for the names that would be none.
SPECIAL = {"": "%", ".": "%2E", "..": "%2E%2E"}


def segment(name: str) -> str:
    """Returns the segment for a name, whatever characters it has; different names have different segments."""
    checked(name, "path")
    found = SPECIAL.get(name) or RESERVED.sub(lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), name)
    if len(found.encode()) > MAX_SEGMENT:
        raise ValueError(f"{name!r} is too long to be a segment of a path, which has at most {MAX_SEGMENT} bytes")
    return found


def name_of(segment: str) -> str:
    """Returns the name that a segment stands for."""
    return "" if segment == "%" else unquote(segment)


def join(*names: str) -> str:
    """Returns the path of these names."""
    return "/".join(segment(name) for name in names)
