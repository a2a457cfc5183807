"""A chat as a list of items: what its messages say about which items there are. Nothing here sends anything."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, cast

from pydantic import ValidationError

from . import models
from ._json import checked_id
from ._request import Json, new_id, without_none

#: The ``type`` of a message that keeps an item in its ``props``.
ITEM = "store-item"
#: The ``type`` of a message that removes the item of the message whose sequence its ``props`` have.
REMOVAL = "store-removal"
#: The ``type`` of a message that removes all items before it.
CLEARING = "store-clearing"
#: Where the text of an item is: the keys and indexes that lead to it.
TextPath = Sequence[str | int]


class ItemView:
    """The items of consecutive messages, which may be read in any order."""

    def __init__(self) -> None:
        self._items: dict[int, Any] = {}
        self._removed: set[int] = set()
        self._cleared_below = 0

    def add(self, messages: Sequence[Json]) -> None:
        """Adds messages, as the service returns them. A deleted message has no type, and so is none of them."""
        for message in messages:
            kind, sequence = message.get("type"), message["sequence"]
            if kind == ITEM:
                self._items[sequence] = item_of(message)
            elif kind == REMOVAL:
                self._removed.add(message["props"]["sequence"])
            elif kind == CLEARING:
                self._cleared_below = max(self._cleared_below, sequence)

    @property
    def has_clearing(self) -> bool:
        """Whether no message before these can have an item."""
        return self._cleared_below > 0

    def items(self) -> list[tuple[int, Any]]:
        """Returns the items in order, each with the sequence of its message."""
        there = sorted(self._items.keys() - self._removed)
        return [(sequence, self._items[sequence]) for sequence in there if sequence >= self._cleared_below]


def item_message(item: Json, readable: Json, text_at: TextPath | None = None) -> dict[str, Any]:
    """Returns the message that keeps an item.

    :param readable: the role, and what there is of a name, a content, calls and results, for readers that do not know items
    :param text_at: where the text of the item is, which becomes the content, and is not stored a second time
    """
    props: dict[str, Any] = {"item": item}
    fields = without_none(readable)
    if text_at is not None:
        props = {"item": _with_text(item, text_at, None), "text_at": list(text_at)}
        fields["content"] = _text_at(item, text_at)
    return {**fields, "event_id": new_id(), "type": ITEM, "props": props}


def text_path(item: Json, *path: str | int) -> TextPath | None:
    """Returns where the only text of a content is: the content itself, or in a part of it; otherwise ``None``."""
    content = _text_at(item, path[:-1]).get(path[-1])
    if isinstance(content, str):
        return path
    parts = cast("list[object]", content) if isinstance(content, list) else []
    dicts = [(index, cast("Json", part)) for index, part in enumerate(parts) if isinstance(part, dict)]
    texts = [index for index, part in dicts if isinstance(part.get("text"), str)]
    return (*path, texts[0], "text") if len(texts) == 1 else None


def item_of(message: Json) -> Any:
    """Returns the item that a message keeps."""
    item, text_at = message["props"]["item"], message["props"].get("text_at")
    return item if text_at is None else _with_text(item, text_at, message.get("content"))


def _text_at(value: Any, path: TextPath) -> Any:
    for step in path:
        value = value[step]
    return value


def _with_text(value: Any, path: TextPath, text: Any) -> Any:
    """Returns a copy with another text; what does not lead to the text is shared."""
    if not path:
        return text
    copied = value.copy()
    copied[path[0]] = _with_text(value[path[0]], path[1:], text)
    return copied


def mark_message(kind: str, props: Json) -> dict[str, Any]:
    """Returns a message that changes which items there are, and says nothing."""
    return {"role": "assistant", "event_id": new_id(), "type": kind, "props": dict(props)}


def chat_id_of(session_id: str) -> str:
    """Returns the id of the chat of a session: the same, or a digest of it if it cannot be the id of a chat."""
    checked_id(session_id, "session_id")
    try:
        return models.ChatId.model_validate(session_id).root
    except ValidationError:
        return f"session_{hashlib.sha256(session_id.encode()).hexdigest()}"
