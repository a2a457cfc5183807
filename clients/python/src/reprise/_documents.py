"""What documents are to the client: their heads, their content, and how they are named. Nothing here sends anything."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass, replace
from typing import Any, cast
from urllib.parse import quote

import httpx

from . import models
from ._json import checked
from ._json import encoded as json_of
from ._request import check_segments
from .errors import InvalidValue

#: How many bytes one request may write, and one answer may hold.
MAX_BODY = 8 * 1024 * 1024
#: The status of a range that begins at the end of a document, or behind it.
BEHIND_THE_END = 416
JSON = "application/json"
BYTES = "application/octet-stream"
TEXT = "text/plain; charset=utf-8"


class ListedDocument(models.ListedDocument):
    """A document of a list; it has its content if the list was asked for contents and the document is small enough."""

    @property
    def has_content(self) -> bool:
        """Whether the list has the content; otherwise it is read by itself."""
        return not {"content", "content_base64"}.isdisjoint(self.model_fields_set)

    @property
    def data(self) -> bytes:
        """The content as bytes."""
        return json.dumps(self.content).encode() if self.content_base64 is None else base64.b64decode(self.content_base64)

    def parsed(self) -> Any:
        """Parses the content as JSON. A list has JSON as bytes where numbers would not stay the same."""
        return self.content if self.content_base64 is None else json.loads(self.data)


@dataclass(frozen=True)
class DocumentInfo:
    """What the headers of an answer say of a document."""

    #: How many bytes the whole document has.
    size: int
    content_type: str
    #: Changes with every write; for ``if_match``.
    entity_tag: str


@dataclass(frozen=True)
class Content(DocumentInfo):
    """The content of a document, or a range of it."""

    data: bytes
    #: Where the range begins.
    start: int = 0

    @property
    def end(self) -> int:
        """Where the range ends."""
        return self.start + len(self.data)

    @property
    def text(self) -> str:
        """The content as text."""
        return self.data.decode()

    def json(self) -> Any:
        """Parses the content as JSON."""
        return json.loads(self.data)


def document_url(app_id: str, path: str) -> str:
    """Returns the path of a request for a document."""
    if not path:
        raise InvalidValue("path", "is empty: pass 1 to 32 names, joined by /, such as notes/lake")
    check_segments(path.split("/"))
    return f"/api/documents/{quote(app_id, safe='')}/{quote(checked(path, 'path'), safe='/')}"


def encoded(content: Any, content_type: str | None) -> tuple[bytes, str]:
    """Returns the bytes and the type of a content: bytes and text as they are, everything else as JSON."""
    if isinstance(content, (bytes, bytearray, memoryview)):
        return bytes(cast("bytes", content)), content_type or BYTES
    if isinstance(content, str):
        return checked(content, "").encode(), content_type or TEXT
    return json_of(content), content_type or JSON


def conditions(if_match: str | None, if_none_match: str | None = None) -> dict[str, str]:
    """Returns the headers of a conditional request."""
    headers = {"if-match": if_match, "if-none-match": if_none_match}
    return {name: quoted(tag) for name, tag in headers.items() if tag is not None}


def quoted(tag: str) -> str:
    return tag if tag == "*" else f'"{unquoted(tag)}"'


def unquoted(tag: str) -> str:
    return tag.removeprefix("W/").strip('"')


def info_of(response: httpx.Response) -> DocumentInfo:
    """Returns what the headers of a response say."""
    headers = response.headers
    ranged = re.fullmatch(r"bytes (?:\d+-\d+|\*)/(\d+)", headers.get("content-range", ""))
    size = int(ranged[1] if ranged else headers.get("content-length", 0))
    return DocumentInfo(size, headers.get("content-type", BYTES), unquoted(headers.get("etag", "")))


def content_of(response: httpx.Response, start: int) -> Content:
    """Returns the content that a response has."""
    info, data = info_of(response), response.content
    if "content-range" not in response.headers:
        # If a proxy has compressed the answer, the header has the compressed length.
        info = replace(info, size=len(data))
    return Content(**vars(info), data=data, start=start)


def content_id(info: DocumentInfo) -> str:
    """Returns what stays the same in the entity tag of a document as long as it only grows."""
    return info.entity_tag.rpartition("-")[0]
