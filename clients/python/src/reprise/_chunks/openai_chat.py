from __future__ import annotations

from typing import Any

from .answer import Answer, image_file
from .anthropic import Anthropic
from .fields import get, has, items, plain, type_of, words

#: Events of ``client.chat.completions.stream``, which say again what their ``chunk`` events say.
DERIVED = frozenset(
    "content.delta content.done refusal.delta refusal.done tool_calls.function.arguments.delta "
    "tool_calls.function.arguments.done logprobs.content.delta logprobs.content.done logprobs.refusal.delta "
    "logprobs.refusal.done".split()
)


class OpenAIChat:
    """Reads chunks of OpenAI's chat completions, of providers that are compatible with it, and of LiteLLM."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._has_chunks = False
        #: Reads the blocks of Anthropic that LiteLLM passes on, and the ids of the calls whose results have come.
        self._anthropic = Anthropic(answer)
        self._run: set[str] = set()

    def accepts(self, event: Any) -> bool:
        kind = type_of(event)
        if self._is_chunk(event) or (kind == "chunk" and get(event, "chunk") is not None):
            return True
        # Without their chunks these events would lose the calls.
        return self._has_chunks and kind in DERIVED

    def add(self, event: Any) -> None:
        chunk = get(event, "chunk") if type_of(event) == "chunk" else event
        if get(chunk, "choices") is None:
            return
        self._has_chunks = True
        for choice in items(chunk, "choices"):
            if get(choice, "index"):
                raise ValueError("the answer has several choices, and a stream has one message: ask for n=1")
            self._answer.text("text", get(choice, "text"))
            delta = get(choice, "delta") or get(choice, "message")
            if delta is not None:
                self._delta(delta)
            if get(choice, "finish_reason"):
                self._answer.end_completion()

    def end(self) -> None:
        pass

    def _is_chunk(self, event: Any) -> bool:
        kind = get(event, "object") or type_of(event)
        if has(event, "choices") or kind == "chat.completion.chunk" or type(event).__name__ == "ChatCompletionChunk":
            return True
        # Some providers end with a chunk of usage that has no choices, and does not name its class.
        return self._has_chunks and not kind and get(event, "usage") is not None

    def _delta(self, delta: Any) -> None:
        answer = self._answer
        self._reasoning(delta)
        content = get(delta, "content")
        if isinstance(content, (list, tuple)):
            for block in items(delta, "content"):
                self._block(block)
        else:
            answer.text("text", content)
        if citation := get(get(delta, "provider_specific_fields"), "citation"):
            self._anthropic.cite(citation)
        answer.text("text", get(delta, "refusal"))
        answer.text("text", get(get(delta, "audio"), "transcript"))
        answer.mark("text", "google", thoughtSignature=_signature(delta))
        for annotation in items(delta, "annotations"):
            answer.source(get(annotation, "url_citation") or annotation)
        for image in items(delta, "images"):
            image_file(answer, image)
        function = get(delta, "function_call")
        if function is not None:
            answer.begin_call("function_call", None, words(function, "name"), more=get(function, "arguments"))
        for position, call in enumerate(items(delta, "tool_calls")):
            self._call(position, call)
        self._results(get(delta, "provider_specific_fields"))

    def _reasoning(self, delta: Any) -> None:
        """Adds the reasoning, which providers have under several names, some of them under two at once."""
        answer, blocks, details = self._answer, items(delta, "thinking_blocks"), items(delta, "reasoning_details")
        text = words(delta, "reasoning_content", "reasoning")
        answer.text("reasoning", text)
        for block in blocks:
            if data := words(block, "data"):
                answer.close()
                answer.mark("reasoning", "anthropic", redactedData=data)
                answer.close()
                continue
            if text is None:
                answer.text("reasoning", get(block, "thinking"))
            if signature := words(block, "signature"):
                answer.mark("reasoning", "anthropic", signature=signature)
                answer.close()
        for detail in details:
            if text is None:
                answer.text("reasoning", words(detail, "text", "summary"))
            # What OpenRouter wants again; the text is there already.
            own = {name: value for name, value in plain(detail).items() if name not in ("text", "summary")}
            if own.keys() & {"signature", "data"}:
                answer.append_mark("reasoning", "openrouter", "reasoning_details", own)
        for item in items(delta, "reasoning_items"):
            answer.mark("reasoning", "openai", itemId=get(item, "id"), reasoningEncryptedContent=get(item, "encrypted_content"))
            answer.close()

    def _block(self, block: Any) -> None:
        """Adds a block of a content that is a list, which some compatible providers have."""
        kind = type_of(block)
        if kind == "text":
            self._answer.text("text", get(block, "text"))
        elif kind == "thinking":
            thought = get(block, "thinking")
            texts = [get(part, "text") for part in items(block, "thinking")] if isinstance(thought, list) else [thought]
            for text in texts:
                self._answer.text("reasoning", text)
        elif kind == "image_url":
            image_file(self._answer, block)
        else:
            self._answer.data("openai", block)

    def _results(self, specific: Any) -> None:
        """Adds the results of calls that Anthropic has run; LiteLLM has all that have come in each of its lists."""
        for block in [*items(specific, "web_search_results"), *items(specific, "tool_results")]:
            call_id = words(block, "tool_use_id")
            if call_id is not None and call_id not in self._run:
                self._run.add(call_id)
                metadata = {"anthropic": {"type": "server_tool_use"}}
                self._answer.end_run_call(call_id, providerExecuted=True, providerMetadata=metadata)
                self._anthropic.result(block)

    def _call(self, position: int, call: Any) -> None:
        answer, index = self._answer, get(call, "index")
        # Some providers give the same index to every call, with another id.
        key = position if index is None else index
        custom = get(call, "custom")
        function = custom if custom is not None else get(call, "function")
        signature = _signature(call) or _signature(function)
        fields = {"providerMetadata": {"google": {"thoughtSignature": signature}}} if signature else {}
        more = get(function, "input" if custom is not None else "arguments")
        answer.begin_call(key, words(call, "id"), words(function, "name"), more=more, is_text=custom is not None, **fields)


def _signature(of: Any) -> str | None:
    """Returns the signature that Gemini gives a call or a text: in the field of its own API, or in that of LiteLLM."""
    own = get(get(of, "extra_content"), "google")
    return words(own, "thought_signature") or words(get(of, "provider_specific_fields"), "thought_signature")
