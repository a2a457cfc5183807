"""Conversations as programs keep them: what the user says is written by hand, and what the model says is an answer of the SDK.

The SDKs read each answer as its API sends it, and dump it as a program does that appends it to its messages.
"""

import base64
import json

import anthropic.types
import google.genai.types
import openai.types.chat

PICTURE = base64.b64encode(b"\x89PNG\r\n\x1a\npicture").decode()


def answer_of_openai(message: dict) -> dict:
    answer = openai.types.chat.ChatCompletion.model_validate({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1767225600, "model": "gpt",
        "choices": [{"index": 0, "finish_reason": "stop", "logprobs": None, "message": message}],
    })
    return answer.choices[0].message.model_dump(mode="json")


def messages_of_openai() -> list[dict]:
    """Returns messages for Chat Completions, in which answers are what `model_dump` returns: every field, most of them null."""
    def call(id: str, name: str, arguments: object) -> dict:
        return {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}

    custom = {"id": "call_3", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}", "detail": "low"}}
    sound = {"type": "input_audio", "input_audio": {"data": "c291bmQ=", "format": "wav"}}
    upload = {"type": "file", "file": {"file_id": "file-1"}}
    return [
        {"role": "developer", "content": "Plan trips."},
        {"role": "user", "name": "zoe", "content": [{"type": "text", "text": "Where is it sunny?"}, picture, sound, upload]},
        answer_of_openai({
            "role": "assistant", "content": None, "refusal": None,
            "tool_calls": [call("call_1", "weather", {"city": "Oslo"}), call("call_2", "weather", {"city": "Rome"})],
        }),
        {"role": "tool", "tool_call_id": "call_1", "content": "{\"sky\": \"clear\"}"},
        {"role": "tool", "tool_call_id": "call_2", "content": [{"type": "text", "text": "rain"}]},
        answer_of_openai({"role": "assistant", "content": "Oslo is sunny.", "refusal": None}),
        {"role": "user", "content": "How many users have booked?"},
        answer_of_openai({"role": "assistant", "content": None, "tool_calls": [custom]}),
        {"role": "tool", "tool_call_id": "call_3", "content": "1"},
        answer_of_openai({"role": "assistant", "content": "One."}),
    ]


def answer_of_anthropic(blocks: list[dict]) -> dict:
    answer = anthropic.types.Message.model_validate({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "content": blocks,
        "stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
    })
    return {"role": answer.role, "content": [block.model_dump(mode="json", exclude_none=True) for block in answer.content]}


def messages_of_anthropic() -> list[dict]:
    """Returns messages for the Messages API, in which answers are the blocks of the SDK, dumped."""
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}}
    ticket = {
        "type": "document", "title": "Ticket", "context": "It was bought.", "citations": {"enabled": True},
        "source": {"type": "text", "media_type": "text/plain", "data": "Oslo, seat 1"},
    }
    cited = {
        "type": "char_location", "cited_text": "seat 1", "document_index": 0, "document_title": "Ticket",
        "start_char_index": 6, "end_char_index": 12,
    }
    return [
        {"role": "user", "content": [picture, ticket, {"type": "text", "text": "Where is it sunny?"}]},
        answer_of_anthropic([
            {"type": "thinking", "thinking": "Which one?", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "ZGF0YQ=="},
            {"type": "text", "text": "Let me see.", "citations": None},
            {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Oslo"}},
            {"type": "tool_use", "id": "toolu_2", "name": "weather", "input": {}},
        ]),
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "clear"}, picture]},
            {"type": "tool_result", "tool_use_id": "toolu_2", "content": "no city is given", "is_error": True},
            {"type": "text", "text": "And which seat do I have?"},
        ]},
        answer_of_anthropic([
            {"type": "text", "text": "You have "}, {"type": "text", "text": "seat 1", "citations": [cited]},
        ]),
        {"role": "user", "content": "Search for hotels."},
        answer_of_anthropic([
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "hotels in Oslo"}},
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{
                "type": "web_search_result", "title": "Hotels", "url": "https://example.org/hotels",
                "encrypted_content": "ZW5j", "page_age": "1 day",
            }]},
            {"type": "text", "text": "There is one."},
        ]),
        {"role": "user", "content": "Thanks."},
    ]


def answer_of_gemini(parts: list[dict]) -> dict:
    answer = google.genai.types.GenerateContentResponse.model_validate({
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}],
    })
    return answer.candidates[0].content.model_dump(mode="json", by_alias=True, exclude_none=True)


def contents_of_gemini() -> list[dict]:
    """Returns contents for the Gemini API, in which answers are what the SDK dumps."""
    signature = base64.urlsafe_b64encode(b"signature").decode()
    return [
        {"role": "user", "parts": [
            {"text": "Where is it sunny?"}, {"inlineData": {"mimeType": "image/png", "data": PICTURE}},
            {"fileData": {"mimeType": "application/pdf", "fileUri": "https://example.org/ticket.pdf"}},
        ]},
        answer_of_gemini([
            {"text": "Let me see."},
            {"functionCall": {"id": "c1", "name": "weather", "args": {"city": "Oslo"}}, "thoughtSignature": signature},
            {"functionCall": {"id": "c2", "name": "weather", "args": {"city": "Rome"}}},
        ]),
        {"role": "user", "parts": [
            {"functionResponse": {"id": "c1", "name": "weather", "response": {"output": {"sky": "clear"}}}},
            {"functionResponse": {"id": "c2", "name": "weather", "response": {"error": "no such city"}}},
        ]},
        answer_of_gemini([{"text": "Oslo is sunny.", "thoughtSignature": signature}]),
        {"role": "user", "parts": [{"text": "What is 2 ** 10?"}]},
        answer_of_gemini([
            {"executableCode": {"language": "PYTHON", "code": "print(2 ** 10)"}, "thoughtSignature": signature},
            {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1024\n"}},
            {"text": "It is 1024."},
        ]),
        {"role": "user", "parts": [{"text": "Thanks."}]},
    ]
