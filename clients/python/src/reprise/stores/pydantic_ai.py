"""Message histories of pydantic-ai (``pip install reprise-chats[pydantic-ai]``)::

    from pydantic_ai import Agent
    from reprise import AsyncReprise
    from reprise.stores.pydantic_ai import RepriseMessageHistory

    agent = Agent(model)
    async with AsyncReprise("http://127.0.0.1:8080", "acme_corp") as client:
        history = RepriseMessageHistory("user-123", client=client)
        result = await agent.run("Hello", message_history=await history.load())
        await history.save(result.all_messages())

Only what is new is appended.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from itertools import groupby, zip_longest
from typing import Any, cast

from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter

from .._async.client import AsyncReprise
from .._async.items import AsyncItemLog
from .._batches import message_batches
from .._items import TextPath, item_message
from .._request import Json
from ..errors import Conflict
from ._clients import checked_client


class DivergedHistory(ValueError):
    """The stored messages are not the beginning of those that are to be saved.

    Either others have stored messages, or stored ones were changed. ``load`` returns what is stored, ``append`` adds
    ``new_messages()`` whatever is stored, and ``clear`` removes what is stored.
    """


class RepriseMessageHistory:
    """A message history that is kept in a chat of Reprise.

    Each message is stored as ``ModelMessagesTypeAdapter`` writes it once it has read it.

    ``save`` takes the whole history and appends what is new; it is safe to repeat. If another process has appended other
    messages meanwhile, nothing is stored and :class:`DivergedHistory` is raised: load again, and decide.

    In the chat, a message is also one of Reprise: its text, calls and results are shown by the dashboard and by
    :meth:`~reprise.AsyncChat.history`, and an edit of its content there is an edit of the message. A request with several
    results is one message there, and instructions and thinking are not shown.

    Two changes that pydantic-ai makes to earlier messages are no divergence, and are not stored: it evaluates dynamic system
    prompts anew, and combines requests that follow each other, with their tool results first. It makes both again in each run.

    What it cannot do:

    - Stored messages do not change. So a history in which a processor has shortened or rewritten earlier messages is diverged:
      save ``new_messages()`` with ``append`` instead, or ``clear`` before.
    - A message has at most 4 MiB. ``append`` stores at most 1,000 messages and 8 MiB at once, all or none. The service also
      bounds how many values a request has (``body-too-large``): about 260,000 numbers in lists, or 100,000 fields of
      dictionaries. ``save`` stores any number of messages, in several requests; if it
      breaks off, repeat it.
    - Half of a surrogate pair is an :class:`~reprise.InvalidValue`. Integers beyond 64 bits with a sign, more than 63 levels of
      lists and dictionaries, and keys with a NUL are an :class:`~reprise.InvalidRequest`.
    - Messages that other clients append to the chat are not in the history.

    :param session_id: the id of the session. The chat has the same, or a digest if it is no id of a chat (1 to 128 of
        ``A-Z a-z 0-9 _ - . :``). Ids of chats are unique among all apps of a service.
    :param client: the connection to the app; the caller closes it
    :param workflow_name: the workflow of the chat
    :param chat: further fields of the chat that is created, such as ``user_id`` or ``visibility``
    """

    def __init__(self, session_id: str, *, client: AsyncReprise, workflow_name: str = "pydantic-ai", **chat: Any) -> None:
        self.session_id = session_id
        self._log = AsyncItemLog(checked_client(client, AsyncReprise), session_id, workflow_name, chat)
        #: The stored messages, as far as this object knows, and how many messages the chat had then.
        self._known: tuple[list[Json], int] | None = None

    @property
    def chat_id(self) -> str:
        """The id of the chat that keeps the messages."""
        return self._log.chat.chat_id

    async def load(self) -> list[ModelMessage]:
        """Returns all messages, the oldest first."""
        stored, _ = await self._read()
        return ModelMessagesTypeAdapter.validate_python(stored)

    async def save(self, messages: Sequence[ModelMessage]) -> int:
        """Appends the messages that are not stored yet, and returns how many these were.

        :param messages: the whole history, such as ``result.all_messages()``
        """
        stored, count = self._known or await self._read()
        items, saved = _as_read(_dumped(messages), stored), 0
        while True:
            try:
                new = self._new(stored, items)
                batch = next(message_batches(_message(item) for item in new), None)
                if batch is None:
                    return saved
                appended = await self._log.append(batch, expected_last_sequence=count)
            except (Conflict, DivergedHistory) as error:
                if isinstance(error, Conflict) and error.code != "sequence-conflict":
                    raise
                # Others have appended, or this object has not seen it. What is stored decides.
                before = count
                stored, count = await self._read()
                if isinstance(error, DivergedHistory) and count == before:
                    raise
                continue
            saved += len(batch)
            stored, count = self._known = (stored + new[: len(batch)], appended.last_sequence)

    async def append(self, messages: Sequence[ModelMessage]) -> None:
        """Appends messages whatever is stored, all or none, such as ``result.new_messages()``."""
        if messages:
            self._known = None
            await self._log.append([_message(item) for item in _as_read(_dumped(messages))])

    async def clear(self) -> None:
        """Removes all messages: for readers at once, and then what they contain."""
        self._known = None
        await self._log.clear()

    def _new(self, stored: list[Json], items: list[Json]) -> list[Json]:
        new = _continuation(stored, items)
        if new is None:
            raise DivergedHistory(
                f"the chat {self.chat_id} has other messages than the first ones of these: load it again and decide, store "
                "new_messages() with append, or clear it before"
            )
        return new

    async def _read(self) -> tuple[list[Json], int]:
        view, count = await self._log.view()
        # As this version of pydantic-ai writes them, or new fields of a later one would look like other messages.
        self._known = (_as_read([item for _, item in view.items()]), count)
        return self._known


def _dumped(messages: Sequence[ModelMessage]) -> list[Json]:
    return cast("list[Json]", ModelMessagesTypeAdapter.dump_python(list(messages), mode="json"))


def _as_read(items: list[Json], stored: Sequence[Json] = ()) -> list[Json]:
    """Returns items as pydantic-ai writes them once it has read them, as the stored ones are: it makes other parts of some."""
    is_stored = [item == old for item, old in zip_longest(items, stored[: len(items)])]
    new = [item for item, is_known in zip(items, is_stored, strict=True) if not is_known]
    read = iter(_dumped(ModelMessagesTypeAdapter.validate_python(new)))
    return [item if is_known else next(read) for item, is_known in zip(items, is_stored, strict=True)]


def _continuation(stored: list[Json], items: list[Json]) -> list[Json] | None:
    """Returns the items that follow the stored ones; ``None`` if the stored ones are not their beginning, nor the reverse."""
    common = min(len(stored), len(items))
    if stored[:common] == items[:common]:
        return items[common:]
    known, given = _groups(stored), _groups(items)
    for place, (ours, theirs) in enumerate(zip(known, given, strict=False), 1):
        missing, surplus = _parts(theirs) - _parts(ours), _parts(ours) - _parts(theirs)
        if not missing and not surplus:
            continue
        is_other = ours[0]["kind"] != theirs[0]["kind"] or (missing and surplus)
        if is_other or (surplus and place < len(given)) or (missing and place < len(known)):
            return None
        return [*_only(theirs, missing), *(item for group in given[place:] for item in group)]
    return [item for group in given[len(known) :] for item in group]


def _groups(items: Sequence[Json]) -> list[list[Json]]:
    """Returns items in groups: requests that follow each other, which pydantic-ai combines, and each response alone."""
    numbered = enumerate(items)
    groups = groupby(numbered, lambda each: -1 if each[1]["kind"] == "request" else each[0])
    return [[item for _, item in group] for _, group in groups]


def _parts(group: Sequence[Json]) -> Counter[str]:
    """Returns what a group says, in no order."""
    if group[0]["kind"] == "request":
        return Counter(_compared(part) for item in group for part in item["parts"])
    (response,) = group
    return Counter([_compared({**response, "parts": [_compared(part) for part in response["parts"]]})])


def _only(group: Sequence[Json], wanted: Counter[str]) -> list[Json]:
    """Returns the items of a group with these parts alone."""
    found: list[Json] = []
    for item in reversed(group):
        parts: list[Json] = []
        for part in reversed(item["parts"]):
            if wanted[_compared(part)] > 0:
                wanted[_compared(part)] -= 1
                parts.insert(0, part)
        if parts:
            found.insert(0, {**item, "parts": parts})
    return found


def _compared(part: Json) -> str:
    """Returns what must be equal in two forms of a part."""
    ignored: set[str] = set() if part.get("dynamic_ref") is None else {"content", "timestamp"}
    return json.dumps({name: value for name, value in part.items() if name not in ignored}, sort_keys=True)


def _message(item: Json) -> dict[str, Any]:
    """Returns the message that keeps one of pydantic-ai, with what readers that do not know pydantic-ai understand of it."""
    parts: dict[str, list[tuple[int, Json]]] = {}
    for index, part in enumerate(cast("list[Json]", item["parts"])):
        parts.setdefault(str(part["part_kind"]), []).append((index, part))
    if item["kind"] == "response":
        calls = [_call(part) for _, part in parts.get("tool-call", [])]
        return item_message(item, {"role": "assistant", "tool_calls": calls or None}, _text(parts.get("text", [])))
    results = parts.get("tool-return", [])
    if len(results) == 1:
        return item_message(item, {"role": "tool", "tool_call_id": results[0][1]["tool_call_id"]}, _text(results))
    if results:
        responses = [{"role": "tool", "tool_call_id": part["tool_call_id"], "content": part["content"]} for _, part in results]
        return item_message(item, {"role": "tool", "tool_responses": responses})
    return item_message(item, {"role": "user"}, _text(parts.get("user-prompt", [])))


def _text(parts: Sequence[tuple[int, Json]]) -> TextPath | None:
    """Returns where the text of the only part is; ``None`` if there are several, or it has other contents, too."""
    if len(parts) == 1 and isinstance(parts[0][1].get("content"), str):
        return ("parts", parts[0][0], "content")
    return None


def _call(part: Json) -> Json:
    arguments: Any = part.get("args") or {}
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": part["tool_call_id"], "type": "function", "function": {"name": part["tool_name"], "arguments": text}}
