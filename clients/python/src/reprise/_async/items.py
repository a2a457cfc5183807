from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import models
from .._items import CLEARING, ITEM, REMOVAL, ItemView, chat_id_of, mark_message
from .._request import Json
from ..errors import Conflict, NotFound, OutcomeUnknown
from .client import AsyncReprise
from .clock import settled

#: How many messages one request reads; the service allows 1,000.
PAGE = 1_000
#: How many more messages than items are read: those that only remove items, and deleted ones.
MARGIN = 8
#: How many messages one request deletes; the service allows 100.
DELETED_AT_ONCE = 100
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Removal:
    """An item that is to be removed, and the message that removes it."""

    sequence: int
    item: Any
    #: How many messages the chat must have.
    count: int
    mark: Json


class AsyncItemLog:
    """Keeps items of a framework in a chat: any JSON, in order, as they were given.

    Each item is a message, which other readers of the chat understand by its role, content and calls; the item itself is in its
    ``props``. To remove items, a message is appended that says so, and then the removed messages are deleted. An append is
    either stored once or not, however often it is sent, and so is a removal.

    The chat is created with the first item. Messages that others append to it are no items.
    """

    def __init__(self, client: AsyncReprise, session_id: str, workflow_name: str, fields: Json) -> None:
        self.chat = client.chat(chat_id_of(session_id))
        self._client = client
        self._workflow_name = workflow_name
        #: The sequence of the item that was popped last, and how many messages there were after that.
        self._popped: tuple[int, int] | None = None
        #: A removal that may be stored: the next pop sends it again, or its item would be lost.
        self._unconfirmed: _Removal | None = None
        self._fields = {**fields, "metadata": {**fields.get("metadata", {}), "session_id": session_id}}

    async def append(self, messages: Sequence[Json], *, expected_last_sequence: int | None = None) -> models.AppendResponse:
        """Appends items, all or none: messages of :func:`item_message`."""
        return await settled(self._append(messages, expected_last_sequence))

    async def read(self, limit: int | None = None) -> list[Any]:
        """Returns all items, or the newest ones, in order. A chat that does not exist has none."""
        if limit is not None and limit <= 0:
            return []
        view, _ = await self.view(limit)
        items = [item for _, item in view.items()]
        return items if limit is None else items[-limit:]

    async def pop(self) -> Any | None:
        """Removes the newest item and returns it; ``None`` if there is none. Of several callers, each gets another item."""
        return await settled(self._pop())

    async def clear(self) -> None:
        """Removes all items: for readers at once, and then what they contain."""
        await settled(self._clear())

    async def view(self, limit: int | None = None) -> tuple[ItemView, int]:
        """Returns all items, or at least the newest ones, and the number of messages of the chat when they were these."""
        view, cursor, count = ItemView(), None, None
        size = PAGE if limit is None else min(PAGE, limit + MARGIN)
        try:
            while True:
                page = await self._page(newest=size, cursor=cursor)
                view.add(page["data"])
                cursor, last_sequence = page["next_cursor"], page["last_sequence"]
                count = last_sequence if count is None else count
                if last_sequence > count and self._is_enough(view, cursor, limit):
                    # What was removed meanwhile may be gone from this page, and not from the pages before it.
                    count = await self._read_newer(view, count)
                if self._is_enough(view, cursor, limit):
                    return view, count
                # Where many items were removed, the next ones may be far.
                size = min(PAGE, 4 * size)
        except NotFound as error:
            if error.code != "chat-not-found":
                raise
            return ItemView(), 0

    def _is_enough(self, view: ItemView, cursor: str | None, limit: int | None) -> bool:
        return cursor is None or view.has_clearing or (limit is not None and len(view.items()) >= limit)

    async def _read_newer(self, view: ItemView, count: int) -> int:
        """Adds all messages from this number on; returns how many messages there are then."""
        cursor = None
        while True:
            page = await self._page(after=count - 1, limit=PAGE, cursor=cursor)
            view.add(page["data"])
            cursor = page["next_cursor"]
            if cursor is None:
                return int(page["last_sequence"])

    async def _page(self, **params: Any) -> Any:
        return await self.chat.get("messages", **params)

    async def _append(self, messages: Sequence[Json], expected_last_sequence: int | None) -> models.AppendResponse:
        self._unconfirmed = None
        try:
            return await self.chat.append(*messages, expected_last_sequence=expected_last_sequence)
        except NotFound as error:
            if error.code != "chat-not-found":
                raise
        try:
            await self._client.ensure_chat(self.chat.chat_id, self._workflow_name, **self._fields)
        except Conflict as error:
            if error.code != "chat-exists":
                raise
            detail = "was deleted, or another app has one with this id: restore it with undelete, or use another session id"
            raise Conflict(f"the chat {self.chat.chat_id} {detail}", status=error.status, problem=error.problem) from error
        return await self.chat.append(*messages, expected_last_sequence=expected_last_sequence)

    async def _pop(self) -> Any | None:
        while True:
            removal, self._unconfirmed = self._unconfirmed, None
            if removal is None:
                removal = await self._removal()
            if removal is None:
                return None
            sequence = removal.sequence
            try:
                marked = await self.chat.append(removal.mark, expected_last_sequence=removal.count)
            except OutcomeUnknown:
                self._unconfirmed = removal
                raise
            except Conflict as error:
                if error.code != "sequence-conflict":
                    raise
                continue
            try:
                await self.chat.delete_message(sequence)
            except Exception:
                # The item is removed already: the call that raises would lose it.
                logger.exception("the message %s of the chat %s keeps a popped item", sequence, self.chat.chat_id)
            self._popped = (sequence, marked.last_sequence)
            return removal.item

    async def _removal(self) -> _Removal | None:
        """Returns how the newest item is removed; ``None`` if there is none."""
        view, count = await self._newest()
        items = view.items()
        if not items:
            return None
        sequence, item = items[-1]
        return _Removal(sequence, item, count, mark_message(REMOVAL, {"sequence": sequence}))

    async def _newest(self) -> tuple[ItemView, int]:
        """Returns at least the newest item. If nothing was appended since the last pop, it is before the popped one."""
        if self._popped is not None:
            below, count = self._popped
            page = await self._page(newest=MARGIN, before=below)
            view = ItemView()
            view.add(page["data"])
            if page["last_sequence"] == count and view.items():
                return view, count
        return await self.view(1)

    async def _clear(self) -> bool:
        self._unconfirmed = None
        try:
            cleared = await self.chat.append(mark_message(CLEARING, {}))
        except NotFound as error:
            if error.code != "chat-not-found":
                raise
            return False
        below, cursor = cleared.messages[0].sequence, None
        while True:
            page = await self._page(type=ITEM, before=below, limit=DELETED_AT_ONCE, cursor=cursor)
            if page["data"]:
                await self.chat.delete_messages([message["event_id"] for message in page["data"]])
            cursor = page["next_cursor"]
            if cursor is None:
                return True
