"""The events of the SDKs of model providers, recorded in a stream: what the service has of them, as each provider reads it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from enum import Enum
from types import SimpleNamespace
from typing import Any

import pytest
from google.genai import types as genai
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.messages.tool import tool_call_chunk
from openai.lib.streaming.chat import ChatCompletionStreamState, ContentDeltaEvent
from openai.types.chat import ChatCompletionChunk
from openai.types.responses import ResponseStreamEvent, ResponseTextDeltaEvent
from pydantic import TypeAdapter

import reprise
from reprise import Conflict, InvalidRequest, Reprise, models
from reprise._chunks import Chunks

from .conftest import Service

#: Records events, and returns the history in a dialect.
Record = Callable[..., Any]


@pytest.fixture
def record(service: Service, app: str) -> Any:
    def recorded(events: Sequence[Any], dialect: str, *, results: dict[str, str] | None = None) -> Any:
        with Reprise(service.url, app) as client:
            chat = client.create_chat("Picnic")
            chat.append({"role": "user", "content": "Hello"})
            assert list(reprise.stream(chat, iter(events))) == list(events)
            (stream,) = chat.streams()
            assert stream.state is models.StreamState.finished
            for call_id, content in (results or {}).items():
                chat.append({"role": "tool", "tool_call_id": call_id, "content": content})
            return chat.history(dialect, unsettled="keep").messages

    return recorded


def parts_of(messages: Any) -> list[dict[str, Any]]:
    """The parts of the answer, as UI messages have them."""
    return [part for message in messages if message["role"] == "assistant" for part in message["parts"]]


def chat_chunk(**delta: Any) -> ChatCompletionChunk:
    chunk = {"id": "c", "created": 1, "model": "m", "object": "chat.completion.chunk"}
    return ChatCompletionChunk.model_validate({**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})


def function(index: int, call_id: str | None = None, name: str | None = None, arguments: str = "", **more: Any) -> Any:
    return {"index": index, "id": call_id, "function": {"name": name, "arguments": arguments}, **more}


# --- OpenAI's chat completions ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "stored"),
    [
        (["a\ud83d", "\ude00b"], "a😀b"),
        (["\ud83d", "\ude00"], "😀"),
        (["\ud83d\ude00"], "😀"),
        (["a\ud83d", "b"], "a\ufffdb"),
        (["a\ude00", "b\ud83d"], "a\ufffdb\ufffd"),
    ],
)
def test_a_character_that_is_cut_between_two_events_is_whole(record: Record, texts: list[str], stored: str) -> None:
    assert record(texts, "openai")[-1]["content"] == stored
    arguments = [chat_chunk(tool_calls=[function(0, arguments=text)]) for text in [*texts, '"}']]
    called = record([chat_chunk(tool_calls=[function(0, "call_1", "look", '{"at": "')]), *arguments], "openai")
    assert json.loads(called[-1]["tool_calls"][0]["function"]["arguments"]) == {"at": stored}


def test_a_refusal_is_text(record: Record) -> None:
    (_, answer) = record([chat_chunk(refusal="I cannot "), chat_chunk(refusal="help.")], "openai")
    assert answer["content"] == "I cannot help."


def test_an_old_function_call_is_a_call(record: Record) -> None:
    events = [
        chat_chunk(function_call={"name": "map", "arguments": ""}),
        chat_chunk(function_call={"arguments": '{"place":"lake"}'}),
    ]
    (_, answer) = record(events, "openai")
    assert answer["tool_calls"][0]["function"] == {"name": "map", "arguments": '{"place":"lake"}'}


@pytest.mark.parametrize("key", ["reasoning", "reasoning_content"])
def test_reasoning_of_compatible_providers_is_kept(record: Record, key: str) -> None:
    events = [chat_chunk(**{key: "Is it "}), chat_chunk(**{key: "sunny?"}), chat_chunk(content="Yes.")]
    reasoning, text = parts_of(record(events, "ui-message"))
    assert (reasoning["text"], text["text"]) == ("Is it sunny?", "Yes.")
    both = chat_chunk(reasoning="once", reasoning_content="once", content="Yes.")
    assert parts_of(record([both], "ui-message"))[0]["text"] == "once"


def test_the_signature_of_a_call_of_gemini_is_given_back(record: Record) -> None:
    extra = {"extra_content": {"google": {"thought_signature": "c2ln"}}}
    call = chat_chunk(tool_calls=[function(0, "call_1", "map", "{}", **extra)])
    (_, answer, _) = record([call], "gemini", results={"call_1": "a lake"})
    assert answer["parts"][0]["thoughtSignature"] == "c2ln"


def test_signed_thinking_of_litellm_is_given_back_to_anthropic(record: Record) -> None:
    events = [
        chat_chunk(reasoning_content="Map?", thinking_blocks=[{"type": "thinking", "thinking": "Map?", "signature": None}]),
        chat_chunk(reasoning_content="", thinking_blocks=[{"type": "thinking", "thinking": "", "signature": "s1"}]),
        chat_chunk(thinking_blocks=[{"type": "redacted_thinking", "data": "r1"}]),
        chat_chunk(tool_calls=[function(0, "call_1", "map", "{}")]),
    ]
    (_, answer, _) = record(events, "anthropic", results={"call_1": "a lake"})
    assert answer["content"] == [
        {"type": "thinking", "thinking": "Map?", "signature": "s1"},
        {"type": "redacted_thinking", "data": "r1"},
        {"type": "tool_use", "id": "call_1", "name": "map", "input": {}},
    ]


def test_calls_with_one_index_and_custom_calls_are_calls(record: Record) -> None:
    events = [
        chat_chunk(tool_calls=[function(0, "call_1", "map", '{"a":1}')]),
        chat_chunk(tool_calls=[function(0, "call_2", "map", '{"b":2}')]),
        {"choices": [{"delta": {"tool_calls": [{"index": 1, "id": "call_3", "custom": {"name": "sh", "input": "ls"}}]}}]},
        {"choices": [{"delta": {"tool_calls": [{"index": 1, "custom": {"input": " -l"}}]}}]},
    ]
    (_, answer) = record(events, "openai")
    calls = {call["id"]: call["function"]["arguments"] for call in answer["tool_calls"]}
    assert (calls["call_1"], calls["call_2"], "ls -l" in calls["call_3"]) == ('{"a":1}', '{"b":2}', True)


def test_lists_images_sources_and_transcripts_are_kept(record: Record) -> None:
    citation = {"type": "url_citation", "url_citation": {"url": "https://lake.example", "title": "Lake"}}
    events: list[Any] = [
        {"choices": [{"delta": {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}]}}]},
        {"choices": [{"delta": {"content": [{"type": "text", "text": "Deep."}], "annotations": [citation]}}]},
        {"choices": [{"delta": {"images": [{"image_url": {"url": "data:image/png;base64,AAAA"}}]}}]},
        {"choices": [{"delta": {"audio": {"id": "a", "transcript": "Said."}}}]},
    ]
    reasoning, text, source, image, said = parts_of(record(events, "ui-message"))
    assert (reasoning["text"], text["text"], said["text"]) == ("Hm.", "Deep.", "Said.")
    assert (source["type"], source["url"]) == ("source-url", "https://lake.example")
    assert (image["mediaType"], image["url"]) == ("image/png", "data:image/png;base64,AAAA")


def test_the_helper_of_openai_is_recorded_once(record: Record) -> None:
    state = ChatCompletionStreamState[Any]()
    chunks = [chat_chunk(role="assistant", content="It is "), chat_chunk(content="sunny.")]
    events = [event for chunk in chunks for event in state.handle_chunk(chunk)]
    assert {event.type for event in events} == {"chunk", "content.delta"}
    (_, answer) = record(events, "openai")
    assert answer["content"] == "It is sunny."
    alone = next(event for event in events if isinstance(event, ContentDeltaEvent))
    with pytest.raises(TypeError, match="ContentDeltaEvent"):
        Chunks("m").add(alone)


#: Arguments that are JSON, which the service does not store as it is.
REFUSED_ARGUMENTS = {
    "too large": '{"id": 18446744073709551615}',
    "too small": '{"id": -9223372036854775809}',
    "infinite": '{"size": [1e999]}',
    "half a character": '{"said": "cut \\ud83d"}',
    "half a character in a key": '{"cut \\ud83d": 1}',
    "NUL in a key": '{"a\\u0000": 1}',
    "deep": '{"a":' * 56 + "1" + "}" * 56,
    "very deep": '{"a":' * 50_000 + "1" + "}" * 50_000,
}


@pytest.mark.parametrize("arguments", REFUSED_ARGUMENTS.values(), ids=REFUSED_ARGUMENTS)
def test_arguments_that_the_service_refuses_are_kept_as_their_text(record: Record, arguments: str) -> None:
    events = [chat_chunk(content="I look it up."), chat_chunk(tool_calls=[function(0, "call_1", "map", arguments)])]
    (_, answer) = record(events, "openai")
    assert answer["content"] == "I look it up."
    assert answer["tool_calls"][0]["function"] == {"name": "map", "arguments": arguments}


@pytest.mark.parametrize("given", [{"id": 2**63 - 1}, {"id": -(2**63)}, {"said": "\0"}, json.loads("[" * 55 + "]" * 55)])
def test_arguments_at_the_limits_are_kept_as_json(record: Record, given: Any) -> None:
    (call,) = parts_of(record([chat_chunk(tool_calls=[function(0, "call_1", "map", json.dumps(given))])], "ui-message"))
    assert call["input"] == given


@pytest.mark.parametrize(
    "event",
    [
        {"candidates": [{"content": {"parts": [{"functionCall": {"name": "map", "args": {"id": 2**64}}}]}}]},
        AIMessage(content="", tool_calls=[{"name": "map", "args": {"id": 2**64}, "id": "call_1"}]),
        {
            "type": "content_block_start",
            "content_block": {"type": "tool_use", "id": "c", "name": "map", "input": {"id": 2**64}},
        },
        {"type": "tool-input-available", "toolCallId": "call_1", "toolName": "map", "input": {"id": 2**64}},
    ],
    ids=["google-genai", "langchain", "anthropic", "ai sdk"],
)
def test_whole_arguments_that_the_service_refuses_are_kept_as_their_text(record: Record, event: Any) -> None:
    (_, answer) = record([event], "openai")
    assert answer["tool_calls"][0]["function"] == {"name": "map", "arguments": '{"id": 18446744073709551616}'}


def finished(reason: str = "tool_calls") -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}


def calls_of(answer: Any) -> list[tuple[str, str, Any]]:
    return [(call["id"], call["function"]["name"], json.loads(call["function"]["arguments"])) for call in answer["tool_calls"]]


@pytest.mark.parametrize("call_id", ["", None])
@pytest.mark.parametrize("index", [0, None])
def test_whole_calls_without_ids_are_calls_of_their_own(record: Record, call_id: str | None, index: Any) -> None:
    events = [
        {"choices": [{"index": 0, "delta": {"tool_calls": [function(index, call_id, *said)]}}]}
        for said in [("get_weather", '{"city": "Rome"}'), ("get_time", '{"tz": "UTC"}')]
    ]
    _, answer = record([*events, finished()], "openai")
    calls = [(name, given) for _, name, given in calls_of(answer)]
    assert calls == [("get_weather", {"city": "Rome"}), ("get_time", {"tz": "UTC"})]


@pytest.mark.parametrize(
    "usage",
    [
        {"choices": None},
        {"usage": {"total_tokens": 3}},
        SimpleNamespace(choices=None, usage=None),
        ChatCompletionChunk.model_construct(usage=None),
        ChatCompletionChunk.model_construct(object="", choices=None),
    ],
    ids=["dict with null", "dict without", "object with null", "chunk without", "chunk with null"],
)
def test_a_chunk_that_does_not_name_its_class_may_have_no_choices(usage: Any) -> None:
    chunks = Chunks("m")
    chunks.add({"choices": [{"index": 0, "delta": {"content": "Deep."}}]})
    assert chunks.add(usage) == []
    with pytest.raises(TypeError):
        chunks.add({"object": "response", "output": [], "usage": {}})
    assert [chunk["type"] for chunk in chunks.end()] == ["text-end"]


@pytest.mark.parametrize("call_id", ["", None])
@pytest.mark.parametrize("index", [0, None])
def test_whole_calls_of_one_tool_without_ids_are_calls_of_their_own(record: Record, call_id: str | None, index: Any) -> None:
    places = [{"city": "Rome"}, {"city": "Oslo"}, {}]
    events = [chat_chunk(tool_calls=[function(0, call_id, "map", json.dumps(place))]) for place in places]
    for event in events:
        assert event.choices[0].delta.tool_calls
        event.choices[0].delta.tool_calls[0].index = index
    _, answer = record([*events, finished()], "openai")
    assert [call[1:] for call in calls_of(answer)] == [("map", place) for place in places]


def test_a_call_whose_name_comes_last_is_one_call(record: Record) -> None:
    events = [chat_chunk(tool_calls=[function(0, None, *said)]) for said in [(None, '{"a":1}'), ("map", "")]]
    _, answer = record([*events, finished()], "openai")
    assert [call[1:] for call in calls_of(answer)] == [("map", {"a": 1})]


def test_a_call_whose_name_is_said_with_each_of_its_bits_is_one_call(record: Record) -> None:
    bits = ["", '{"a":', ' {"b": 1}', "}", "", " "]
    events = [chat_chunk(tool_calls=[function(0, None, "map", bit)]) for bit in bits]
    _, answer = record([*events, finished()], "openai")
    assert [call[1:] for call in calls_of(answer)] == [("map", {"a": {"b": 1}})]


@pytest.mark.parametrize("more", [{"choices": None}, {}], ids=["null", "missing"])
def test_a_chunk_without_choices_adds_nothing(record: Record, more: dict[str, Any]) -> None:
    said = {"choices": [{"index": 0, "delta": {"content": "Deep."}}]}
    usage: dict[str, Any] = {"object": "chat.completion.chunk", "usage": {"total_tokens": 3}, **more}
    _, answer = record([said, finished("stop"), usage, SimpleNamespace(**usage)], "openai")
    assert answer["content"] == "Deep."


def test_half_of_a_character_is_replaced_wherever_it_stands(record: Record) -> None:
    citation = {"type": "url_citation", "url_citation": {"url": "https://example.org/", "title": "caf\ud83d"}}
    searched: dict[str, Any] = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
    searched["action"] = {"type": "search", "query": "caf\ud83d"}
    events = [
        chat_chunk(content="Deep.", annotations=[citation]),
        item_event("done", 0, searched),
    ]
    messages = record(events, "ui-message")
    (source,) = [part for part in parts_of(messages) if part["type"] == "source-url"]
    assert source["title"] == "caf\ufffd"
    assert json.dumps(messages, ensure_ascii=False).count("caf\ufffd") == 2


def test_half_of_a_character_is_replaced_in_names_and_in_chunks_of_the_caller(record: Record) -> None:
    cut: dict[str, Any] = {"caf\ud83d": ["caf\ud83d", ("\ude00",)], "deep": {"a": "\ud83d\ude00"}}
    kept = {"caf\ufffd": ["caf\ufffd", ["\ufffd"]], "deep": {"a": "😀"}}
    (note,) = parts_of(record([{"type": "data-note", "data": cut}], "ui-message"))
    assert note["data"] == kept
    (item,) = parts_of(record([{"type": "response.output_item.done", "item": {"type": "riddle", **cut}}], "ui-message"))
    assert item["data"] == {"type": "riddle", **kept}


def test_half_of_a_character_in_a_result_or_a_citation_is_replaced(record: Record) -> None:
    found = [{**FOUND[0], "title": "caf\ud83d"}]
    call: dict[str, Any] = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    events = [
        *block(0, call),
        *block(1, {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": found}),
        *block(
            2,
            {"type": "text", "text": "Deep."},
            {"type": "citations_delta", "citation": {**CITATION, "cited_text": "\ud83d"}},
        ),
    ]
    searched, text, *_ = parts_of(record(events, "ui-message"))
    assert searched["output"][0]["title"] == "caf\ufffd"
    assert text["providerMetadata"]["anthropic"]["citations"][0]["cited_text"] == "\ufffd"
    detail = {"type": "reasoning.encrypted", "data": "e", "id": "caf\ud83d"}
    (thought,) = parts_of(record([chat_chunk(reasoning="Hm.", reasoning_details=[detail])], "ui-message"))
    assert thought["providerMetadata"]["openrouter"]["reasoning_details"] == [{**detail, "id": "caf\ufffd"}]


def test_calls_of_one_answer_with_one_id_are_calls_of_their_own(record: Record) -> None:
    calls = [function(0, "call_1", "map", '{"a":1}'), function(1, "call_1", "clock", '{"b":2}')]
    (_, answer) = record([chat_chunk(tool_calls=calls)], "openai")
    assert calls_of(answer) == [("call_1", "map", {"a": 1}), ("call_1_2", "clock", {"b": 2})]


@pytest.mark.parametrize("call_id", ["call_0", None], ids=["one id", "no ids"])
def test_calls_of_several_completions_are_calls_of_their_own(record: Record, call_id: str | None) -> None:
    events = [
        chat_chunk(tool_calls=[function(0, call_id, "map", '{"a"')]),
        chat_chunk(tool_calls=[function(0, arguments=":1}")]),
        finished(),
        chat_chunk(tool_calls=[function(0, call_id, "clock", '{"b"')]),
        chat_chunk(tool_calls=[function(0, arguments=":2}")]),
        finished(),
    ]
    (_, answer) = record(events, "openai")
    assert [call[1:] for call in calls_of(answer)] == [("map", {"a": 1}), ("clock", {"b": 2})]
    assert len({call[0] for call in calls_of(answer)}) == 2


def test_what_follows_the_end_of_a_completion_belongs_to_its_call(record: Record) -> None:
    events = [
        chat_chunk(tool_calls=[function(0, "call_1", "map", '{"a"')]),
        finished(),
        chat_chunk(tool_calls=[function(0, arguments=":1}")]),
    ]
    (_, answer) = record(events, "openai")
    assert calls_of(answer) == [("call_1", "map", {"a": 1})]


def test_old_function_calls_of_several_completions_are_calls_of_their_own(record: Record) -> None:
    events = [
        chat_chunk(function_call={"name": "map", "arguments": '{"a":1}'}),
        finished("function_call"),
        chat_chunk(function_call={"name": "clock", "arguments": '{"b":2}'}),
    ]
    (_, answer) = record(events, "openai")
    assert [call[1:] for call in calls_of(answer)] == [("map", {"a": 1}), ("clock", {"b": 2})]


def test_an_answer_with_several_choices_is_refused() -> None:
    with pytest.raises(ValueError, match="n=1"):
        Chunks("m").add({"choices": [{"index": 1, "delta": {"content": "b"}}]})


# --- OpenAI's Responses API ------------------------------------------------------------------------------------------------


class LiteLLMType(str, Enum):
    """How LiteLLM has the types of events."""

    DELTA = "response.output_text.delta"


RESPONSES: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)


def response_event(kind: str, **fields: Any) -> Any:
    return RESPONSES.validate_python({"type": f"response.{kind}", "sequence_number": 1, **fields})


def item_event(kind: str, index: int, item: Any) -> Any:
    return response_event(f"output_item.{kind}", output_index=index, item=item)


def test_an_answer_of_the_responses_api_is_given_back(record: Record) -> None:
    thought: dict[str, Any] = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e1"}
    said: dict[str, Any] = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": []}
    call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "map", "arguments": ""}
    at = {"content_index": 0, "item_id": "msg_1", "output_index": 1}
    summary = {"item_id": "rs_1", "output_index": 0}
    note = {"type": "url_citation", "url": "https://lake.example", "title": "Lake", "start_index": 0, "end_index": 1}
    events = [
        item_event("added", 0, thought),
        response_event("reasoning_summary_text.delta", **summary, summary_index=0, delta="Map?"),
        response_event("reasoning_summary_text.delta", **summary, summary_index=1, delta="Yes."),
        item_event("done", 0, thought),
        item_event("added", 1, said),
        response_event("output_text.delta", **at, delta="I look ", logprobs=[]),
        response_event("output_text.delta", **at, delta="it up.", logprobs=[]),
        response_event("output_text.annotation.added", **at, annotation_index=0, annotation=note),
        response_event("output_text.done", **at, text="I look it up.", logprobs=[]),
        item_event("done", 1, {**said, "content": [{"type": "output_text", "text": "I look it up.", "annotations": []}]}),
        item_event("added", 2, call),
        response_event("function_call_arguments.delta", item_id="fc_1", output_index=2, delta='{"place":'),
        item_event("done", 2, {**call, "arguments": '{"place":"lake"}'}),
        item_event("done", 3, {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search"}}),
    ]
    items = record(events, "openai-responses", results={"call_1": "a lake"})
    by_type = {item.get("type", "message"): item for item in items[1:]}
    assert (by_type["reasoning"]["id"], by_type["reasoning"]["encrypted_content"]) == ("rs_1", "e1")
    assert by_type["reasoning"]["summary"] == [{"type": "summary_text", "text": "Map?\n\nYes."}]
    assert "I look it up." in json.dumps(by_type["message"])
    assert (by_type["function_call"]["call_id"], by_type["function_call"]["arguments"]) == ("call_1", '{"place":"lake"}')
    parts = parts_of(record(events, "ui-message"))
    assert [part["type"] for part in parts] == ["reasoning", "text", "source-url", "tool-map", "data-openai"]
    assert parts[1]["providerMetadata"]["openai"]["annotations"] == [note]
    assert parts[4]["data"]["id"] == "ws_1"


def test_what_keeps_the_connection_open_adds_nothing(record: Record) -> None:
    alive = SimpleNamespace(type="keepalive", sequence_number=3)
    delta = response_event("output_text.delta", output_index=0, content_index=0, item_id="m", delta="Deep.", logprobs=[])
    _, answer = record([alive, delta, {"type": "keepalive", "sequence_number": 4}], "openai")
    assert answer["content"] == "Deep."


def test_an_unknown_event_of_the_responses_api_adds_nothing(record: Record) -> None:
    delta = response_event("output_text.delta", output_index=0, content_index=0, item_id="m", delta="Deep.", logprobs=[])
    new = ResponseTextDeltaEvent.model_construct(type="rate_limits", sequence_number=2)
    _, answer = record([delta, new], "openai")
    assert answer["content"] == "Deep."
    for before in ([], ["half"], [delta.model_dump()]):
        chunks = Chunks("m")
        for event in before:
            chunks.add(event)
        with pytest.raises(TypeError, match="of the type 'rate_limits'"):
            chunks.add(new)


def test_what_was_not_told_bit_by_bit_is_taken_from_the_end_of_its_item(record: Record) -> None:
    at = {"content_index": 0, "item_id": "msg_1", "output_index": 0}
    content: list[Any] = [{"type": "refusal", "refusal": "No."}, {"type": "output_text", "text": " Or?", "annotations": []}]
    message: dict[str, Any] = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}
    call = {"type": "custom_tool_call", "call_id": "call_1", "name": "sh", "input": "ls"}
    image = {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "AAAA"}
    events = [
        response_event("refusal.delta", **at, delta="No."),
        item_event("done", 0, message),
        item_event("done", 1, {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]}),
        item_event("done", 2, call),
        item_event("done", 3, image),
    ]
    refusal, text, reasoning, custom, file = parts_of(record(events, "ui-message"))
    assert (refusal["text"], text["text"], reasoning["text"]) == ("No.", " Or?", "Hm.")
    assert (custom["toolCallId"], custom["input"], file["mediaType"]) == ("call_1", "ls", "image/png")


def test_events_of_litellm_have_a_type_of_an_enumeration() -> None:
    event = SimpleNamespace(type=LiteLLMType.DELTA, item_id="i", output_index=0, content_index=0, delta="Hi")
    assert Chunks("m").add(event)[-1]["delta"] == "Hi"


@pytest.mark.parametrize(
    "event",
    [
        {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
        {"type": "error", "code": "server_error", "message": "Overloaded", "param": None},
        {"type": "response.failed", "response": {"error": {"code": "server_error", "message": "Overloaded"}}},
        {"type": "error", "errorText": "Overloaded"},
    ],
)
def test_an_answer_that_the_provider_says_has_failed_is_failed(service: Service, app: str, event: Any) -> None:
    with Reprise(service.url, app) as client:
        chat = client.create_chat("Picnic")
        list(chat.stream(["half", event]))
        (stream,) = chat.streams()
        assert (stream.state, stream.error) == (models.StreamState.failed, "Overloaded")


# --- Anthropic -------------------------------------------------------------------------------------------------------------


def block(index: int, block: dict[str, Any], *deltas: dict[str, Any]) -> list[Any]:
    """The events of a block."""
    return [
        {"type": "content_block_start", "index": index, "content_block": block},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def as_objects(event: Any) -> Any:
    """The same event as the SDK has it: an object with attributes."""
    return json.loads(json.dumps(event), object_hook=lambda fields: SimpleNamespace(**fields))


def as_given(event: Any) -> Any:
    return event


THINKING: list[Any] = [
    {"type": "message_start", "message": {"id": "msg_1", "content": []}},
    *block(
        0,
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": "A map?"},
        {"type": "signature_delta", "signature": "s1"},
    ),
    *block(1, {"type": "redacted_thinking", "data": "r1"}),
    *block(2, {"type": "text", "text": ""}, {"type": "text_delta", "text": "I look it up."}),
    *block(3, {"type": "thinking", "thinking": "", "signature": ""}, {"type": "signature_delta", "signature": "s2"}),
    *block(4, {"type": "tool_use", "id": "toolu_1", "name": "map", "input": {}}),
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 1}},
    {"type": "message_stop"},
]


@pytest.mark.parametrize("shape", [as_given, as_objects], ids=["dict", "object"])
def test_thinking_before_a_call_is_given_back_to_anthropic(record: Record, shape: Callable[[Any], Any]) -> None:
    (_, answer, _) = record([shape(event) for event in THINKING], "anthropic", results={"toolu_1": "a lake"})
    assert answer["content"] == [
        {"type": "thinking", "thinking": "A map?", "signature": "s1"},
        {"type": "redacted_thinking", "data": "r1"},
        {"type": "text", "text": "I look it up."},
        {"type": "thinking", "thinking": "", "signature": "s2"},
        {"type": "tool_use", "id": "toolu_1", "name": "map", "input": {}},
    ]


FOUND = [{"type": "web_search_result", "url": "https://lake.example", "title": "Lake", "encrypted_content": "x"}]
CITATION = {
    "type": "web_search_result_location",
    "url": "https://lake.example",
    "title": "Lake",
    "cited_text": "It is deep.",
    "encrypted_index": "i",
}
SEARCH = [
    *block(
        0,
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
        {"type": "input_json_delta", "partial_json": '{"query":"lake"}'},
    ),
    *block(1, {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": FOUND}),
    *block(
        2,
        {"type": "text", "text": "", "citations": []},
        {"type": "citations_delta", "citation": CITATION},
        {"type": "text_delta", "text": "It is deep."},
    ),
]


@pytest.mark.parametrize("shape", [as_given, as_objects], ids=["dict", "object"])
def test_tools_of_the_server_and_citations_are_kept(record: Record, shape: Callable[[Any], Any]) -> None:
    call, text, source = parts_of(record([shape(event) for event in SEARCH], "ui-message"))
    assert (call["type"], call["providerExecuted"], call["state"]) == ("tool-web_search", True, "output-available")
    assert (call["input"], call["output"]) == ({"query": "lake"}, FOUND)
    assert call["callProviderMetadata"] == {"anthropic": {"type": "server_tool_use"}}
    assert call["resultProviderMetadata"] == {"anthropic": {"type": "web_search_tool_result"}}
    assert (text["text"], text["providerMetadata"]) == ("It is deep.", {"anthropic": {"citations": [CITATION]}})
    assert source["url"] == "https://lake.example"


def test_the_call_of_a_tool_of_the_server_is_a_call_for_any_provider(record: Record) -> None:
    for dialect in ("anthropic", "openai"):
        messages = record(SEARCH, dialect)
        assert "srvtoolu_1" in json.dumps(messages)
        assert "https://lake.example" in json.dumps(messages)
        assert "It is deep." in json.dumps(messages[-1] if dialect == "openai" else messages[-2])


def test_results_of_calls_with_one_id_follow_in_their_order(record: Record) -> None:
    events: list[Any] = []
    for place in ("lake", "hill"):
        call = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": place}}
        found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"title": place}]}
        events += [{"type": "message_start", "message": {}}, *block(0, call), *block(1, found), {"type": "message_stop"}]
    first, second = parts_of(record(events, "ui-message"))
    assert (first["toolCallId"], first["input"], first["output"]) == ("srvtoolu_1", {"query": "lake"}, [{"title": "lake"}])
    assert (second["toolCallId"], second["input"], second["output"]) == (
        "srvtoolu_1_2",
        {"query": "hill"},
        [{"title": "hill"}],
    )


def test_results_with_errors_and_unknown_blocks_are_kept(record: Record) -> None:
    error = {"type": "web_fetch_tool_result_error", "error_code": "unavailable"}
    events = [
        *block(0, {"type": "web_fetch_tool_result", "tool_use_id": "srvtoolu_0", "content": error}),
        *block(1, {"type": "mcp_tool_use", "id": "mcp_1", "name": "map", "server_name": "maps", "input": {"a": 1}}),
        *block(
            2,
            {"type": "mcp_tool_result", "tool_use_id": "mcp_1", "is_error": True, "content": [{"type": "text", "text": "no"}]},
        ),
        *block(3, {"type": "compaction", "content": None}, {"type": "compaction_delta", "content": "Short."}),
        *block(4, {"type": "riddle", "riddle": 1}, {"type": "riddle_delta", "riddle": 2}),
    ]
    failed, mcp, compaction, riddle = parts_of(record(events, "ui-message"))
    assert (failed["type"], failed["state"]) == ("tool-web_fetch", "output-error")
    assert "unavailable" in failed["errorText"]
    assert (mcp["input"], mcp["state"]) == ({"a": 1}, "output-error")
    assert mcp["callProviderMetadata"]["anthropic"]["serverName"] == "maps"
    assert compaction["data"] == {"type": "compaction", "content": "Short."}
    assert riddle["data"] == {"type": "riddle", "riddle": 1, "deltas": [{"type": "riddle_delta", "riddle": 2}]}


def test_the_helper_of_anthropic_is_recorded_once(record: Record) -> None:
    start, delta, stop = block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Hi"})
    text = SimpleNamespace(type="text", text="Hi", snapshot="Hi")
    (_, answer, *_) = record([start, delta, text, stop], "anthropic")
    assert answer["content"] == [{"type": "text", "text": "Hi"}]
    with pytest.raises(TypeError, match="of the type 'text'"):
        Chunks("m").add(text)


def test_the_result_of_a_call_in_a_paused_answer_settles_the_call(service: Service, app: str) -> None:
    paused, rest = SEARCH[:3], SEARCH[3:]
    with Reprise(service.url, app) as client:
        chat = client.create_chat("Picnic")
        for events in (paused, rest):
            list(reprise.stream(chat, iter(events)))
        assert chat.resume().pending_calls == []
        _, (again, *_) = [message["parts"] for message in chat.history("ui-message").messages]
        assert (again["toolCallId"], again["input"], again["output"]) == ("srvtoolu_1", {}, FOUND)
        _, answer, result, *_ = chat.history("anthropic").messages
        assert answer["content"] == [{"type": "tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}]
        assert "https://lake.example" in json.dumps(result)


def test_tools_of_anthropics_server_by_litellm_are_kept_as_by_anthropic(record: Record) -> None:
    searched = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": FOUND}
    ran = {"type": "bash_code_execution_tool_result", "tool_use_id": "srvtoolu_2", "content": {"stdout": "a"}}
    fetched = {"type": "web_fetch_tool_result", "tool_use_id": "srvtoolu_3", "content": {"type": "web_fetch_tool_result_error"}}
    events = [
        chat_chunk(tool_calls=[function(0, "srvtoolu_1", "web_search")]),
        chat_chunk(tool_calls=[function(0, arguments='{"query":"lake"}')]),
        chat_chunk(provider_specific_fields={"web_search_results": [searched]}),
        chat_chunk(tool_calls=[function(1, "srvtoolu_2", "bash_code_execution", '{"command":"ls"}')]),
        chat_chunk(provider_specific_fields={"tool_results": [ran]}),
        chat_chunk(tool_calls=[function(2, "srvtoolu_3", "web_fetch", "{}")]),
        # Each list has the results before again.
        chat_chunk(provider_specific_fields={"web_search_results": [searched, fetched]}),
        chat_chunk(content="It is "),
        chat_chunk(provider_specific_fields={"citation": CITATION}),
        chat_chunk(content="deep."),
    ]
    search, run, fetch, text, source = parts_of(record(events, "ui-message"))
    expected, *_ = parts_of(record(SEARCH, "ui-message"))
    assert search == expected
    assert (run["input"], run["output"], run["providerExecuted"]) == ({"command": "ls"}, {"stdout": "a"}, True)
    assert (fetch["toolCallId"], fetch["state"]) == ("srvtoolu_3", "output-error")
    assert (text["text"], text["providerMetadata"]) == ("It is deep.", {"anthropic": {"citations": [CITATION]}})
    assert source["url"] == "https://lake.example"


@pytest.mark.parametrize("shape", [as_given, as_objects], ids=["dict", "object"])
def test_an_unknown_event_of_anthropic_adds_nothing(record: Record, shape: Callable[[Any], Any]) -> None:
    start, delta, stop = block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Hi"})
    new = {"type": "message_moderation", "verdict": "fine"}
    events: list[Any] = [{"type": "message_start", "message": {}}, new, start, delta, new, stop]
    _, answer, *_ = record([shape(event) for event in events], "anthropic")
    assert answer["content"] == [{"type": "text", "text": "Hi"}]
    with pytest.raises(TypeError, match="of the type 'message_moderation'"):
        Chunks("m").add(shape(new))


def test_what_only_repeats_an_answer_of_anthropic_is_no_unknown_event() -> None:
    whole: list[dict[str, Any]] = [{"type": "text", "text": "Hi"}, {"type": "message", "content": []}]
    for alone in whole:
        chunks = Chunks("m")
        chunks.add({"type": "message_start", "message": {}})
        with pytest.raises(TypeError, match=f"of the type '{alone['type']}'"):
            chunks.add(alone)


# --- google-genai ----------------------------------------------------------------------------------------------------------


def gemini(*parts: genai.Part, **candidate: Any) -> genai.GenerateContentResponse:
    content = genai.Content(role="model", parts=list(parts))
    return genai.GenerateContentResponse(candidates=[genai.Candidate(content=content, **candidate)])


def test_an_answer_of_google_genai_is_given_back(record: Record) -> None:
    web = genai.GroundingChunk(web=genai.GroundingChunkWeb(uri="https://lake.example", title="Lake"))
    call = genai.Part(function_call=genai.FunctionCall(name="map", args={"place": "lake"}, id="f1"), thought_signature=b"sig")
    events = [
        gemini(genai.Part(text="A map?", thought=True)),
        gemini(genai.Part(text="I look ")),
        gemini(genai.Part(text="it up."), genai.Part(text="", thought_signature=b"end")),
        gemini(call, genai.Part(function_call=genai.FunctionCall(name="clock"))),
        gemini(genai.Part(inline_data=genai.Blob(mime_type="image/png", data=b"png"))),
        gemini(grounding_metadata=genai.GroundingMetadata(grounding_chunks=[web])),
        genai.GenerateContentResponse(usage_metadata=genai.GenerateContentResponseUsageMetadata(total_token_count=1)),
    ]
    reasoning, text, first, second, image, source = parts_of(record(events, "ui-message"))
    assert (reasoning["text"], text["text"]) == ("A map?", "I look it up.")
    assert text["providerMetadata"] == {"google": {"thoughtSignature": "ZW5k"}}
    assert (first["toolCallId"], first["input"], second["input"]) == ("f1", {"place": "lake"}, {})
    assert (image["url"], source["url"]) == ("data:image/png;base64,cG5n", "https://lake.example")
    written = json.dumps(record(events[:4], "gemini", results={"f1": "a lake"}))
    assert '"thoughtSignature": "c2ln"' in written
    assert "I look it up." in written


def test_code_that_gemini_runs_and_parts_of_rest_are_kept(record: Record) -> None:
    code = genai.ExecutableCode(code="1+1", language=genai.Language.PYTHON)
    result = genai.CodeExecutionResult(outcome=genai.Outcome.OUTCOME_OK, output="2")
    rest = {"candidates": [{"content": {"parts": [{"functionCall": {"name": "map"}, "thoughtSignature": "c2ln"}]}}]}
    riddle = {"candidates": [{"content": {"parts": [{"riddle": {"a": 1}}]}}]}
    events = [gemini(genai.Part(executable_code=code)), gemini(genai.Part(code_execution_result=result)), rest, riddle]
    run, call, other = parts_of(record(events, "ui-message"))
    assert (run["type"], run["input"]["code"], run["output"]["output"]) == ("tool-code_execution", "1+1", "2")
    assert call["callProviderMetadata"]["google"]["thoughtSignature"] == "c2ln"
    assert other["data"] == {"riddle": {"a": 1}}


def test_partial_arguments_are_refused() -> None:
    partial = genai.FunctionCall(name="map", will_continue=True)
    with pytest.raises(TypeError, match="stream_function_call_arguments"):
        Chunks("m").add(gemini(genai.Part(function_call=partial)))


# --- LangChain -------------------------------------------------------------------------------------------------------------


def test_chunks_of_langchain_are_kept(record: Record) -> None:
    events = [
        AIMessageChunk(content="", additional_kwargs={"reasoning_content": "A map?"}),
        AIMessageChunk(content="I look "),
        AIMessageChunk(content="it up."),
        AIMessageChunk(content="", tool_call_chunks=[tool_call_chunk(name="map", args='{"place":', id="call_1", index=0)]),
        AIMessageChunk(content="", tool_call_chunks=[tool_call_chunk(args='"lake"}', index=0)]),
        # The next answer of the model has the same index.
        AIMessageChunk(content="", tool_call_chunks=[tool_call_chunk(name="clock", args="{}", id="call_2", index=0)]),
        AIMessageChunk(content="", usage_metadata={"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}),
    ]
    (_, answer) = record(events, "langchain")
    assert answer["data"]["content"] == "I look it up."
    assert [(call["id"], call["args"]) for call in answer["data"]["tool_calls"]] == [
        ("call_1", {"place": "lake"}),
        ("call_2", {}),
    ]
    assert parts_of(record(events, "ui-message"))[0]["text"] == "A map?"


def test_calls_of_several_messages_of_langchain_are_calls_of_their_own(record: Record) -> None:
    events = [
        AIMessageChunk(content="", tool_call_chunks=[tool_call_chunk(name="map", args='{"a":1}', id="call_0", index=0)]),
        AIMessageChunk(content="", chunk_position="last"),
        AIMessageChunk(content="", tool_call_chunks=[tool_call_chunk(name="clock", args='{"b":2}', id="call_0", index=0)]),
        AIMessageChunk(content="", chunk_position="last"),
    ]
    (_, answer) = record(events, "openai")
    assert calls_of(answer) == [("call_0", "map", {"a": 1}), ("call_0_2", "clock", {"b": 2})]


def test_blocks_of_anthropic_in_langchain_are_given_back(record: Record) -> None:
    def blocks(*blocks: Any, **fields: Any) -> AIMessageChunk:
        return AIMessageChunk(content=list(blocks), response_metadata={"model_provider": "anthropic"}, **fields)

    call = tool_call_chunk(name="map", args="{}", id="toolu_1", index=3)
    events = [
        blocks({"type": "thinking", "thinking": "A map?", "index": 0}),
        blocks({"type": "thinking", "signature": "s1", "index": 0}),
        blocks({"type": "redacted_thinking", "data": "r1", "index": 1}),
        blocks({"type": "text", "text": "Yes.", "index": 2}),
        blocks({"type": "tool_use", "id": "toolu_1", "name": "map", "input": {}, "index": 3}, tool_call_chunks=[call]),
        blocks({"type": "web_search_tool_result", "tool_use_id": "s", "content": [], "index": 4}),
    ]
    (_, answer, _) = record(events, "anthropic", results={"toolu_1": "a lake"})
    assert answer["content"] == [
        {"type": "thinking", "thinking": "A map?", "signature": "s1"},
        {"type": "redacted_thinking", "data": "r1"},
        {"type": "text", "text": "Yes."},
        {"type": "tool_use", "id": "toolu_1", "name": "map", "input": {}},
    ]
    assert parts_of(record(events, "ui-message"))[-1]["data"]["tool_use_id"] == "s"


def test_other_blocks_of_langchain_are_kept(record: Record) -> None:
    standard = {"type": "reasoning", "reasoning": "B", "extras": {"signature": "c2ln"}, "index": 1}
    summary = {"type": "reasoning", "id": "rs_1", "summary": [{"text": "A", "type": "summary_text"}], "index": 0}
    secret = {"type": "reasoning", "encrypted_content": "e1", "index": 0}
    from_openai = {"model_provider": "openai"}
    events: list[Any] = [
        AIMessageChunk(content=[summary], response_metadata=from_openai),
        AIMessageChunk(content=[secret], response_metadata=from_openai),
        AIMessageChunk(content=[standard], response_metadata={"model_provider": "google_genai"}),
        AIMessageChunk(content=[{"type": "refusal", "refusal": "No."}]),
        AIMessage(content="Whole.", tool_calls=[{"name": "map", "args": {"a": 1}, "id": "call_1"}]),
    ]
    first, second, text, call = parts_of(record(events, "ui-message"))
    assert first["providerMetadata"] == {"openai": {"itemId": "rs_1", "reasoningEncryptedContent": "e1"}}
    assert second["providerMetadata"] == {"google": {"thoughtSignature": "c2ln"}}
    assert (text["text"], call["input"]) == ("No.Whole.", {"a": 1})


# --- Everything else -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "name"),
    [
        (HumanMessage("Hello"), "HumanMessage"),
        (b"data: {}", "builtins.bytes"),
        (None, "NoneType"),
        ((AIMessageChunk(content="a"), 1), "builtins.tuple"),
        ({"type": "riddle"}, "'riddle'"),
        ({"type": "text-middle", "id": "1"}, "'text-middle'"),
    ],
)
def test_an_unknown_event_is_an_error_at_once(service: Service, app: str, event: Any, name: str) -> None:
    with Reprise(service.url, app) as client:
        chat = client.create_chat("Picnic")
        with pytest.raises(TypeError, match=name) as error:
            list(chat.stream(iter(["half", event])))
        assert "AIMessageChunk" in str(error.value)
        (stream,) = chat.streams()
        assert stream.state is models.StreamState.failed


def test_large_chunks_are_sent_in_several_requests(record: Record) -> None:
    image = gemini(*(genai.Part(inline_data=genai.Blob(mime_type="image/png", data=b"x" * 400_000)) for _ in range(3)))
    assert len(parts_of(record([image], "ui-message"))) == 3


@pytest.mark.parametrize("ends", [True, False], ids=["last", "not last"])
def test_an_answer_that_the_service_cannot_have_is_failed(service: Service, app: str, ends: bool) -> None:
    image = gemini(genai.Part(inline_data=genai.Blob(mime_type="image/png", data=b"x" * 1_000_000)))
    events: list[Any] = ["half", image] if ends else ["half", image, *("more" for _ in range(5))]

    def slowly() -> Any:
        for event in events:
            yield event
            time.sleep(0 if ends else 0.1)

    with Reprise(service.url, app) as client:
        chat = client.create_chat("Picnic")
        with pytest.raises(InvalidRequest, match="1048576"):
            list(chat.stream(slowly()))
        (stream,) = chat.streams()
        assert stream.state is models.StreamState.failed
        assert "1048576" in str(stream.error)


def test_an_answer_that_is_too_large_for_a_message_or_stored_as_another_is_failed(service: Service, app: str) -> None:
    with Reprise(service.url, app) as client:
        chat = client.create_chat("Picnic")
        with pytest.raises(InvalidRequest, match="too-large"):
            list(chat.stream("x" * 100_000 for _ in range(50)))

        def overtaken() -> Any:
            yield "two"
            list(chat.stream(iter(["one"]), request_id="job-1"))

        with pytest.raises(Conflict):
            list(chat.stream(overtaken(), request_id="job-1"))
        # A job that runs again is refused when it starts.
        with pytest.raises(Conflict, match="stored already"):
            list(chat.stream(iter(["three"]), request_id="job-1"))
        states = [stream.state.value for stream in chat.streams()]
        assert states == ["finished", "failed", "failed"]
        assert [message.content for message in chat.messages()] == ["one"]
