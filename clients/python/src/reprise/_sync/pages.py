from __future__ import annotations

from collections.abc import Iterator, Callable
from typing import Any, TypeVar

from .._request import Request
from .transport import Transport

T = TypeVar("T")


def pages(
    transport: Transport, path: str, read: Callable[[Any], T], page_size: int, filters: dict[str, Any]
) -> Iterator[T]:
    """Reads a list, page by page; ``TypeError`` for a filter that would say which page."""
    for name in ("limit", "cursor"):
        if name in filters:
            raise TypeError(
                f"{name}: the list follows its pages itself: pass page_size for how many records one request reads, and leave "
                f'the loop when you have enough; one page alone is read with request("GET", "{path}", {name}=…)'
            )
    cursor: str | None = None
    while True:
        params = {**filters, "limit": page_size, "cursor": cursor}
        page = transport.json(Request("GET", path, params=params))
        for item in page["data"]:
            yield read(item)
        cursor = page.get("next_cursor")
        if cursor is None:
            return
