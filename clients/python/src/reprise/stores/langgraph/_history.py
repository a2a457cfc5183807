"""The checkpoints of one thread and namespace, as a list of records to which records are only ever added.

A checkpoint names the value of each of its channels by number; values are numbered as they come. A list is stored as "the
first n elements of an earlier list, and these": a conversation that grows is stored once, not once for each checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import ormsgpack

#: What the serializer of LangGraph makes of a value: the name of a format, and bytes.
Typed: TypeAlias = tuple[str, bytes]
Version: TypeAlias = str | int | float
CHECKPOINT, WRITES = "c", "w"


@dataclass(frozen=True)
class Whole:
    """A value that is stored by itself."""

    channel: str
    version: Version
    typed: Typed


@dataclass
class Elements:
    """A list that begins with the first ``kept`` elements of another one."""

    channel: str
    version: Version
    base: Elements | None
    kept: int
    own: list[Typed]
    #: All elements, of a list on which no other one is based yet.
    known: list[Typed] | None = None

    def all(self) -> list[Typed]:
        """Returns the elements of the list; they must not be changed."""
        if self.known is not None:
            return self.known
        parts: list[list[Typed]] = []
        node: Elements | None = self
        wanted = self.kept + len(self.own)
        while node is not None and wanted > 0:
            parts.append(node.own[: max(0, wanted - node.kept)])
            wanted = min(wanted, node.kept)
            node = node.base
        return [element for part in reversed(parts) for element in part]


Value: TypeAlias = Whole | Elements
#: A value that is not stored yet: a list has the serialized form of each element.
Content: TypeAlias = Typed | list[Typed]


@dataclass(frozen=True)
class Saved:
    """A stored checkpoint; its values are numbers."""

    id: str
    parent: str | None
    checkpoint: Typed
    metadata: Typed
    values: Mapping[str, int]


@dataclass(frozen=True)
class Write:
    """A pending write of a task."""

    task_id: str
    index: int
    channel: str
    typed: Typed
    task_path: str


@dataclass(frozen=True)
class NewCheckpoint:
    """A checkpoint that is to be stored."""

    id: str
    parent: str | None
    checkpoint: Typed
    metadata: Typed
    versions: Mapping[str, Version]
    #: The channels that changed; ``None`` for one that is empty now.
    changed: Mapping[str, Content | None]
    #: Serializes a channel that did not change, if its version is not stored; ``None`` if it is empty.
    unchanged: Callable[[str], Content | None]


@dataclass
class History:
    """What the records say so far."""

    values: list[Value] = field(default_factory=list[Value])
    checkpoints: dict[str, Saved] = field(default_factory=dict[str, Saved])
    _writes: dict[str, dict[tuple[str, int], Write]] = field(default_factory=dict[str, dict[tuple[str, int], Write]])
    _by_version: dict[tuple[str, Version], int] = field(default_factory=dict[tuple[str, Version], int])
    _newest: dict[str, int] = field(default_factory=dict[str, int])

    def writes(self, checkpoint_id: str) -> list[Write]:
        """Returns the pending writes of a checkpoint in the order in which LangGraph applies them."""
        found = self._writes.get(checkpoint_id, {}).values()
        return sorted(found, key=lambda write: (write.task_path, write.task_id, write.index))

    def ancestors(self, checkpoint_id: str) -> Iterator[Saved]:
        """Yields the parent of a checkpoint, its parent, and so on."""
        saved = self.checkpoints.get(checkpoint_id)
        while saved is not None and saved.parent is not None:
            saved = self.checkpoints.get(saved.parent)
            if saved is not None:
                yield saved

    def back_to_value(self, checkpoint_id: str, channel: str) -> Iterator[Saved]:
        """Yields the ancestors up to the first that has a value of a channel; none if the checkpoint has one itself."""
        saved = self.checkpoints.get(checkpoint_id)
        ancestors = self.ancestors(checkpoint_id)
        while saved is not None and channel not in saved.values:
            saved = next(ancestors, None)
            if saved is not None:
                yield saved

    def way(self, checkpoint_id: str, channel: str) -> tuple[list[Write], Value | None]:
        """Returns the writes to a channel on the way to a checkpoint, the oldest first, and the value to which they apply."""
        newest_first: list[Write] = []
        for saved in self.ancestors(checkpoint_id):
            newest_first += [write for write in reversed(self.writes(saved.id)) if write.channel == channel]
            if channel in saved.values:
                return newest_first[::-1], self.values[saved.values[channel]]
        return newest_first[::-1], None

    # Records

    def record(self, new: NewCheckpoint) -> bytes:
        """Returns the record of a checkpoint, which fits to the records so far."""
        known: dict[str, int] = {}
        contents: list[tuple[str, Version, Content]] = []
        for channel, version in new.versions.items():
            number = self._by_version.get((channel, version))
            if channel in new.changed:
                content = new.changed[channel]
            elif number is not None:
                known[channel] = number
                continue
            else:
                content = new.unchanged(channel)
            if content is not None:
                contents.append((channel, version, content))
        return self._record(new.id, new.parent, new.checkpoint, new.metadata, known, contents)

    def _record(
        self,
        checkpoint_id: str,
        parent: str | None,
        checkpoint: Typed,
        metadata: Typed,
        known: dict[str, int],
        contents: list[tuple[str, Version, Content]],
    ) -> bytes:
        values = [self._packed(parent, channel, version, content) for channel, version, content in contents]
        return ormsgpack.packb([CHECKPOINT, checkpoint_id, parent, *checkpoint, *metadata, known, values])

    def _packed(self, parent: str | None, channel: str, version: Version, content: Content) -> list[Any]:
        if isinstance(content, tuple):
            return [channel, version, *content]
        saved = self.checkpoints.get(parent or "")
        number = saved.values.get(channel) if saved else self._newest.get(channel)
        base = None if number is None else self.values[number]
        kept = common(base.all(), content) if isinstance(base, Elements) else 0
        own = [part for element in content[kept:] for part in element]
        return [channel, version, number if kept else None, kept, own]

    def apply(self, record: bytes) -> None:
        """Takes a record in."""
        kind, *fields = ormsgpack.unpackb(record)
        if kind == CHECKPOINT:
            self._apply_checkpoint(*fields)
        elif kind == WRITES:
            self._apply_writes(*fields)
        else:
            raise ValueError(f"a newer version of the client wrote a record of the kind {kind!r}")

    def _apply_checkpoint(
        self,
        checkpoint_id: str,
        parent: str | None,
        checkpoint_type: str,
        checkpoint: bytes,
        metadata_type: str,
        metadata: bytes,
        known: dict[str, int],
        values: list[list[Any]],
    ) -> None:
        bound = dict(known)
        for channel, version, *content in values:
            bound[channel] = self._newest[channel] = self._by_version[channel, version] = len(self.values)
            self.values.append(self._unpacked(channel, version, content))
        typed = (checkpoint_type, checkpoint), (metadata_type, metadata)
        self.checkpoints[checkpoint_id] = Saved(checkpoint_id, parent, *typed, bound)

    def _unpacked(self, channel: str, version: Version, content: list[Any]) -> Value:
        if len(content) == 2:
            return Whole(channel, version, (content[0], content[1]))
        number: int | None
        kept: int
        own: list[Any]
        number, kept, own = content
        base: Value | None = None if number is None else self.values[number]
        assert base is None or isinstance(base, Elements)
        new: list[Typed] = list(zip(own[::2], own[1::2], strict=True))
        value = Elements(channel, version, base, kept, new, new if base is None else base.all()[:kept] + new)
        if base is not None:
            base.known = None
        return value

    def _apply_writes(self, checkpoint_id: str, task_id: str, task_path: str, writes: list[Any]) -> None:
        stored = self._writes.setdefault(checkpoint_id, {})
        for index, channel, kind, data in writes:
            # The first write of a task counts; special ones, which have negative numbers, are replaced.
            if index < 0 or (task_id, index) not in stored:
                stored[task_id, index] = Write(task_id, index, channel, (kind, data), task_path)

    def without(self, removed: Collection[str]) -> list[bytes]:
        """Returns the records of a history that lacks some checkpoints and their writes."""
        new = History()
        numbers: dict[int, int] = {}
        records: list[bytes] = []
        for saved in self.checkpoints.values():
            if saved.id in removed:
                continue
            stored = {channel: numbers[number] for channel, number in saved.values.items() if number in numbers}
            fresh = [number for number in saved.values.values() if number not in numbers]
            contents = [(value.channel, value.version, content_of(value)) for value in (self.values[n] for n in fresh)]
            numbers |= {number: len(new.values) + place for place, number in enumerate(fresh)}
            records.append(new._record(saved.id, saved.parent, saved.checkpoint, saved.metadata, stored, contents))
            new.apply(records[-1])
        for checkpoint_id in self._writes:
            if checkpoint_id not in removed:
                records += [writes_record(checkpoint_id, [write]) for write in self.writes(checkpoint_id)]
        return records


def writes_record(checkpoint_id: str, writes: list[Write]) -> bytes:
    """Returns the record of pending writes of one task."""
    packed = [[write.index, write.channel, *write.typed] for write in writes]
    return ormsgpack.packb([WRITES, checkpoint_id, writes[0].task_id, writes[0].task_path, packed])


def content_of(value: Value) -> Content:
    """Returns the content of a value, independent of other values."""
    return value.typed if isinstance(value, Whole) else value.all()


def common(stored: list[Typed], new: list[Typed]) -> int:
    """Returns how many elements two lists begin with in common."""
    count = 0
    for left, right in zip(stored, new, strict=False):
        if left != right:
            break
        count += 1
    return count
