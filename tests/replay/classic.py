#!/usr/bin/env python3
# environment: clients
"""Resumes every rendering in the three dialects for AG2 up to 0.14, each in its own group chat.

    python classic.py DIRECTORY
    python classic.py --write

No model is called: the next agent ends the conversation. AG2's state after resuming is
compared with what it was given. With `--write`, the fixtures that AG2 writes are replaced.
"""

import io
import logging
import sys
from contextlib import redirect_stdout
from pathlib import Path

from autogen import ConversableAgent, GroupChat, GroupChatManager
from autogen.agentchat import initiate_group_chat
from autogen.agentchat.group.patterns import DefaultPattern
from autogen.code_utils import content_str

import group_chats
from renderings import REFUSED, each, written

#: Names that AG2 knows and that are no agents of the group.
KNOWN = {"chat_manager", "Admin", "_Group_Tool_Executor"}
THE_END = "TERMINATE"


def keeps_lists() -> bool:
    """Whether a group chat keeps a list of parts, as AG2 0.14 does; 0.9 turns it into one text."""
    parts = [{"type": "text", "text": "Here?"}]
    closer = ConversableAgent("closer", llm_config=False)
    group = GroupChat([closer], messages=[], max_round=1)
    group.append({"role": "user", "content": list(parts)}, closer)
    return group.messages[0]["content"] == parts


KEEPS_LISTS = keeps_lists()


def agents_of(messages: list[dict]) -> list[ConversableAgent]:
    names = {message["name"] for message in messages if message.get("name")} - KNOWN
    agents = [ConversableAgent(name, llm_config=False) for name in sorted(names | {"closer"})]
    for agent in agents:
        agent.register_reply([object], lambda *_, **__: (True, THE_END), position=0)
    return agents


def resume_strictly(messages: list[dict]) -> object:
    """Resumes from the strict format, which keeps every content unchanged, even what AG2 rejects."""
    lists = [message["content"] for message in messages if isinstance(message["content"], list)]
    parts = [part for content in lists for part in content]
    if KEEPS_LISTS or all(part.get("type") in ("text", "image_url") for part in parts):
        return resume_by_manager(messages)
    try:
        resume_by_manager(messages)
    except ValueError:
        return REFUSED
    raise AssertionError("AG2 takes all parts now")


def resume_by_manager(messages: list[dict]) -> None:
    group = GroupChat(agents_of(messages), messages=[], max_round=len(messages) + 1)
    manager = GroupChatManager(group, llm_config=False, silent=True)
    with redirect_stdout(io.StringIO()):
        _, last = manager.resume(messages=messages)
    same(group.messages, messages[:-1])
    same([last], messages[-1:])


def resume_by_pattern(messages: list[dict]) -> None:
    agents = agents_of(messages)
    pattern = DefaultPattern(initial_agent=agents[0], agents=agents)
    with redirect_stdout(io.StringIO()):
        initiate_group_chat(pattern, messages=messages, max_rounds=2)
    same(agents[0]._group_manager.groupchat.messages[: len(messages)], messages)


def same(held: list[dict], given: list[dict]) -> None:
    assert len(held) == len(given), f"{len(held)} of {len(given)} messages are there"
    for index, (one, other) in enumerate(zip(held, given)):
        for field in ("content", "name", "tool_calls", "tool_responses", "tool_call_id"):
            if field == "content":
                is_same = one["content"] == as_stored(other["content"])
            else:
                is_same = one.get(field) == other.get(field, one.get(field))
            assert is_same, f"message {index} has another {field}"


def as_stored(content: object) -> object:
    """Returns the content as a group chat stores it."""
    if isinstance(content, list):
        return content if KEEPS_LISTS else content_str(content)
    return content if isinstance(content, str) else str(content)


if __name__ == "__main__":
    # AG2 warns about transcripts that end with a termination message.
    logging.disable(logging.WARNING)
    of_manager, of_pattern = group_chats.chat_of_a_manager(), group_chats.chat_of_a_pattern()
    written("ag2-classic-manager", [of_manager])
    written("ag2-classic", [of_manager, of_pattern])
    if sys.argv[1] == "--write":
        sys.exit()
    directory = Path(sys.argv[1])
    each(directory, "ag2", "GroupChatManager.resume", resume_strictly)
    each(directory, "ag2-classic-manager", "GroupChatManager.resume", resume_by_manager)
    each(directory, "ag2-classic", "initiate_group_chat", resume_by_pattern)
