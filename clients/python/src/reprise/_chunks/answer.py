"""An answer, written as chunks of the AI SDK."""

from __future__ import annotations

import json
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from . import arguments
from .fields import get, plain, words
from .surrogates import REPLACEMENT, whole, whole_and_half, whole_texts

#: What its provider needs again, by the name of the provider.
Metadata = dict[str, dict[str, Any]]


@dataclass
class OpenText:
    """A text or a reasoning to which more may be added."""

    kind: str
    text_id: str
    #: Which part of the event's answer it is.
    part: Hashable
    #: The first surrogate of a pair, whose second one may follow.
    half: str = ""
    metadata: Metadata = field(default_factory=dict[str, dict[str, Any]])


@dataclass
class OpenCall:
    """A call whose input is not complete."""

    call_id: str
    name: str | None
    #: Further fields of each of its chunks.
    fields: dict[str, Any]
    texts: list[str] = field(default_factory=list[str])
    half: str = ""
    has_begun: bool = False
    #: Whether the input is a text, and no JSON.
    is_text: bool = False
    #: The id that the provider gives it; some give none.
    given_id: Any = None
    #: Whether the completion that makes it has ended; the next one may use its key and its id again.
    is_of_ended_completion: bool = False

    def is_another(self, call_id: Any, name: Any, more: Any) -> bool:
        """Tells whether an event with this id and name, and with so much more of the input, is of another call."""
        if self.is_of_ended_completion:
            return bool(call_id or name)
        if call_id and self.given_id:
            return self.has_begun and self.given_id != call_id
        # A provider that gives no ids names each call, and says all of a call at once.
        if not (self.has_begun and self.texts and name):
            return False
        return name != self.name or (not _is_blank(more) and self._is_whole())

    def _is_whole(self) -> bool:
        return not self.is_text and arguments.is_whole("".join(self.texts))


class Answer:
    """The chunks of one message of the assistant, which the service assembles."""

    def __init__(self, message_id: str) -> None:
        self.message_id = message_id
        self._chunks: list[dict[str, Any]] = []
        self._has_begun = False
        self._open: OpenText | None = None
        self._texts = self._sources = self._unnamed = 0
        self._calls: dict[Hashable, OpenCall] = {}
        self._call_ids: set[str] = set()
        #: By the id that the provider gives them, the names of all calls.
        self._names: dict[str, str] = {}
        #: By the id that the provider gives them, the ids of the calls whose results have not come.
        self._waiting: dict[str, list[str]] = {}

    def take(self) -> list[dict[str, Any]]:
        """Returns the chunks that were added since the last time."""
        chunks, self._chunks = self._chunks, []
        # Providers cut texts of other pages as well, such as the title of a citation.
        return [whole_texts(chunk) for chunk in chunks]

    def pass_on(self, chunk: dict[str, Any]) -> None:
        """Adds a chunk of the caller, whose message has its own id."""
        self._has_begun = True
        if "input" in chunk:
            chunk = {**chunk, "input": arguments.stored(chunk["input"])}
        self._chunks.append(chunk)

    def add(self, kind: str, **fields: Any) -> None:
        """Adds a chunk."""
        if not self._has_begun:
            self._has_begun = True
            self._chunks.append({"type": "start", "messageId": self.message_id})
        self._chunks.append({"type": kind, **fields})

    def text(self, kind: str, text: Any, part: Hashable = None) -> None:
        """Adds to the ``text`` or ``reasoning`` that is open, or to a new one if that is of another kind or part."""
        if text is None or text == "":
            return
        if not isinstance(text, str):
            raise TypeError(f"the {kind} of an event is a str, not a {type(text).__qualname__}")
        begun = self._begun(kind, part)
        text, begun.half = whole_and_half(begun.half + text)
        if text:
            self.add(f"{kind}-delta", id=begun.text_id, delta=text)

    def mark(self, kind: str, provider: str, part: Hashable = None, **fields: Any) -> None:
        """Adds what a provider needs again to the ``text`` or ``reasoning`` that is open, or to a new, empty one."""
        fields = {name: value for name, value in fields.items() if value}
        if fields:
            self._begun(kind, part).metadata.setdefault(provider, {}).update(fields)

    def append_mark(self, kind: str, provider: str, name: str, value: Any, part: Hashable = None) -> None:
        """Adds to a list of what a provider needs again."""
        self._begun(kind, part).metadata.setdefault(provider, {}).setdefault(name, []).append(value)

    def is_open(self, kind: str, part: Hashable = None) -> bool:
        """Returns whether a text or reasoning of this part is open."""
        return self._open is not None and (self._open.kind, self._open.part) == (kind, part)

    def close(self) -> None:
        """Ends the text or reasoning that is open."""
        if self._open is not None:
            ended, self._open = self._open, None
            if ended.half:
                self.add(f"{ended.kind}-delta", id=ended.text_id, delta=REPLACEMENT)
            metadata = {"providerMetadata": ended.metadata} if ended.metadata else {}
            self.add(f"{ended.kind}-end", id=ended.text_id, **metadata)

    def begin_call(
        self, key: Hashable, call_id: Any, name: Any, *, more: Any = None, is_text: bool = False, **fields: Any
    ) -> None:
        """Begins a call, or tells more of one that has begun; one with another id is another call.

        ``more`` is added to its input, and tells apart calls that have no ids.
        """
        call = self._calls.get(key)
        if call is not None and call.is_another(call_id, name, more):
            self.end_call(key)
            call = None
        if call is None:
            self.close()
            self._unnamed += 1
            call = OpenCall(f"{self.message_id}-{self._unnamed}", None, {})
            self._calls[key] = call
        if not call.has_begun:
            call.call_id, call.name = str(call_id or call.call_id), name or call.name
            call.given_id = call_id or call.given_id
        call.is_text = call.is_text or is_text
        call.fields.update(fields)
        if call.name and not call.has_begun:
            self._start(call)
        self.more_input(key, more)

    def more_input(self, key: Hashable, text: Any) -> None:
        """Adds to the input of a call."""
        if text is None or text == "":
            return
        call = self._calls.get(key)
        if call is None:
            raise ValueError(f"an event has input for the call {key!r}, which no event before it began")
        if not isinstance(text, str):
            # Some compatible providers have the arguments as an object.
            text = json.dumps(plain(text))
        text, call.half = whole_and_half(call.half + text)
        call.texts.append(text)
        if text and call.has_begun:
            self.add("tool-input-delta", toolCallId=call.call_id, inputTextDelta=text)

    def end_call(self, key: Hashable, text: Any = None) -> None:
        """Ends the input of a call: the text of it, or else that which has come."""
        call = self._calls.pop(key, None)
        if call is None:
            return
        self.close()
        if not call.has_begun:
            call.name = "tool"
            self._start(call)
        text = whole(text if isinstance(text, str) else "".join(call.texts) + call.half)
        given = text if call.is_text else arguments.read(text)
        self.add("tool-input-available", toolCallId=call.call_id, toolName=call.name, input=given, **call.fields)

    def end_run_call(self, call_id: str, **fields: Any) -> None:
        """Ends the input of a call whose result has come, if it is open."""
        key = next((key for key, call in self._calls.items() if call.given_id == call_id), None)
        if key is not None:
            self._calls[key].fields.update(fields)
            self.end_call(key)

    def name_of(self, call_id: str) -> str | None:
        """Returns the name of a call that the answer has."""
        return self._names.get(call_id)

    def end_completion(self) -> None:
        """Says that the calls which have begun are those of a completion that has ended."""
        for call in self._calls.values():
            call.is_of_ended_completion = True

    def whole_call(self, call_id: Any, name: Any, given: Any, **fields: Any) -> str:
        """Adds a call whose input is complete; returns its id."""
        key = object()
        self.begin_call(key, call_id, name or "tool", **fields)
        call = self._calls.pop(key)
        given = arguments.stored(plain(given or {}))
        self.add("tool-input-available", toolCallId=call.call_id, toolName=call.name, input=given, **fields)
        return call.call_id

    def result(self, call_id: str, name: str, output: Any, *, is_error: bool = False, metadata: Metadata | None = None) -> None:
        """Adds the result of a call that the provider has run itself."""
        if waiting := self._waiting.get(call_id):
            call_id = waiting.pop(0)
        fields: dict[str, Any] = {"toolCallId": call_id, "toolName": name, "providerExecuted": True}
        if metadata:
            fields["providerMetadata"] = metadata
        if is_error:
            self.add("tool-output-error", **fields, errorText=output if isinstance(output, str) else json.dumps(output))
        else:
            self.add("tool-output-available", **fields, output=output)

    def source(self, of: Any) -> None:
        """Adds a source that has a URL; one without it is none."""
        url, title = words(of, "url", "uri"), words(of, "title")
        if url:
            self._sources += 1
            self.add("source-url", sourceId=f"source-{self._sources}", url=url, **({"title": title} if title else {}))

    def file(self, media_type: str, url: str) -> None:
        """Adds a file, an image or a sound."""
        self.close()
        self.add("file", mediaType=media_type, url=url)

    def data(self, provider: str, data: Any) -> None:
        """Adds something that only a provider has, as it is."""
        self.close()
        self.add(f"data-{provider}", data=plain(data))

    def end(self) -> None:
        """Ends what is open."""
        self.close()
        for key in list(self._calls):
            self.end_call(key)

    def _start(self, call: OpenCall) -> None:
        call.has_begun = True
        self._names[call.call_id] = str(call.name)
        call.call_id = self._unique(call.call_id)
        self.add("tool-input-start", toolCallId=call.call_id, toolName=call.name, **call.fields)
        for text in call.texts:
            self.add("tool-input-delta", toolCallId=call.call_id, inputTextDelta=text)

    def _unique(self, given_id: str) -> str:
        """Returns the id of a call that no other call of the answer has: the one it is given, or with a number after it."""
        call_id, number = given_id, 1
        while call_id in self._call_ids:
            number += 1
            call_id = f"{given_id}_{number}"
        self._call_ids.add(call_id)
        self._waiting.setdefault(given_id, []).append(call_id)
        return call_id

    def _begun(self, kind: str, part: Hashable) -> OpenText:
        if self._open is None or (self._open.kind, self._open.part) != (kind, part):
            self.close()
            self._texts += 1
            self._open = OpenText(kind, f"{kind}-{self._texts}", part)
            self.add(f"{kind}-start", id=self._open.text_id)
        return self._open


def _is_blank(text: Any) -> bool:
    return text is None or (isinstance(text, str) and not text.strip())


def image_file(answer: Answer, image: Any) -> None:
    """Adds an image as ``image_url`` parts have it."""
    found = get(image, "image_url")
    url = found if isinstance(found, str) else words(found, "url")
    if url:
        is_inline = url.startswith("data:")
        answer.file(url[5:].partition(";")[0] if is_inline else "image/*", url)
    else:
        answer.data("openai", image)
