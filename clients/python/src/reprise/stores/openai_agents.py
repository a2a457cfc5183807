"""Sessions of the OpenAI Agents SDK (``pip install reprise-chats[openai-agents]``)::

    from agents import Agent, Runner
    from reprise import AsyncReprise
    from reprise.stores.openai_agents import RepriseSession

    async with AsyncReprise("http://127.0.0.1:8080", "acme_corp") as client:
        session = RepriseSession("user-123", client=client)
        await Runner.run(Agent(name="Assistant", model=model), "Hello", session=session)

The next run with a session of the same id goes on from there, in any process.
"""

from __future__ import annotations

from typing import Any, cast

from agents import SessionSettings, TResponseInputItem
from agents.memory import SessionABC
from agents.memory.session_settings import coerce_session_settings, resolve_session_limit

from .._async.client import AsyncReprise
from .._async.items import AsyncItemLog
from .._items import item_message, text_path
from .._request import Json, check_dictionaries
from ._clients import checked_client


class RepriseSession(SessionABC):
    """A session whose items are kept in a chat of Reprise, each as it was given.

    - ``add_items`` stores all items or none, once, however often the request is sent. Items of several writers are in the order
      in which they were stored.
    - ``pop_item`` is atomic between processes: an item is returned to one of them.
    - ``clear_session`` removes all items at once for readers, and then deletes what they contain.
    - A call that writes and is cancelled ends when its outcome is known, at most ``retry_for`` seconds of the client later.

    In the chat, a message, a function call or its result is also a message, a call or a result of Reprise: the dashboard and
    :meth:`~reprise.AsyncChat.history` show it, and an edit of its content there is an edit of the item. Other items, such as
    reasoning, and contents of several texts have no content there.

    What it cannot do:

    - A batch has at most 1,000 items and 8 MiB, and an item at most 4 MiB. The service also bounds how many values a batch has
      (``body-too-large``): about 260,000 numbers in lists, or 100,000 fields of dictionaries.
    - ``NaN``, a key that is no text, and other values that JSON does not have are an :class:`~reprise.InvalidValue`, which
      names the field. Integers beyond 64 bits with a sign, more than 63 levels of lists and dictionaries, and keys with a NUL
      are an :class:`~reprise.InvalidRequest`.
    - Messages that other clients append to the chat are no items. Neither are the messages of a session that ``reprise import
      mongo openai-agents`` has imported: add what ``history("openai-responses")`` of its chat returns to a new session.

    :param session_id: the id of the session. The chat has the same, or a digest if it is no id of a chat (1 to 128 of
        ``A-Z a-z 0-9 _ - . :``). Ids of chats are unique among all apps of a service.
    :param client: the connection to the app; the caller closes it
    :param session_settings: how many items are read, unless a call says so
    :param workflow_name: the workflow of the chat
    :param chat: further fields of the chat that is created, such as ``user_id`` or ``visibility``
    """

    def __init__(
        self,
        session_id: str,
        *,
        client: AsyncReprise,
        session_settings: SessionSettings | dict[str, Any] | None = None,
        workflow_name: str = "openai-agents",
        **chat: Any,
    ) -> None:
        self.session_id = session_id
        self.session_settings: SessionSettings | None = coerce_session_settings(session_settings or SessionSettings())
        self._log = AsyncItemLog(checked_client(client, AsyncReprise), session_id, workflow_name, chat)

    @property
    def chat_id(self) -> str:
        """The id of the chat that keeps the items."""
        return self._log.chat.chat_id

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Returns all items, or the newest ones, the oldest first. As in ``SQLiteSession``, a negative limit is none."""
        most = resolve_session_limit(limit, self.session_settings)
        return await self._log.read(None if most is not None and most < 0 else most)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Appends items, all or none."""
        check_dictionaries(items, "/items")
        if items:
            await self._log.append([_message(cast("Json", item)) for item in items])

    async def pop_item(self) -> TResponseInputItem | None:
        """Removes the newest item, and returns it; ``None`` if there is none."""
        return cast("TResponseInputItem | None", await self._log.pop())

    async def clear_session(self) -> None:
        """Removes all items."""
        await self._log.clear()


def _message(item: Json) -> dict[str, Any]:
    """Returns the message that keeps an item, with what readers that do not know the Responses API understand of it."""
    role, kind, call_id = item.get("role"), item.get("type"), item.get("call_id")
    if isinstance(role, str):
        return item_message(item, {"role": "system" if role == "developer" else role}, text_path(item, "content"))
    if kind == "function_call_output" and isinstance(call_id, str):
        return item_message(item, {"role": "tool", "tool_call_id": call_id}, text_path(item, "output"))
    name, arguments = item.get("name"), item.get("arguments")
    if kind == "function_call" and isinstance(call_id, str) and isinstance(name, str) and isinstance(arguments, str):
        call = {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
        return item_message(item, {"role": "assistant", "tool_calls": [call]})
    return item_message(item, {"role": "assistant"})
