#!/usr/bin/env python3
"""Loads every rendering with the types of its target library.

    python typed.py DIRECTORY

Nothing is sent anywhere: the libraries say whether they take what they are given, and what they
hold is written out again and compared with it.
"""

import sys
import warnings
from collections.abc import Iterable
from pathlib import Path

import ag2._replay
import anthropic.types
import google.genai.types
import openai.types.chat
from ag2.events._serialization import deserialize_value, serialize_value
from ag2.history import unanswered_tool_calls
from langchain_core.load import dumpd, load
from langchain_core.messages import convert_to_messages, messages_from_dict, messages_to_dict
from pydantic import TypeAdapter

from renderings import each

OPENAI = TypeAdapter(list[openai.types.chat.ChatCompletionMessageParam])
ANTHROPIC = TypeAdapter(list[anthropic.types.MessageParam])
ANTHROPIC_SYSTEM = TypeAdapter(list[anthropic.types.TextBlockParam])


def load_ag2(messages: list[dict]) -> None:
    events = [deserialize_value(message) for message in messages]
    unread = [event for event in events if isinstance(event, dict)]
    assert not unread, f"no event is {unread[0]}"
    contains(serialize_value(events), messages)
    assert not unanswered_tool_calls(events)
    assert ag2._replay.is_replayable(events, 0)


def load_openai(messages: list[dict]) -> None:
    contains(held_by(OPENAI, messages), messages)


def load_anthropic(messages: list[dict], system: list) -> None:
    contains(held_by(ANTHROPIC, messages), messages)
    contains(held_by(ANTHROPIC_SYSTEM, system), system)


def load_gemini(messages: list[dict], system: list) -> None:
    for message in messages:
        content = google.genai.types.Content.model_validate(message)
        contains(content.model_dump(mode="json", by_alias=True, exclude_none=True), message)
    for part in system:
        google.genai.types.Part.model_validate(part)


def load_langchain(messages: list[dict]) -> None:
    held = messages_from_dict(messages)
    contains(messages_to_dict(held), messages)
    assert convert_to_messages(held) == held
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert [load(dumpd(message)) for message in held] == held


def held_by(types: TypeAdapter, given: list) -> list:
    """Reads the parsed values; lists within messages are validated while they are read."""

    def read(held: object) -> object:
        if isinstance(held, dict):
            return {field: read(value) for field, value in held.items()}
        if isinstance(held, Iterable) and not isinstance(held, str):
            return [read(item) for item in held]
        return held

    return read(types.validate_python(given))


def contains(held: object, given: object, place: str = "") -> None:
    """Checks that the parsed values contain the whole input."""
    if isinstance(given, dict) and isinstance(held, dict):
        for field, value in given.items():
            assert field in held, f"{place}/{field} is lost"
            contains(held[field], value, f"{place}/{field}")
    elif isinstance(given, list) and isinstance(held, list):
        assert len(held) == len(given), f"{place} has {len(held)} of {len(given)} items"
        for index, (one, other) in enumerate(zip(held, given)):
            contains(one, other, f"{place}/{index}")
    else:
        assert held == given, f"{place} is held as {held!r}"


if __name__ == "__main__":
    directory = Path(sys.argv[1])
    each(directory, "ag2-v1", "ag2 events", load_ag2)
    each(directory, "openai", "openai types", load_openai)
    each(directory, "anthropic", "anthropic types", load_anthropic)
    each(directory, "gemini", "google-genai types", load_gemini)
    each(directory, "langchain", "langchain-core messages", load_langchain)
