"""Group chats of AG2 classic, up to 0.14, that are stored while they run, and resumed (``pip install reprise-chats[ag2]``)::

    from autogen import GroupChatManager
    from reprise import Reprise
    from reprise.ag2 import RecordedGroupChat, start_or_resume

    with Reprise("http://127.0.0.1:8080", "acme_corp") as client:
        chat = client.ensure_chat("haiku-1", "Haiku")
        with chat.lease("worker-1") as held:
            group = RecordedGroupChat(held, agents=[user, writer, critic], max_round=100)
            manager = GroupChatManager(group, llm_config=llm_config)
            start_or_resume(manager, user, "Write a haiku about memory.")
        chat.complete()

A process that dies is replaced by another one that runs the same lines.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, cast

# AG2 has types, and does not say so.
from autogen import Agent, ChatResult, ConversableAgent, GroupChat, GroupChatManager  # pyright: ignore[reportMissingTypeStubs]

from . import models
from ._request import without_none
from ._sync.chat import Chat

#: The fields of a message of AG2 that are stored beside its role, name and content.
FIELDS = ("function_call", "tool_calls", "tool_call_id", "tool_responses")
#: The format from which a manager resumes.
DIALECT = "ag2-classic-manager"


@dataclass
class _Position:
    """Where a group chat is in its transcript."""

    #: How many messages are stored.
    count: int = 0
    #: How many of the messages that are appended next are stored already.
    known: int = 0


class RecordedGroupChat(GroupChat):
    """A group chat that stores each message before any agent can answer it.

    Each message is stored at its place, once, however often the request is sent. If another process has stored a message
    meanwhile, the run ends with :class:`~reprise.Conflict`; with a lease that was lost it ends with :class:`~reprise.Fenced`.

    What it cannot do:

    - It does not record the group chats that patterns make (``initiate_group_chat``), nor what nested chats say.
    - A message is stored when its agent has spoken: what was under way when the process died is done again. Of the tools that
      one message calls, all run again.
    - Storing waits. In an asynchronous run (``a_initiate_chat``) the event loop waits, too.
    - Messages that a "clear history" command removes from the group stay stored.

    :param chat: where the messages are stored
    :param users: the names of the agents that speak for people; all others are stored as assistants
    :param options: those of ``GroupChat``, such as ``max_round``
    """

    def __init__(self, chat: Chat, agents: Sequence[Agent], *, users: Collection[str] = ("user",), **options: Any) -> None:
        super().__init__(agents=list(agents), messages=[], **options)
        self.chat = chat
        self._users = frozenset(users)
        # One object, because a manager runs a shallow copy of its group.
        self._position = _Position()
        #: Stored messages that were left out when the group was resumed: calls without results, which their agent makes again.
        self.left_out: list[models.Dropped] = []

    def load(self) -> list[dict[str, Any]]:
        """Returns the stored messages, as a manager resumes from them. They are not stored again when they are appended."""
        history = self.chat.history(DIALECT, unsettled="trim")
        messages = [dict(message) for message in history.messages]
        self._position.count, self._position.known = history.last_sequence, len(messages)
        self.left_out = history.dropped
        return messages

    @property
    def _ends_with_open_call(self) -> bool:
        """Whether the last stored message was left out by :meth:`load`, before anything else is appended."""
        return any(left.sequence == self._position.count - 1 for left in self.left_out)

    def append(self, message: dict[str, Any], speaker: Agent) -> None:
        """Adds a message to the group, and stores it. AG2 calls this before it gives the message to the others."""
        super().append(message, speaker)
        position = self._position
        if position.known > 0:
            position.known -= 1
            return
        role = message["role"] if message["role"] in ("tool", "function") else "assistant"
        stored = {
            "event_id": f"ag2-{position.count}",
            "role": "user" if role == "assistant" and speaker.name in self._users else role,
            "name": message["name"],
            "content": message["content"],
            **{field: message.get(field) for field in FIELDS},
        }
        try:
            self.chat.append(without_none(stored), expected_last_sequence=position.count)
        except BaseException:
            # The group has what is stored. The same message may be appended again.
            self.messages.pop()
            raise
        position.count += 1


def start_or_resume(
    manager: GroupChatManager, sender: ConversableAgent, message: str | dict[str, Any], *, silent: bool = True
) -> ChatResult | None:
    """Runs a recorded group chat from where it is to its end; returns ``None`` if it has ended already.

    It ends with a termination message, or when it has ``max_round`` messages in all, however often it was resumed. A call that
    is made again counts once. To go on with a chat that has ended so, give its group a larger ``max_round``.

    :param manager: the manager of a :class:`RecordedGroupChat` that has not run yet
    :param sender: the agent that begins
    :param message: how it begins, unless something is stored
    """
    group = manager.groupchat
    if not isinstance(group, RecordedGroupChat):
        raise TypeError("the group chat of the manager is no RecordedGroupChat")
    stored = group.load()
    if not stored:
        return sender.initiate_chat(manager, message=message, silent=silent)
    running = _running_groups(manager)
    rounds = len(stored) + group._ends_with_open_call
    if cast("Any", manager)._is_termination_msg(stored[-1]) or any(rounds >= each.max_round for each in running):
        return None
    # Restores the memory of every agent, and sends the last message again so that it is answered.
    speaker, last = manager.resume(stored, silent=silent)
    # AG2 counts the rounds of a run, and the last message is the first one.
    before = len(stored) - 1
    for each in running:
        each.max_round -= before
    try:
        return speaker.initiate_chat(manager, message=last, clear_history=False, silent=silent)
    finally:
        for each in running:
            each.max_round += before


def _running_groups(manager: GroupChatManager) -> list[RecordedGroupChat]:
    """Returns the copies of its group that a manager runs: one for runs that wait, and one for asynchronous ones."""
    configs = [reply["config"] for reply in cast("Any", manager)._reply_func_list]
    return [config for config in configs if isinstance(config, RecordedGroupChat)]
