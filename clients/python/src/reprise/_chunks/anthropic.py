from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .answer import Answer, Metadata
from .fields import get, items, origin, plain, type_of, words

#: Events that have no content of the answer.
SILENT = frozenset({"message_start", "message_delta", "message_stop", "ping"})
BLOCKS = frozenset({"content_block_start", "content_block_delta", "content_block_stop"})
#: Events of ``client.messages.stream``, which say again what the events of the blocks say.
DERIVED = frozenset({"compaction", "text", "thinking", "signature", "citation", "input_json"})
#: The blocks of calls that Anthropic runs itself.
SERVER_CALLS = frozenset({"server_tool_use", "mcp_tool_use"})


@dataclass
class OpenBlock:
    """A block that has begun."""

    kind: str
    #: One that is kept as it is, and the deltas that are not added to it.
    own: dict[str, Any] = field(default_factory=dict[str, Any])
    deltas: list[Any] = field(default_factory=list[Any])


class Anthropic:
    """Reads the events of Anthropic's messages, and those that its SDK adds."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._blocks: dict[Any, OpenBlock] = {}
        self._has_blocks = False
        #: The package that has the events, when the first one has come.
        self._origin: str | None = None

    def accepts(self, event: Any) -> bool:
        kind = type_of(event)
        if kind in BLOCKS or kind in SILENT:
            return True
        # Without the events of the blocks these would lose the calls.
        return self._has_blocks and kind in DERIVED

    def skips(self, event: Any) -> bool:
        """Returns whether an event, which no reader accepts, is a new one of the stream that is read; it adds nothing."""
        kind = type_of(event)
        # A whole message, or an event that only says a text again, may be all that there is of the answer.
        return self._origin == origin(event) and kind not in DERIVED and kind not in ("", "message")

    def add(self, event: Any) -> None:
        kind, index = type_of(event), get(event, "index") or 0
        if kind != "ping":
            self._origin = origin(event)
        if kind == "content_block_start":
            self._has_blocks = True
            self._start(index, get(event, "content_block"))
        elif kind == "content_block_delta":
            self._has_blocks = True
            self._delta(index, get(event, "delta"))
        elif kind == "content_block_stop":
            self._stop(index)

    def end(self) -> None:
        for index in list(self._blocks):
            self._stop(index)

    def _start(self, index: int, block: Any) -> None:
        answer, kind = self._answer, type_of(block)
        answer.close()
        self._blocks[index] = OpenBlock(kind)
        if kind == "text":
            answer.text("text", get(block, "text"))
            for citation in items(block, "citations"):
                self.cite(citation)
        elif kind == "thinking":
            answer.text("reasoning", get(block, "thinking"))
            answer.mark("reasoning", "anthropic", signature=get(block, "signature"))
        elif kind == "redacted_thinking":
            answer.mark("reasoning", "anthropic", redactedData=get(block, "data"))
        elif kind == "tool_use" or kind in SERVER_CALLS:
            self._call(index, kind, block)
        elif words(block, "tool_use_id"):
            self.result(block)
        else:
            self._blocks[index].own = plain(block)

    def _delta(self, index: int, delta: Any) -> None:
        answer, kind = self._answer, type_of(delta)
        if kind == "text_delta":
            answer.text("text", get(delta, "text"))
        elif kind == "thinking_delta":
            answer.text("reasoning", get(delta, "thinking"))
        elif kind == "signature_delta":
            answer.mark("reasoning", "anthropic", signature=get(delta, "signature"))
        elif kind == "citations_delta":
            self.cite(get(delta, "citation"))
        elif kind == "input_json_delta":
            answer.more_input(index, get(delta, "partial_json"))
        else:
            block = self._blocks.setdefault(index, OpenBlock("unknown"))
            if kind == "compaction_delta":
                block.own.update((name, value) for name, value in plain(delta).items() if name != "type")
            else:
                block.deltas.append(plain(delta))

    def _stop(self, index: int) -> None:
        block = self._blocks.pop(index, None)
        self._answer.close()
        self._answer.end_call(index)
        if block is not None and (block.own or block.deltas):
            self._answer.data("anthropic", {**block.own, **({"deltas": block.deltas} if block.deltas else {})})

    def _call(self, index: int, kind: str, block: Any) -> None:
        call_id, name = get(block, "id"), get(block, "name")
        own: dict[str, Any] = {}
        fields: dict[str, Any] = {}
        if kind in SERVER_CALLS:
            own["type"] = kind
            fields["providerExecuted"] = True
        for given, kept in (("caller", "caller"), ("server_name", "serverName")):
            if value := get(block, given):
                own[kept] = plain(value)
        if own:
            fields["providerMetadata"] = {"anthropic": own}
        self._answer.begin_call(index, call_id, name, **fields)
        if given := plain(get(block, "input")):
            self._answer.more_input(index, given)

    def result(self, block: Any) -> None:
        """Adds the block of the result of a call that Anthropic has run."""
        kind = type_of(block)
        call_id, content = str(get(block, "tool_use_id")), plain(get(block, "content"))
        name = self._answer.name_of(call_id)
        if name is None:
            # The call is in the answer before, which was paused. A result without a call in its own answer has no input, which
            # other dialects would give back as one that the model never wrote.
            name = kind.removesuffix("_tool_result")
            self._answer.whole_call(call_id, name, {}, providerExecuted=True)
        is_error = bool(get(block, "is_error")) or type_of(content).endswith("_error")
        own: dict[str, Any] = {"type": kind}
        if caller := get(block, "caller"):
            own["caller"] = plain(caller)
        metadata: Metadata = {"anthropic": own}
        self._answer.result(call_id, name, content, is_error=is_error, metadata=metadata)

    def cite(self, citation: Any) -> None:
        """Adds a citation to the text that is open."""
        self._answer.append_mark("text", "anthropic", "citations", plain(citation))
        self._answer.source(citation)
