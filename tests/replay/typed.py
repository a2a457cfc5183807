#!/usr/bin/env python3
# environment: replay
"""Loads every rendering with the types of its target library.

    python typed.py DIRECTORY SESSIONS
    python typed.py --write

Nothing is sent anywhere: the libraries say whether they take what they are given, and what they
hold is written out again and compared with it.

The fixtures in `fixtures/written` are what libraries write themselves, for the parsers. They are
compared with what the libraries write now; with `--write`, they are replaced by it.
"""

import asyncio
import json
import sys
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path

import ag2._replay
import ag_ui.core
import anthropic.types
import google.genai.types
import openai.types.chat
import openai.types.responses as responses
from ag2.events._serialization import deserialize_value, serialize_value
from ag2.history import unanswered_tool_calls
from agents import Agent, RunConfig, Runner, SQLiteSession, function_tool
from agents.models.chatcmpl_converter import Converter
from agents.testing import ScriptedModel
from google.genai import models
from langchain_core.load import dumpd, load
from langchain_core.messages import (
    AIMessage, ChatMessage, HumanMessage, SystemMessage, ToolMessage, convert_to_messages, messages_from_dict,
    messages_to_dict,
)
from pydantic import TypeAdapter
from pydantic_ai import BinaryContent, CachePoint, DocumentUrl, ImageUrl, ModelRetry, ToolReturn
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse, TextPart, ThinkingPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.ui.ag_ui import AGUIAdapter

import acp_updates
import ag2_events
import claude_sessions
import provider_messages
import spans
from renderings import contains, each, written

OPENAI = TypeAdapter(list[openai.types.chat.ChatCompletionMessageParam])
RESPONSES = TypeAdapter(list[responses.ResponseInputItemParam])
AG_UI = TypeAdapter(list[ag_ui.core.Message])
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


def load_openai_compatible(messages: list[dict]) -> None:
    """Loads messages with the fields that other providers added to the types of OpenAI."""
    plain = [without(message, "reasoning_content") for message in messages]
    for message in plain:
        if "tool_calls" in message:
            message["tool_calls"] = [without(call, "extra_content") for call in message["tool_calls"]]
    load_openai(plain)


def without(given: dict, field: str) -> dict:
    return {name: value for name, value in given.items() if name != field}


def load_responses(items: list[dict]) -> None:
    contains(held_by(RESPONSES, items), items)
    contains(asyncio.run(through_session(items)), items)
    # It converts for Chat Completions, and knows no calls of custom tools.
    Converter.items_to_messages([item for item in items if "custom_tool" not in item.get("type", "")])


async def through_session(items: list[dict]) -> list:
    session = SQLiteSession("chat")
    await session.add_items(items)
    return await session.get_items()


def load_anthropic(messages: list[dict], system: list) -> None:
    contains(held_by(ANTHROPIC, messages), messages)
    contains(held_by(ANTHROPIC_SYSTEM, system), system)


def load_claude_agent_sdk(entries: list[dict]) -> None:
    claude_sessions.load_session(entries)
    given = [{field: entry["message"][field] for field in ("role", "content")} for entry in entries]
    contains(held_by(ANTHROPIC, given), given)


def load_gemini(messages: list[dict], system: list) -> None:
    load_contents(messages, system, models._Content_to_mldev)


def load_gemini_vertex(messages: list[dict], system: list) -> None:
    load_contents(messages, system, models._Content_to_vertex)


def load_contents(messages: list[dict], system: list, convert: Callable) -> None:
    """Converts contents with the converter of a service, which refuses what only the other one accepts."""
    for message in messages:
        content = google.genai.types.Content.model_validate(message)
        contains(content.model_dump(mode="json", by_alias=True, exclude_none=True), message)
        sent = google.genai._common.convert_to_dict(convert(content))
        assert google.genai.types.Content.model_validate(sent) == content
    for part in system:
        google.genai.types.Part.model_validate(part)


def load_langchain(messages: list[dict]) -> None:
    held = messages_from_dict(messages)
    contains(messages_to_dict(held), messages)
    assert convert_to_messages(held) == held
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert [load(dumpd(message)) for message in held] == held


def load_pydantic_ai(messages: list[dict]) -> None:
    held = ModelMessagesTypeAdapter.validate_json(json.dumps(messages))
    contains(json.loads(ModelMessagesTypeAdapter.dump_json(held)), messages)
    # A run refuses a prompt if a call has no result.
    agent = PydanticAgent(FunctionModel(lambda history, info: ModelResponse([TextPart("Yes.")])))
    assert agent.run_sync("Go on.", message_history=held).output == "Yes."


def load_ag_ui(messages: list[dict]) -> None:
    held = AG_UI.validate_python(messages)
    contains(AG_UI.dump_python(held, mode="json", by_alias=True), messages)
    assert AGUIAdapter.load_messages(held)


def load_otel_genai(messages: list[dict], system: list) -> None:
    in_span, instructions = spans.recorded(messages, system)
    contains(in_span, messages)
    contains(instructions, system)


async def session_of_agents_sdk() -> list[dict]:
    """Runs an agent with a scripted model, and returns what its session stores."""

    @function_tool
    def weather(city: str) -> str:
        return f"sunny in {city}"

    def call(number: int, city: str) -> responses.ResponseFunctionToolCall:
        return responses.ResponseFunctionToolCall(
            id=f"fc_{number}", call_id=f"call_{number}", type="function_call", name="weather",
            arguments=json.dumps({"city": city}), status="completed",
        )

    def reasoning(number: int) -> responses.ResponseReasoningItem:
        summary = [{"type": "summary_text", "text": "Which one?"}]
        return responses.ResponseReasoningItem(
            id=f"rs_{number}", type="reasoning", summary=summary, encrypted_content="gAAA"
        )

    def answer(number: int, text: str, **fields: object) -> responses.ResponseOutputMessage:
        part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []} | fields.pop("part", {})
        return responses.ResponseOutputMessage(
            id=f"msg_{number}", type="message", role="assistant", status="completed", content=[part], **fields
        )

    citation = {"type": "url_citation", "start_index": 0, "end_index": 5, "title": "Oslo", "url": "https://example.org"}
    search = responses.ResponseFunctionWebSearch(
        id="ws_1", type="web_search_call", status="completed", action={"type": "search", "query": "Oslo"}
    )
    model = ScriptedModel([
        [reasoning(1), answer(1, "Let me see.", phase="commentary"), call(1, "Oslo"), reasoning(2), call(2, "Bergen")],
        [reasoning(3), answer(2, "Both are sunny.", phase="final_answer")],
        [reasoning(4), search, answer(3, "Found.", part={"annotations": [citation]})],
    ])
    agent = Agent(name="guide", model=model, tools=[weather])
    session = SQLiteSession("chat")
    picture = {"type": "input_image", "image_url": "https://example.org/oslo.png", "detail": "auto"}
    look = {"role": "user", "content": [{"type": "input_text", "text": "What is this?"}, picture]}
    config = RunConfig(tracing_disabled=True, session_input_callback=lambda stored, new: stored + new)
    await Runner.run(agent, "Where is it sunny?", session=session, run_config=config)
    await Runner.run(agent, [look], session=session, run_config=config)
    return await session.get_items()


def items_of_openai() -> list[dict]:
    """Returns items of tools that the API defines, most of them as the types of the package dump them."""
    exec_action = {"type": "exec", "command": ["ls"], "env": {}}
    screen = {"type": "computer_screenshot", "image_url": "https://example.org/screen.png"}
    outcome = {"type": "exit", "exit_code": 0}
    answer = {"type": "message", "role": "assistant", "status": "completed"}
    models = [
        responses.ResponseCustomToolCall(
            type="custom_tool_call", id="ctc_1", call_id="a", name="sql", input="select 1"
        ),
        responses.ResponseCodeInterpreterToolCall(
            type="code_interpreter_call", id="ci_1", code="1 + 1", container_id="c", outputs=None, status="completed"
        ),
        responses.ResponseFileSearchToolCall(
            type="file_search_call", id="fs_1", queries=["q"], status="completed", results=None
        ),
        responses.ResponseOutputMessage(
            **answer, id="msg_1", content=[{"type": "refusal", "refusal": "No."}]
        ),
        responses.ResponseReasoningItem(
            type="reasoning", id="rs_1", summary=[], content=[{"type": "reasoning_text", "text": "Hm."}]
        ),
        responses.ResponseFunctionToolCall(
            type="function_call", id="fc_1", call_id="f", name="look_up", arguments="{}", status="completed"
        ),
    ]
    custom, code, search, refusal, reasoning, call = (model.to_dict(mode="json") for model in models)
    upload = {"type": "input_file", "file_id": "file_1"}
    picture = {"type": "input_image", "file_id": "file_2", "detail": "high"}
    return [
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Be brief."}]},
        {"role": "user", "content": [{"type": "input_text", "text": "Here."}, upload, picture]},
        custom,
        {"type": "custom_tool_call_output", "call_id": "a", "output": [{"type": "input_text", "text": "1"}, picture]},
        code,
        search,
        refusal,
        reasoning,
        call,
        {"type": "function_call_output", "call_id": "f", "output": "done", "status": "completed", "id": "fco_1"},
        {"type": "local_shell_call", "id": "lsh_1", "call_id": "b", "action": exec_action, "status": "completed"},
        {"type": "local_shell_call_output", "id": "b", "output": "a.txt"},
        {"type": "shell_call", "id": "sh_1", "call_id": "c", "action": {"commands": ["ls"]}, "status": "completed"},
        {"type": "shell_call_output", "call_id": "c", "output": [{"stdout": "a", "stderr": "", "outcome": outcome}]},
        {"type": "apply_patch_call", "id": "apc_1", "call_id": "d", "status": "completed", "operation": {
            "type": "update_file", "path": "a.txt", "diff": "-a"}},
        {"type": "apply_patch_call_output", "call_id": "d", "status": "failed", "output": "no such file"},
        {"type": "computer_call", "id": "cu_1", "call_id": "e", "status": "completed", "pending_safety_checks": [],
         "action": {"type": "screenshot"}},
        {"type": "computer_call_output", "call_id": "e", "output": screen},
        {"role": "assistant", "content": "Done.", "phase": "final_answer"},
    ]


def history_of_pydantic_ai() -> list[dict]:
    """Runs an agent with a scripted model, and returns what its messages are dumped as."""
    answers = iter([
        [
            ThinkingPart("Which one?", signature="c2ln", provider_name="anthropic"),
            TextPart("Let me see."),
            ToolCallPart("weather", {"city": "Oslo"}, tool_call_id="call_1"),
            ToolCallPart("weather", '{"city": "Nowhere"}', tool_call_id="call_2"),
            ToolCallPart("weather", {"city": 1}, tool_call_id="call_3"),
        ],
        [
            ThinkingPart("", id="rs_1", signature="gAAA", provider_name="openai"),
            ToolCallPart("camera", tool_call_id="call_4"),
        ],
        [ThinkingPart("Sunny."), TextPart("It is sunny."), TextPart("Go.", id="msg_1", provider_name="openai")],
        [TextPart("A ticket.")],
    ])
    model = FunctionModel(lambda messages, info: ModelResponse(next(answers)), model_name="script")
    agent = PydanticAgent(model, system_prompt="Plan trips.", instructions="Be brief.")

    @agent.tool_plain(retries=3)
    def weather(city: str) -> dict:
        if city == "Nowhere":
            raise ModelRetry("no such city")
        return {"sky": "clear"}

    @agent.tool_plain
    def camera() -> ToolReturn:
        return ToolReturn(BinaryContent(b"picture", media_type="image/png"), metadata={"camera": 1})

    first = agent.run_sync("Where is it sunny?")
    media = [
        ImageUrl("https://example.org/harbour.png"),
        DocumentUrl("https://example.org/ticket.pdf"),
        BinaryContent(b"sound", media_type="audio/mpeg"),
        BinaryContent(b"ticket", media_type="application/pdf", identifier="ticket.pdf"),
    ]
    prompt = ["What is this?", *media[:2], CachePoint(), *media[2:]]
    second = agent.run_sync(prompt, message_history=first.all_messages())
    written = fixed(json.loads(ModelMessagesTypeAdapter.dump_json(second.all_messages())))
    again = ModelMessagesTypeAdapter.validate_json(json.dumps(written))
    assert json.loads(ModelMessagesTypeAdapter.dump_json(again)) == written
    return written


def messages_of_ag_ui() -> list[dict]:
    """Returns the same messages as the adapter of pydantic-ai gives them to a frontend."""
    held = AGUIAdapter.dump_messages(ModelMessagesTypeAdapter.validate_python(history_of_pydantic_ai()))
    written = AG_UI.dump_python(held, mode="json", by_alias=True)
    return [message | {"id": f"message_{number}"} for number, message in enumerate(written)]


def messages_of_langchain() -> list[dict]:
    """Returns messages as the adapters for Anthropic and OpenAI leave them, with every field that the library has."""
    usage = {"input_tokens": 11, "output_tokens": 7, "total_tokens": 18, "input_token_details": {"cache_read": 3}}
    weather = {"name": "weather", "args": {"city": "Oslo"}, "id": "toolu_1", "type": "tool_call"}
    hotels = {"name": "hotels", "args": {"city": "Oslo", "stars": 4}, "id": "call_1", "type": "tool_call"}
    raw = {"id": "call_1", "type": "function", "function": {"name": "hotels", "arguments": json.dumps(hotels["args"])}}
    picture = {"type": "image_url", "image_url": {"url": "https://example.org/oslo.png", "detail": "low"}}
    blocks = [
        {"type": "thinking", "thinking": "Which one?", "signature": "c2ln", "index": 0},
        {"type": "text", "text": "Let me see.", "index": 1},
        {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Oslo"}, "index": 2},
    ]
    return messages_to_dict([
        SystemMessage("Plan trips.", id="system"),
        HumanMessage(["Here?", picture], id="human-1", name="zoe", additional_kwargs={"source": "app"}),
        AIMessage(
            blocks, id="run--1", name="planner", tool_calls=[weather], usage_metadata=usage,
            response_metadata={"model_name": "claude", "stop_reason": "tool_use"},
        ),
        ToolMessage("sunny", id="tool-1", name="weather", tool_call_id="toolu_1", artifact={"rows": [[1, None]]}),
        AIMessage(
            "", id="chatcmpl-1", tool_calls=[hotels], additional_kwargs={"tool_calls": [raw], "refusal": None},
            invalid_tool_calls=[{"name": "book", "args": "{", "id": "call_2", "error": "cut off", "type": "invalid_tool_call"}],
            response_metadata={"finish_reason": "tool_calls", "logprobs": None},
        ),
        ToolMessage("none left", id="tool-2", tool_call_id="call_1", status="error"),
        ChatMessage("I would wait.", role="critic", id="chat-1"),
        AIMessage("Nothing is free.", id="run--2", additional_kwargs={"reasoning_content": "Hm."}, usage_metadata=usage),
    ])


def fixed(value: object) -> object:
    """Replaces what differs in each run: times, and ids of runs."""
    constants = {"timestamp": "2026-01-01T00:00:00Z", "run_id": "run", "conversation_id": "conversation"}
    if isinstance(value, dict):
        return {key: constants.get(key, fixed(inner)) if inner else inner for key, inner in value.items()}
    return [fixed(item) for item in value] if isinstance(value, list) else value


def held_by(types: TypeAdapter, given: list) -> list:
    """Reads the parsed values; lists within messages are validated while they are read."""

    def read(held: object) -> object:
        if isinstance(held, dict):
            return {field: read(value) for field, value in held.items()}
        if isinstance(held, Iterable) and not isinstance(held, str):
            return [read(item) for item in held]
        return held

    return read(types.validate_python(given))


if __name__ == "__main__":
    items = items_of_openai()
    contains(held_by(RESPONSES, items), items)
    written("openai-responses", [asyncio.run(session_of_agents_sdk()), items])
    written("openai", [provider_messages.messages_of_openai()])
    written("anthropic", [provider_messages.messages_of_anthropic()])
    written("gemini", [provider_messages.contents_of_gemini()])
    written("pydantic-ai", [history_of_pydantic_ai()])
    written("ag-ui", [messages_of_ag_ui()])
    written("langchain", [messages_of_langchain()])
    sessions = claude_sessions.written_sessions()
    written("claude-agent-sdk", sessions)
    written("acp", [acp_updates.updates_of_acp()])
    written("ag2-v1", [ag2_events.events_of_agents()])
    if sys.argv[1] == "--write":
        sys.exit()
    directory = Path(sys.argv[1])
    each(directory, "ag2-v1", "ag2 events", load_ag2)
    each(directory, "openai", "openai types", load_openai)
    each(directory, "openai-compatible", "openai types", load_openai_compatible)
    each(directory, "openai-responses", "openai types, session of openai-agents", load_responses)
    each(directory, "anthropic", "anthropic types", load_anthropic)
    each(directory, "gemini", "google-genai types and converter for the developer API", load_gemini)
    each(directory, "gemini-vertex", "google-genai types and converter for Vertex AI", load_gemini_vertex)
    each(directory, "langchain", "langchain-core messages", load_langchain)
    each(directory, "pydantic-ai", "ModelMessagesTypeAdapter, a run that continues", load_pydantic_ai)
    each(directory, "ag-ui", "ag-ui-protocol types, adapter of pydantic-ai", load_ag_ui)
    each(directory, "otel-genai", "a span of opentelemetry-util-genai", load_otel_genai)
    each(directory, "claude-agent-sdk", "claude-agent-sdk, anthropic types", load_claude_agent_sdk)
    loads = claude_sessions.conformance(sys.argv[2], sessions)
    print(f"\nThe conformance suite of claude-agent-sdk passes, and {loads} loads of its sessions are equal")
