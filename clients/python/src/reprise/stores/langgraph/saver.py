from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from secrets import token_hex
from typing import Any, TypeVar, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    get_checkpoint_id,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from ..._sync.client import Reprise
from ...errors import PreconditionFailed
from .._clients import checked_client
from .._paths import join, name_of
from ._history import Content, History, NewCheckpoint, Saved, Value, Write, writes_record
from ._log import Log, Logs
from ._tuples import Decoder, Found, Place, SharingDecoder, configurable, place_of

MAX_THREADS = 32
T = TypeVar("T")


class RepriseSaver(BaseCheckpointSaver[str]):
    """Keeps the checkpoints of each thread and namespace as one document, to which each write is appended.

    A list that grows, such as the messages of a conversation, is stored once: a checkpoint stores the elements that are new.
    The documents that were used last stay in memory in serialized form, and every read asks the service for what is new.
    Several processes may write to one thread; nothing is lost. A write is stored when its call returns. A pending write waits
    up to 5 ms for the checkpoint that mostly follows it, so that both are one request.

    What it does not do: one checkpoint holds at most 8 MiB of new values, and the checkpoints of one thread and namespace at
    most 1 GiB. What :meth:`prune` and :meth:`delete_for_runs` keep of a namespace has at most 8 MiB. The latter reads every
    thread. The tuples of one :meth:`list` share the elements of their lists; do not change them in place. A serializer whose
    output differs each time, such as one that encrypts, makes lists be stored whole. The asynchronous methods run the others
    in threads. ``thread_id`` has at most 256 bytes, as has each of up to 29 parts of ``checkpoint_ns``. Together
    with ``prefix``, they have at most 1,024 bytes, in which a ``/``, a ``%`` or a control character counts as 3. The name of a
    nested subgraph has some 60 bytes.

    :param client: the client of the app; the caller closes it
    :param prefix: the namespace of the documents
    :param serde: the serializer; by default that of LangGraph, without pickle
    :param max_cached_bytes: how many bytes of documents stay in memory
    """

    def __init__(
        self,
        client: Reprise,
        *,
        prefix: str = "langgraph-checkpoints",
        serde: SerializerProtocol | None = None,
        max_cached_bytes: int = 64 * 1024 * 1024,
    ) -> None:
        super().__init__(serde=serde)
        self._prefix = prefix
        self._logs = Logs(checked_client(client, Reprise).documents, max_cached_bytes)
        #: The threads of the asynchronous methods, and the process that has them.
        self._threads: tuple[int, ThreadPoolExecutor] | None = None

    # Reading

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Returns a checkpoint with its pending writes; the newest one unless the config names one."""
        place = place_of(config)
        wanted = get_checkpoint_id(config)

        def extract(history: History) -> Found | None:
            saved = history.checkpoints.get(wanted or max(history.checkpoints, default=""))
            return None if saved is None else Found.of(history, saved)

        found = self._log(place).read(extract)
        return None if found is None else self._tuple(place, found, Decoder(self.serde))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Yields checkpoints, the newest of a namespace first; without a config, those of all threads."""
        wanted = get_checkpoint_id(config) if config else None
        until = get_checkpoint_id(before) if before else None
        decoder = SharingDecoder(self.serde)
        count = 0

        def extract(history: History) -> list[Found]:
            ids = (each for each in history.checkpoints if wanted in (None, each) and (until is None or each < until))
            return [Found.of(history, history.checkpoints[each]) for each in sorted(ids, reverse=True)]

        for place in self._places(config):
            for found in self._log(place).read(extract):
                if limit is not None and count >= limit:
                    return
                metadata = self.serde.loads_typed(found.saved.metadata)
                if all(metadata.get(key) == value for key, value in (filter or {}).items()):
                    count += 1
                    yield self._tuple(place, found, decoder, metadata)

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Returns what each channel had and was given on the way to a checkpoint."""
        wanted = get_checkpoint_id(config)

        def extract(history: History) -> dict[str, tuple[list[Write], Value | None]]:
            return {channel: history.way(wanted or max(history.checkpoints, default=""), channel) for channel in channels}

        found = self._log(place_of(config)).read(extract)
        decoder = Decoder(self.serde)
        result: dict[str, DeltaChannelHistory] = {}
        for channel, (writes, seed) in found.items():
            result[channel] = {"writes": [decoder.write(write) for write in writes]}
            if seed is not None:
                result[channel]["seed"] = decoder.value(seed)
        return result

    # Writing

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Stores a checkpoint, of its values those that are new."""
        place = place_of(config)
        values = checkpoint["channel_values"]

        def content(channel: str) -> Content | None:
            return self._content(values[channel]) if channel in values else None

        new = NewCheckpoint(
            id=checkpoint["id"],
            parent=get_checkpoint_id(config),
            checkpoint=self.serde.dumps_typed({key: value for key, value in checkpoint.items() if key != "channel_values"}),
            metadata=self.serde.dumps_typed(get_checkpoint_metadata(config, metadata)),
            versions=checkpoint["channel_versions"],
            changed={channel: content(channel) for channel in new_versions},
            unchanged=content,
        )
        self._log(place).append(lambda history: history.record(new), is_dependent=True)
        return place.config(new.id)

    def put_writes(self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = "") -> None:
        """Stores what a task has written, until the next checkpoint has it."""
        new = [
            Write(task_id, WRITES_IDX_MAP.get(channel, index), channel, self.serde.dumps_typed(value), task_path)
            for index, (channel, value) in enumerate(writes)
        ]
        if new:
            record = writes_record(configurable(config)["checkpoint_id"], new)
            self._log(place_of(config)).append(lambda _: record, is_dependent=False)

    def delete_thread(self, thread_id: str) -> None:
        """Deletes all checkpoints of a thread."""
        self._logs.delete_all(self._namespace(thread_id))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Deletes the checkpoints of runs with their writes, whatever thread they belong to. It reads every thread.

        A channel that stores differences loses what these runs gave to it.
        """
        wanted = set(run_ids)

        def choose(history: History) -> set[str]:
            return {each.id for each in history.checkpoints.values() if self._metadata(each).get("run_id") in wanted}

        for place in self._places(None) if wanted else ():
            self._log(place).replace(choose)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copies all checkpoints of a thread to a thread that has none; otherwise raises :class:`ValueError`.

        Each namespace is copied in a write of its own, and one of more than 8 MiB in several. After an error, repeat the call:
        it goes on where it was.
        """
        source, target = self._namespace(source_thread_id), self._namespace(target_thread_id)
        for path in self._logs.below(source):
            try:
                self._logs.get(path).copy_to(target + path.removeprefix(source))
            except PreconditionFailed as error:
                raise ValueError(f"the thread {target_thread_id} has checkpoints already") from error

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Removes the checkpoints of threads: all (``delete``), or all but the newest one of each namespace.

        With ``keep_latest``, a checkpoint also stays if a channel that stores differences needs it.
        """
        if strategy not in ("keep_latest", "delete"):
            raise ValueError(f"the strategy is keep_latest or delete, not {strategy}")
        for thread_id in thread_ids:
            if strategy == "delete":
                self.delete_thread(thread_id)
            else:
                for path in self._logs.below(self._namespace(thread_id)):
                    self._logs.get(path).replace(self._outdated)

    def get_next_version(self, current: str | None, channel: None) -> str:
        """Returns a version that is greater, and that no other branch of the thread has."""
        number = int(str(current).split(".")[0]) + 1 if current else 1
        return f"{number:010}.{token_hex(4)}"

    # With asyncio

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Runs :meth:`get_tuple` in a thread."""
        return await self._run(self.get_tuple, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Runs :meth:`list` in a thread."""
        listed = self.list(config, filter=filter, before=before, limit=limit)
        for found in await self._run(tuple[CheckpointTuple, ...], listed):
            yield found

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Runs :meth:`get_delta_channel_history` in a thread."""
        return await self._run(partial(self.get_delta_channel_history, config=config, channels=channels))

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Runs :meth:`put` in a thread."""
        return await self._run(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Runs :meth:`put_writes` in a thread."""
        await self._run(self.put_writes, config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """Runs :meth:`delete_thread` in a thread."""
        await self._run(self.delete_thread, thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Runs :meth:`delete_for_runs` in a thread."""
        await self._run(self.delete_for_runs, run_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Runs :meth:`copy_thread` in a thread."""
        await self._run(self.copy_thread, source_thread_id, target_thread_id)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Runs :meth:`prune` in a thread."""
        await self._run(partial(self.prune, thread_ids, strategy=strategy))

    async def _run(self, call: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._executor(), partial(call, *arguments))

    def _executor(self) -> ThreadPoolExecutor:
        """Returns the threads of this process: a process that was forked has none of those that its parent started."""
        process = os.getpid()
        if self._threads is None or self._threads[0] != process:
            self._threads = process, ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="reprise-saver")
        return self._threads[1]

    # Places

    def _namespace(self, thread_id: str) -> str:
        return f"{self._prefix}/{join(str(thread_id))}"

    def _log(self, place: Place) -> Log:
        return self._logs.get(f"{self._namespace(place.thread_id)}/{join(*place.checkpoint_ns.split('|'))}")

    def _places(self, config: RunnableConfig | None) -> Iterator[Place]:
        """Yields the places that a config means: one, those of a thread, or all."""
        if config is not None and "checkpoint_ns" in configurable(config):
            yield place_of(config)
            return
        namespace = self._prefix if config is None else self._namespace(configurable(config)["thread_id"])
        for path in self._logs.below(namespace):
            thread_id, *parts = map(name_of, path.removeprefix(f"{self._prefix}/").split("/"))
            yield Place(thread_id, "|".join(parts))

    # Content

    def _content(self, value: Any) -> Content:
        # Numbers are smaller together.
        if isinstance(value, list) and value and not isinstance(value[0], (int, float)):
            return [self.serde.dumps_typed(element) for element in cast("Sequence[Any]", value)]
        return self.serde.dumps_typed(value)

    def _metadata(self, saved: Saved) -> CheckpointMetadata:
        return cast("CheckpointMetadata", self.serde.loads_typed(saved.metadata))

    def _tuple(
        self, place: Place, found: Found, decoder: Decoder, metadata: CheckpointMetadata | None = None
    ) -> CheckpointTuple:
        saved = found.saved
        values = {channel: decoder.value(value) for channel, value in found.values.items()}
        return CheckpointTuple(
            config=place.config(saved.id),
            checkpoint=cast("Checkpoint", {**self.serde.loads_typed(saved.checkpoint), "channel_values": values}),
            metadata=metadata or self._metadata(saved),
            parent_config=place.config(saved.parent) if saved.parent else None,
            pending_writes=[decoder.write(write) for write in found.writes],
        )

    def _outdated(self, history: History) -> set[str]:
        """Returns the checkpoints that the newest one does not need."""
        if not history.checkpoints:
            return set()
        newest = history.checkpoints[max(history.checkpoints)]
        needed = {newest.id}
        for channel in self._metadata(newest).get("counters_since_delta_snapshot", {}):
            needed |= {saved.id for saved in history.back_to_value(newest.id, channel)}
        return set(history.checkpoints) - needed
