"""The history of the messages of a chat for LangChain (``pip install reprise-chats[langchain]``)::

    from langchain_core.messages import HumanMessage
    from reprise import Reprise
    from reprise.stores.langchain import RepriseChatMessageHistory

    with Reprise("http://127.0.0.1:8080", "acme_corp") as client:
        history = RepriseChatMessageHistory("user-123", client)
        history.add_messages([HumanMessage("Hello")])
        print(history.messages)

A chain gets it from the function that is given to ``RunnableWithMessageHistory``.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import AIMessage, BaseMessage, ChatMessage, ToolMessage, message_to_dict, messages_from_dict

from .._async.client import AsyncReprise
from .._async.items import AsyncItemLog
from .._batches import message_batches
from .._items import item_message, text_path
from .._request import Json
from .._sync.client import Reprise
from .._sync.items import ItemLog
from ._clients import checked_client

#: What a message of LangChain is for readers that do not know it; of chunks, too.
ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "function"}


class RepriseChatMessageHistory(BaseChatMessageHistory):
    """A history whose messages are kept in a chat of Reprise, each as it was given.

    - Every class of ``langchain_core.messages`` comes back with all its fields: ids, ``additional_kwargs``,
      ``response_metadata``, usage, artifacts, and calls without a result.
    - ``add_messages`` stores all messages or none, once, however often the request is sent. Messages of several writers are in
      the order in which they were stored; ids need not be unique.
    - ``clear`` removes all messages at once for readers, and then deletes what they contain.

    In the chat, each message is also one of Reprise, with its role, text, calls and results: the dashboard and
    :meth:`~reprise.Chat.history` show it, and an edit of its content there is an edit of the message. Contents of several texts
    are not shown.

    What it cannot do:

    - ``add_messages`` takes at most 1,000 messages and 8 MiB, and a message has at most 4 MiB. The service also bounds how many
      values a request has (``body-too-large``): about 260,000 numbers in lists, or 100,000 fields of dictionaries.
    - An artifact, or a value in ``additional_kwargs``, that is no JSON is a ``TypeError``; a model of pydantic comes back as
      its fields.
    - Messages that other clients append to the chat are not in the history. Neither are those that ``reprise import mongo
      langchain`` has imported: :meth:`copy_from` takes them over into a new history.
    - Infinity, NaN, half of a surrogate pair, and a key that is no text are an :class:`~reprise.InvalidValue`, which names the
      field. Integers beyond 64 bits with a sign, more than 63 levels of lists and dictionaries in what ``message_to_dict``
      returns, and keys with a NUL are an :class:`~reprise.InvalidRequest`.
    - The ``name`` of a message, and the ``role`` of a ``ChatMessage``, has 1 to 128 visible characters, without blanks at its
      ends.
    - Subclasses of messages that LangChain does not know cannot be read.

    :param session_id: the id of the session. The chat has the same, or a digest if it is no id of a chat (1 to 128 of
        ``A-Z a-z 0-9 _ - . :``). Ids of chats are unique among all apps of a service.
    :param client: the connection to the app for the methods that wait
    :param async_client: that for asyncio; without it, ``aget_messages`` and the others use ``client`` in a thread
    :param workflow_name: the workflow of the chat
    :param chat: further fields of the chat that is created, such as ``user_id`` or ``visibility``
    """

    def __init__(
        self,
        session_id: str,
        client: Reprise | None = None,
        *,
        async_client: AsyncReprise | None = None,
        workflow_name: str = "langchain",
        **chat: Any,
    ) -> None:
        super().__init__()
        if client is None and async_client is None:
            raise TypeError("pass client, async_client, or both")
        self.session_id = session_id
        self._client = None if client is None else checked_client(client, Reprise)
        self._async_client = None if async_client is None else checked_client(async_client, AsyncReprise)
        self._log = None if client is None else ItemLog(client, session_id, workflow_name, chat)
        self._async_log = None if async_client is None else AsyncItemLog(async_client, session_id, workflow_name, chat)

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]  # The base class declares an attribute, and means this.
        """All messages, the oldest first."""
        return messages_from_dict(self._waiting().read())

    async def aget_messages(self) -> list[BaseMessage]:
        """Returns all messages, the oldest first."""
        if self._async_log is None:
            return await super().aget_messages()
        return messages_from_dict(await self._async_log.read())

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Appends messages, all or none."""
        if messages:
            self._waiting().append([_item_message(message) for message in messages])

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Appends messages, all or none."""
        if self._async_log is None:
            await super().aadd_messages(messages)
        elif messages:
            await self._async_log.append([_item_message(message) for message in messages])

    def copy_from(self, chat_id: str) -> int:
        """Appends the messages of a chat that other clients have written, or that was imported; returns how many.

        Calls without results stay as they are. A large chat is copied in several requests: if one fails, the messages of those
        before it are stored. What is called again appends again.
        """
        log = self._waiting()
        assert self._client is not None
        history = self._client.chat(chat_id).history("langchain", unsettled="keep")
        messages = messages_from_dict(history.messages)
        for batch in message_batches(map(_item_message, messages)):
            log.append(batch)
        return len(messages)

    async def acopy_from(self, chat_id: str) -> int:
        """Like :meth:`copy_from`, for asyncio."""
        if self._async_client is None or self._async_log is None:
            return await asyncio.to_thread(self.copy_from, chat_id)
        history = await self._async_client.chat(chat_id).history("langchain", unsettled="keep")
        messages = messages_from_dict(history.messages)
        for batch in message_batches(map(_item_message, messages)):
            await self._async_log.append(batch)
        return len(messages)

    def clear(self) -> None:
        """Removes all messages."""
        self._waiting().clear()

    async def aclear(self) -> None:
        """Removes all messages."""
        if self._async_log is None:
            await super().aclear()
        else:
            await self._async_log.clear()

    def _waiting(self) -> ItemLog:
        if self._log is None:
            raise TypeError("this history has no client that waits: pass one, or use its methods for asyncio")
        return self._log


def _item_message(message: BaseMessage) -> dict[str, Any]:
    """Returns the message that keeps one of LangChain, with what readers that do not know LangChain understand of it."""
    item = message_to_dict(message)
    if isinstance(message, ChatMessage):
        role = message.role
    else:
        role = ROLES.get(message.type.removesuffix("MessageChunk").lower(), "assistant")
    readable: dict[str, Any] = {"role": role, "name": message.name or None}
    if isinstance(message, AIMessage) and message.tool_calls:
        readable["tool_calls"] = [_call(dict(call)) for call in message.tool_calls]
    if isinstance(message, ToolMessage):
        readable["tool_call_id"] = message.tool_call_id
        readable["tool_error"] = message.status == "error" or None
    return item_message(item, readable, text_path(item, "data", "content"))


def _call(call: Json) -> Json:
    function = {"name": call["name"], "arguments": json.dumps(call["args"])}
    return {"id": call["id"] or "", "type": "function", "function": function}
