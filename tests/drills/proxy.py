"""A proxy between a service and a mongod that delays, loses, resets and swallows what passes."""

from __future__ import annotations

import asyncio
import contextlib
import random
from dataclasses import dataclass, field

from processes import free_port

CHUNK_BYTES = 16_384


@dataclass
class Link:
    """One proxy. What it does may be changed at any time, and holds for open connections too."""

    target_port: int
    port: int = field(default_factory=free_port)
    delay_sec: float = 0
    jitter_sec: float = 0
    #: The part of all packets that is lost: each one is sent again after `resend_sec`, and keeps back what follows it.
    loss: float = 0
    resend_sec: float = 0.2
    #: Whether nothing passes any more, in either direction, while connections stay open.
    is_black_hole: bool = False
    draw: random.Random = field(default_factory=lambda: random.Random(1))
    lost: int = 0
    passed: int = 0
    broken: int = 0
    _tasks: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])
    _writers: set[asyncio.StreamWriter] = field(default_factory=set[asyncio.StreamWriter])

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def start(self) -> None:
        """Starts to listen."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)

    def heal(self) -> None:
        """Passes everything on at once from now on."""
        self.delay_sec = self.jitter_sec = self.loss = 0
        self.is_black_hole = False

    async def end(self) -> None:
        """Closes everything."""
        self._server.close()
        self.reset()
        for task in list(self._tasks):
            task.cancel()

    def reset(self) -> None:
        """Breaks every open connection, as a firewall does that has forgotten them."""
        for writer in list(self._writers):
            self.broken += 1
            writer.transport.abort()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there_reader, there_writer = await asyncio.open_connection("127.0.0.1", self.target_port)
        except OSError:
            writer.transport.abort()
            return
        # A member says in its first words that it is one.
        words = await reader.read(CHUNK_BYTES)
        there_writer.write(words)
        is_struck = b"internalClient" not in words
        if is_struck:
            self._writers |= {writer, there_writer}
        for source, sink in ((reader, there_writer), (there_reader, writer)):
            task = asyncio.create_task(self._pass(source, sink) if is_struck else self._pass_at_once(source, sink))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _pass_at_once(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(CHUNK_BYTES):
                sink.write(data)
                await sink.drain()
        sink.close()

    async def _pass(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        """Passes bytes on in order, each part at its time."""
        queue: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
        writing = asyncio.create_task(self._write(queue, sink))
        loop = asyncio.get_running_loop()
        with contextlib.suppress(OSError):
            while data := await source.read(CHUNK_BYTES):
                due = loop.time() + self.delay_sec + self.draw.uniform(0, self.jitter_sec)
                if self.draw.random() < self.loss:
                    self.lost += 1
                    due += self.resend_sec
                queue.put_nowait((due, data))
        queue.put_nowait((loop.time() + self.delay_sec, b""))
        with contextlib.suppress(OSError):
            await writing

    async def _write(self, queue: asyncio.Queue[tuple[float, bytes]], sink: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        try:
            while True:
                due, data = await queue.get()
                await asyncio.sleep(max(0, due - loop.time()))
                while self.is_black_hole:
                    await asyncio.sleep(0.05)
                if not data:
                    break
                self.passed += 1
                sink.write(data)
                await sink.drain()
        finally:
            self._writers.discard(sink)
            sink.close()
