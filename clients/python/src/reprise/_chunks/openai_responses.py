from __future__ import annotations

from typing import Any

from .answer import Answer
from .fields import get, items, origin, plain, type_of, words

#: The deltas of texts, and what they are.
DELTAS = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "text",
    "response.audio.transcript.delta": "text",
    "response.reasoning_summary_text.delta": "reasoning",
    "response.reasoning_text.delta": "reasoning",
}
INPUTS = frozenset({"response.function_call_arguments.delta", "response.custom_tool_call_input.delta"})
#: The items of calls that the caller runs, with the field of the input.
CALLS = {"function_call": "arguments", "custom_tool_call": "input"}


class OpenAIResponses:
    """Reads the events of OpenAI's Responses API.

    An item is told twice: bit by bit, and whole when it ends. What has no bits that are read here is taken from its end, so
    that no item is lost.
    """

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        #: The item and the place of each text that was told bit by bit.
        self._told: set[tuple[Any, Any]] = set()
        #: By its item, the place of the reasoning that was told last.
        self._places: dict[Any, Any] = {}
        #: The package that has the events, when the first one has come.
        self._origin: str | None = None

    def accepts(self, event: Any) -> bool:
        kind = type_of(event)
        # A long answer has events that only keep its connection open.
        return kind == "keepalive" or (kind.startswith("response.") and kind != "response.failed")

    def skips(self, event: Any) -> bool:
        """Returns whether an event, which no reader accepts, is a new one of the stream that is read; it adds nothing."""
        return self._origin == origin(event) and type_of(event) != "" and get(event, "sequence_number") is not None

    def add(self, event: Any) -> None:
        kind, item = type_of(event), get(event, "item")
        if kind != "keepalive":
            self._origin = origin(event)
        key = get(event, "output_index")
        if kind == "response.created":
            self._told.clear()
            self._places.clear()
        elif DELTAS.get(kind) == "text":
            part = (key, get(event, "content_index"))
            self._told.add(part)
            self._answer.text("text", get(event, "delta"), part)
        elif kind in DELTAS:
            summary = get(event, "summary_index")
            self._think(key, get(event, "content_index") if summary is None else summary, get(event, "delta"))
        elif kind in INPUTS:
            self._answer.more_input(key, get(event, "delta"))
        elif kind == "response.output_text.annotation.added":
            self._annotate((key, get(event, "content_index")), get(event, "annotation"))
        elif kind == "response.output_item.added" and type_of(item) in CALLS:
            self._begin_call(key, item)
        elif kind == "response.output_item.done":
            self._end_item(key, item)

    def end(self) -> None:
        pass

    def _think(self, key: Any, place: Any, text: Any) -> None:
        if self._places.setdefault(key, place) != place:
            # One item is one reasoning, because its encrypted content is that of all its parts.
            self._places[key] = place
            self._answer.text("reasoning", "\n\n", key)
        self._answer.text("reasoning", text, key)

    def _annotate(self, part: tuple[Any, Any], annotation: Any) -> None:
        if self._answer.is_open("text", part):
            self._answer.append_mark("text", "openai", "annotations", plain(annotation), part)
        self._answer.source(annotation)

    def _begin_call(self, key: Any, item: Any) -> None:
        is_text = type_of(item) == "custom_tool_call"
        self._answer.begin_call(key, get(item, "call_id"), get(item, "name"), is_text=is_text)

    def _end_item(self, key: Any, item: Any) -> None:
        answer, kind = self._answer, type_of(item)
        if kind in CALLS:
            self._begin_call(key, item)
            answer.end_call(key, get(item, CALLS[kind]))
        elif kind == "reasoning":
            self._end_reasoning(key, item)
        elif kind == "message":
            self._end_message(key, item)
        elif kind == "image_generation_call" and words(item, "result"):
            media_type = f"image/{words(item, 'output_format') or 'png'}"
            answer.file(media_type, f"data:{media_type};base64,{get(item, 'result')}")
        else:
            answer.data("openai", item)

    def _end_message(self, key: Any, item: Any) -> None:
        for place, part in enumerate(items(item, "content")):
            if (key, place) in self._told:
                continue
            said = words(part, "text", "refusal", "transcript")
            if said is None and type_of(part) not in ("output_text", "refusal"):
                self._answer.data("openai", part)
            self._answer.text("text", said, (key, place))
            for annotation in items(part, "annotations"):
                self._annotate((key, place), annotation)
        self._answer.close()

    def _end_reasoning(self, key: Any, item: Any) -> None:
        if key not in self._places:
            for name in ("summary", "content"):
                for place, part in enumerate(items(item, name)):
                    self._think(key, (name, place), get(part, "text"))
        own = {"itemId": get(item, "id"), "reasoningEncryptedContent": get(item, "encrypted_content")}
        self._answer.mark("reasoning", "openai", key, **own)
        self._answer.close()
