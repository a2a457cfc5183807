#!/usr/bin/env python3
# environment: litellm
"""Converts the renderings for Chat Completions with litellm, to what other providers are sent.

    python wire.py DIRECTORY

Nothing is sent or fetched: where a provider accepts no URLs, one pixel is in place of the picture at a URL.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path

# Otherwise the import fetches a list of prices.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
# It warns of each turn that it merges.
os.environ["LITELLM_LOG"] = "ERROR"

import anthropic.types
import google.genai.types
from botocore.session import get_session
from botocore.validate import ParamValidator
from litellm.litellm_core_utils.prompt_templates import factory
from litellm.llms.vertex_ai.gemini.transformation import _gemini_convert_messages_with_history
from pydantic import TypeAdapter

from renderings import REFUSED, each

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
factory.convert_url_to_base64 = lambda url: f"data:image/png;base64,{PIXEL}"
factory.BedrockImageProcessor.get_image_details = staticmethod(lambda url: (PIXEL, "image/png"))

CLAUDE = "claude-sonnet-4-5"
ANTHROPIC = TypeAdapter(list[anthropic.types.MessageParam])
CONVERSE = get_session().get_service_model("bedrock-runtime").operation_model("Converse").input_shape

#: The calls, each with its name and arguments; the name of the call that each result answers; all messages.
Sent = tuple[list[tuple[str, dict]], list[str], list]


def to_anthropic(messages: list[dict]) -> Sent:
    sent = factory.anthropic_messages_pt(messages, model=CLAUDE, llm_provider="anthropic")
    for message in ANTHROPIC.validate_python(sent):
        list(message["content"])
    blocks = [block for message in sent for block in message["content"]]
    called = [block for block in blocks if block["type"] == "tool_use"]
    answered = [block for block in blocks if block["type"] == "tool_result"]
    names = {block["id"]: block["name"] for block in called}
    calls = [(block["name"], block["input"]) for block in called]
    return calls, [names[block["tool_use_id"]] for block in answered], sent


def to_gemini(messages: list[dict]) -> Sent:
    sent = _gemini_convert_messages_with_history(messages, model="gemini-2.5-pro")
    parts = [
        part for content in sent for part in google.genai.types.Content.model_validate(content).parts
    ]
    calls = [(part.function_call.name, part.function_call.args) for part in parts if part.function_call]
    answered = [part.function_response for part in parts if part.function_response]
    return calls, [answer.name for answer in answered], sent


def to_bedrock(messages: list[dict]) -> Sent:
    sent = factory._bedrock_converse_messages_pt(messages, model=CLAUDE, llm_provider="bedrock_converse")
    report = ParamValidator().validate({"modelId": CLAUDE, "messages": sent}, CONVERSE)
    assert not report.has_errors(), report.generate_report()
    blocks = [block for message in sent for block in message["content"]]
    called = [block["toolUse"] for block in blocks if "toolUse" in block]
    answered = [block["toolResult"] for block in blocks if "toolResult" in block]
    names = {call["toolUseId"]: call["name"] for call in called}
    calls = [(call["name"], call["input"]) for call in called]
    return calls, [names[answer["toolUseId"]] for answer in answered], sent


def load_compatible(messages: list[dict]) -> None:
    for convert in (to_anthropic, to_gemini, to_bedrock):
        load(convert, messages)


def load_openai(messages: list[dict]) -> object:
    # Custom calls, legacy calls and ids of files are known to OpenAI alone; litellm loses or refuses them. Of calls with
    # one id in several messages it confuses the names.
    ids = [call["id"] for message in messages for call in message.get("tool_calls", [])]
    if len(set(ids)) < len(ids) or any(is_of_openai(message) for message in messages):
        return REFUSED
    return load_compatible(messages)


def is_of_openai(message: dict) -> bool:
    parts = message["content"] if isinstance(message["content"], list) else []
    custom = any(call["type"] == "custom" for call in message.get("tool_calls", []))
    return custom or "function_call" in message or any("file_id" in part.get("file", {}) for part in parts)


def load(convert: Callable[[list[dict]], Sent], messages: list[dict]) -> None:
    """Converts messages, and checks that all calls, results and texts are still there, in order."""
    said = [message for message in messages if message["role"] not in ("system", "developer")]
    given = [call for message in said for call in message.get("tool_calls", [])]
    names = {call["id"]: call["function"]["name"] for call in given}
    expected_calls = [
        (call["function"]["name"], json.loads(call["function"]["arguments"])) for call in given
    ]
    expected_results = [names[message["tool_call_id"]] for message in said if message["role"] == "tool"]
    # What is given is changed by some converters.
    calls, results, sent = convert(deepcopy(said))
    assert calls == expected_calls, f"{convert.__name__} made {calls} of {expected_calls}"
    assert results == expected_results, f"{convert.__name__} made {results} of {expected_results}"
    held = list(strings(sent))
    for text in (text for message in said for text in texts_of(message["content"]) if text.strip()):
        # Anthropic accepts no white space at the end.
        assert is_held(text.rstrip(), held), f"{convert.__name__} lost {text!r}"


def is_held(text: str, held: list[str]) -> bool:
    """Returns whether a text is part of another one; for Gemini, the JSON text of a result is parsed."""
    if any(text in other for other in held):
        return True
    try:
        return all(is_held(inner, held) for inner in strings(json.loads(text)))
    except ValueError:
        return False


def texts_of(content: object) -> list[str]:
    """Returns the texts of a content, which is one text, a list of parts or nothing."""
    if isinstance(content, str):
        return [content]
    return [part["text"] for part in content or [] if "text" in part]


def strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from strings(item)


if __name__ == "__main__":
    judge = "litellm, to Anthropic, Gemini and Bedrock"
    each(Path(sys.argv[1]), "openai", judge, load_openai)
    each(Path(sys.argv[1]), "openai-compatible", judge, load_compatible)
