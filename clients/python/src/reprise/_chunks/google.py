from __future__ import annotations

import re
from typing import Any, cast

from .answer import Answer
from .fields import attributes, get, items, plain, words

#: The fields of a part that say more of what the part is, or of what the caller has sent.
DETAILS = frozenset(
    "text thought thought_signature media_resolution video_metadata part_metadata audio_transcription media_processing "
    "speech_metadata".split()
)


class Google:
    """Reads ``GenerateContentResponse`` of google-genai, and what Gemini's REST API sends."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        #: The id of the code that was run last.
        self._code_id = ""
        self._sources: set[str] = set()

    def accepts(self, event: Any) -> bool:
        if isinstance(event, dict):
            return any(name in event for name in ("candidates", "promptFeedback", "prompt_feedback", "usageMetadata"))
        return hasattr(event, "candidates")

    def add(self, event: Any) -> None:
        for candidate in items(event, "candidates"):
            if get(candidate, "index"):
                raise ValueError("the answer has several candidates, and a stream has one message: ask for one")
            for part in items(get(candidate, "content"), "parts"):
                self._part(_fields(part))
            grounding = _fields(get(candidate, "grounding_metadata") or get(candidate, "groundingMetadata"))
            for chunk in items(grounding, "grounding_chunks"):
                found = _fields(chunk)
                source = found.get("web") or found.get("maps") or found.get("retrieved_context")
                # Each of the events that follow has the sources again.
                url = words(source, "uri")
                if url and url not in self._sources:
                    self._sources.add(url)
                    self._answer.source(source)

    def end(self) -> None:
        pass

    def _part(self, part: dict[str, Any]) -> None:
        answer, signature = self._answer, _base64(part.get("thought_signature"))
        metadata = {"google": {"thoughtSignature": signature}} if signature else {}
        fields: dict[str, Any] = {"providerMetadata": metadata} if metadata else {}
        others = {name: value for name, value in part.items() if name not in DETAILS and value is not None}
        if not others:
            kind = "reasoning" if part.get("thought") else "text"
            answer.text(kind, part.get("text"))
            answer.mark(kind, "google", thoughtSignature=signature)
        for name, value in others.items():
            of = _fields(value)
            if name == "function_call":
                self._call(of, fields)
            elif name == "executable_code":
                given = {"code": of.get("code"), "language": plain(of.get("language"))}
                self._code_id = answer.whole_call(of.get("id"), "code_execution", given, providerExecuted=True, **fields)
            elif name == "code_execution_result":
                output = {"outcome": plain(of.get("outcome")), "output": of.get("output")}
                answer.result(of.get("id") or self._code_id, "code_execution", output)
            elif name == "inline_data" and of.get("data"):
                media_type = of.get("mime_type") or "application/octet-stream"
                answer.file(media_type, f"data:{media_type};base64,{_base64(of['data'])}")
            elif name == "file_data" and of.get("file_uri"):
                answer.file(of.get("mime_type") or "application/octet-stream", of["file_uri"])
            else:
                answer.data("google", {name: value, **({"thought_signature": signature} if signature else {})})

    def _call(self, call: dict[str, Any], fields: dict[str, Any]) -> None:
        if call.get("partial_args") or call.get("will_continue"):
            raise TypeError("partial arguments of a function call cannot be recorded: turn off stream_function_call_arguments")
        self._answer.whole_call(call.get("id"), call.get("name"), call.get("args"), **fields)


def _fields(of: Any) -> dict[str, Any]:
    """Returns the fields of a model or a dictionary, by the names that google-genai gives them."""
    if of is None:
        return {}
    fields = cast("dict[str, Any]", of) if isinstance(of, dict) else attributes(of)
    return {re.sub("(?<=[a-z])(?=[A-Z])", "_", name).lower(): value for name, value in fields.items()}


def _base64(data: Any) -> str | None:
    return plain(data) or None
