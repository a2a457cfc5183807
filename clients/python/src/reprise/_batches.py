"""Records in batches that one request can hold. Nothing here sends anything."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from math import inf
from typing import Any, TypeVar, cast

from ._request import Json

#: How many messages one request appends.
MOST_MESSAGES = 1_000
#: The most bytes of the messages of one request, as :func:`message_size` counts them. The service allows values that take
#: 32 MiB once they are parsed, and 8 MiB of text, a quarter of that; the rest is for the list around the messages.
MOST_MESSAGE_BYTES = 30_000_000
#: How many bytes a parsed value takes in the service: in a list, in an object with its key, and a text beside its characters.
VALUE_BYTES, ENTRY_BYTES, TEXT_BYTES = 72, 128, 16

Record = TypeVar("Record")


def batches(
    records: Iterable[Record], size_of: Callable[[Record], int], most_bytes: int, most_records: float = inf
) -> Iterator[list[Record]]:
    """Yields records in batches within these limits; one that is larger is a batch by itself."""
    batch: list[Record] = []
    total = 0
    for record in records:
        size = size_of(record)
        if batch and (total + size > most_bytes or len(batch) >= most_records):
            yield batch
            batch, total = [], 0
        batch.append(record)
        total += size
    if batch:
        yield batch


def message_batches(messages: Iterable[Json]) -> Iterator[list[Json]]:
    """Yields messages in batches. The service accepts a batch if it accepts each of its messages by itself."""
    return batches(messages, message_size, MOST_MESSAGE_BYTES, MOST_MESSAGES)


def message_size(message: Json) -> int:
    """Returns how many bytes a message takes at most once it is parsed, and at least four times those of its text."""
    text = len(json.dumps(message, ensure_ascii=False).encode(errors="surrogatepass"))
    size = text
    values: list[Any] = [message]
    for value in values:
        if isinstance(value, dict):
            fields = cast("dict[str, Any]", value)
            # An eighth of an object stays free.
            size += ENTRY_BYTES * _capacity(len(fields) * 8 // 7 + 1) + TEXT_BYTES * len(fields)
            values.extend(fields.values())
        elif isinstance(value, (list, tuple)):
            items = cast("list[Any]", value)
            size += VALUE_BYTES * _capacity(len(items))
            values.extend(items)
        else:
            size += TEXT_BYTES
    return max(size, 4 * text)


def _capacity(count: int) -> int:
    """Returns for how many values a collection has room that grows to twice its size when it is full."""
    return 0 if count == 0 else max(4, 1 << (count - 1).bit_length())
