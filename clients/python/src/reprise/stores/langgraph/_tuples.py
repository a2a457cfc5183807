"""What LangGraph calls a place, and what it gets from there."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, NamedTuple

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ._history import History, Saved, Typed, Value, Whole, Write

#: The head of an array of msgpack.
ARRAY = struct.Struct(">BI")


class Place(NamedTuple):
    """A thread and a namespace in it."""

    thread_id: str
    checkpoint_ns: str

    def config(self, checkpoint_id: str) -> RunnableConfig:
        """Returns the config of a checkpoint here."""
        return {"configurable": {**self._asdict(), "checkpoint_id": checkpoint_id}}


@dataclass(frozen=True)
class Found:
    """A checkpoint with all that belongs to it, in serialized form."""

    saved: Saved
    values: dict[str, Value]
    writes: list[Write]

    @classmethod
    def of(cls, history: History, saved: Saved) -> Found:
        values = {channel: history.values[number] for channel, number in saved.values.items()}
        return cls(saved, values, history.writes(saved.id))


class Decoder:
    """Deserializes values."""

    def __init__(self, serde: SerializerProtocol) -> None:
        self._serde = serde
        self._is_msgpack = type(serde) is JsonPlusSerializer

    def value(self, value: Value) -> Any:
        """Returns the value of a channel."""
        if isinstance(value, Whole):
            return self._serde.loads_typed(value.typed)
        return self.elements(value.all())

    def elements(self, elements: list[Typed]) -> list[Any]:
        """Returns the elements of a list."""
        if self._is_msgpack and all(kind == "msgpack" for kind, _ in elements):
            # An array of msgpack is its length, and then its elements. One call is faster than many.
            content = b"".join((ARRAY.pack(0xDD, len(elements)), *(data for _, data in elements)))
            found: list[Any] = self._serde.loads_typed(("msgpack", content))
            return found
        return [self._serde.loads_typed(element) for element in elements]

    def write(self, write: Write) -> tuple[str, str, Any]:
        """Returns a pending write as LangGraph has it."""
        return write.task_id, write.channel, self._serde.loads_typed(write.typed)


class SharingDecoder(Decoder):
    """Deserializes an element that several lists share once."""

    def __init__(self, serde: SerializerProtocol) -> None:
        super().__init__(serde)
        #: By the identity of the serialized element, which is held so that no other one gets it.
        self._elements: dict[int, tuple[Typed, Any]] = {}

    def elements(self, elements: list[Typed]) -> list[Any]:
        """Returns the elements of a list."""
        return [self._element(element) for element in elements]

    def _element(self, element: Typed) -> Any:
        found = self._elements.get(id(element))
        if found is None:
            found = self._elements[id(element)] = (element, self._serde.loads_typed(element))
        return found[1]


def place_of(config: RunnableConfig) -> Place:
    """Returns the thread and namespace that a config names."""
    named = configurable(config)
    return Place(str(named["thread_id"]), named.get("checkpoint_ns", ""))


def configurable(config: RunnableConfig) -> dict[str, Any]:
    """Returns what a config names."""
    return config.get("configurable", {})
