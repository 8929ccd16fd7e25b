"""A TCP proxy that misbehaves on demand, in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType

Fault = Callable[[int], str]
"""Told which connection it is, counted from 0, says what becomes of it: `pass` it on; `refuse` it
at once; `hang` and never say a word; `cut` it as soon as the server answers."""


class FaultProxy:
    """Listens on `port` while the block runs. `connections` counts those that were made; what a
    server says takes `delay_s` longer, which may be changed at any time."""

    def __init__(self, target_port: int, fault: Fault) -> None:
        self._target = target_port
        self._fault = fault
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self.connections = 0
        self.delay_s = 0.0
        self.port = 0

    def __enter__(self) -> FaultProxy:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def reset(self) -> None:
        """Cut every connection there is, as a broken network does; new ones may come."""
        asyncio.run_coroutine_threadsafe(self._cut(), self._loop).result()

    async def _cut(self) -> None:
        for writer in self._open:
            writer.transport.abort()
        self._open.clear()

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        assert self._server is not None
        self._server.close()
        for writer in self._open:
            writer.transport.abort()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        what = self._fault(self.connections)
        self.connections += 1
        self._open.add(writer)
        if what == "refuse":
            writer.transport.abort()
        elif what == "hang":
            await asyncio.Event().wait()
        else:
            await self._joined(reader, writer, is_cut=what == "cut")

    async def _joined(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_cut: bool
    ) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
        self._open.add(far_writer)
        there = asyncio.ensure_future(_copied(reader, far_writer))
        if is_cut:
            await _answered(far_reader)
        else:
            await self._answers(far_reader, writer)
        there.cancel()
        for each in (writer, far_writer):
            each.transport.abort()

    async def _answers(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Copied when they are due, in their order, however many are waiting."""
        loop = asyncio.get_running_loop()
        with suppress(OSError):
            while some := await reader.read(65536):
                if self.delay_s:
                    loop.call_later(self.delay_s, writer.write, some)
                else:
                    writer.write(some)
                    await writer.drain()


async def _copied(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while some := await reader.read(65536):
            writer.write(some)
            await writer.drain()


async def _answered(reader: asyncio.StreamReader) -> None:
    with suppress(OSError):
        await reader.read(1)
