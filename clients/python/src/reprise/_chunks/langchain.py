from __future__ import annotations

from typing import Any

from .answer import Answer, image_file
from .fields import get, items, plain, type_of, words

#: The blocks of calls, which ``tool_call_chunks`` has as well.
CALLS = frozenset({"tool_use", "input_json_delta", "function_call", "custom_tool_call", "tool_call", "tool_call_chunk"})
#: The names of providers in ``providerMetadata``, by those in ``model_provider``.
PROVIDERS = {
    "google_genai": "google",
    "google_vertexai": "google",
    # The models with signatures are those of Anthropic.
    "bedrock": "anthropic",
    "bedrock_converse": "anthropic",
}


class LangChain:
    """Reads ``AIMessageChunk`` of LangChain, and the ``AIMessage`` of a model that does not stream."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._calls = 0
        self._provider = "anthropic"
        #: The place of the reasoning that is open, in a content of several blocks.
        self._place: Any = None

    def accepts(self, event: Any) -> bool:
        kind = type_of(event)
        return kind in ("AIMessageChunk", "ai") and get(event, "content") is not None

    def add(self, event: Any) -> None:
        answer, more = self._answer, get(event, "additional_kwargs")
        provider = words(get(event, "response_metadata"), "model_provider")
        self._provider = PROVIDERS.get(provider, provider) if provider else self._provider
        answer.text("reasoning", words(more, "reasoning_content", "reasoning"))
        content = get(event, "content")
        for block in [content] if isinstance(content, str) else items(event, "content"):
            if isinstance(block, str):
                answer.text("text", block)
            else:
                self._block(type_of(block), block)
        answer.text("text", words(more, "refusal"))
        signatures = get(more, "__gemini_function_call_thought_signatures__")
        chunks = items(event, "tool_call_chunks")
        for call in chunks:
            self._call(call, signatures)
        if not chunks:
            for call in [*items(event, "tool_calls"), *items(event, "invalid_tool_calls")]:
                answer.whole_call(get(call, "id"), get(call, "name"), get(call, "args"), **_signed(call, signatures))
        if get(event, "chunk_position") == "last":
            answer.end_completion()

    def end(self) -> None:
        pass

    def _block(self, kind: str, block: Any) -> None:
        answer = self._answer
        signature = words(block, "signature", "thought_signature") or words(get(block, "extras"), "signature")
        redacted = words(block, "data") if kind == "redacted_thinking" else None
        redacted = redacted or plain(get(get(block, "reasoning_content"), "redacted_content"))
        if kind in CALLS:
            return
        if kind == "non_standard" and words(get(block, "value"), "type"):
            value = get(block, "value")
            self._block(type_of(value), value)
        elif redacted:
            answer.close()
            answer.mark("reasoning", "anthropic", redactedData=redacted)
            answer.close()
        elif kind in ("thinking", "reasoning", "reasoning_content"):
            self._think(block, signature)
        elif kind in ("text", "text_delta", "output_text", "refusal"):
            answer.text("text", words(block, "text", "refusal"))
            self._mark_text(block, signature)
        elif kind == "image_url":
            image_file(answer, block)
        else:
            answer.data("langchain", block)

    def _think(self, block: Any, signature: str | None) -> None:
        answer, own = self._answer, get(block, "reasoning_content")
        place = get(block, "index")
        if place is not None and place != self._place:
            self._place = place
            answer.close()
        answer.text("reasoning", words(block, "thinking", "reasoning", "text") or words(own, "text"))
        for part in [*items(block, "summary"), *items(block, "content")]:
            answer.text("reasoning", get(part, "text"))
        signature = signature or words(own, "signature")
        if signature:
            field = "thoughtSignature" if self._provider == "google" else "signature"
            answer.mark("reasoning", self._provider, **{field: signature})
            answer.close()
        encrypted = words(block, "encrypted_content") or words(get(block, "extras"), "encrypted_content")
        item_id = words(block, "id")
        if encrypted or (item_id and self._provider == "openai"):
            answer.mark("reasoning", "openai", itemId=item_id, reasoningEncryptedContent=encrypted)

    def _mark_text(self, block: Any, signature: str | None) -> None:
        answer = self._answer
        if signature and self._provider == "google":
            answer.mark("text", "google", thoughtSignature=signature)
        for name in ("citations", "annotations"):
            for cited in items(block, name):
                answer.append_mark("text", self._provider, name, plain(cited))
                answer.source(get(cited, "url_citation") or cited)

    def _call(self, call: Any, signatures: Any) -> None:
        index, call_id, name = get(call, "index"), words(call, "id"), words(call, "name")
        if index is None:
            # Without an index, a chunk with a name is a call of its own.
            self._calls += 1 if name else 0
            index = ("call", self._calls)
        self._answer.begin_call(index, call_id, name, more=get(call, "args"), **_signed(call, signatures))


def _signed(call: Any, signatures: Any) -> dict[str, Any]:
    """Returns the fields for the signature that Gemini gives a call."""
    signature = plain(get(signatures, str(get(call, "id"))))
    return {"providerMetadata": {"google": {"thoughtSignature": signature}}} if signature else {}
