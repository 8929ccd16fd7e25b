"""Channels that are replaced while they are used: by many threads at once, and closed in time."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path
from typing import Any

import grpc
import pytest

from inferflow.rpc.renewed_channel import RenewedChannel
from inferflow.rpc.server import start_server
from inferflow.rpc.tls import TlsFiles

from ...servers.certificates import Certificates


@pytest.fixture
def certs(tmp_path: Path) -> Certificates:
    return Certificates(tmp_path / "certs")


def files_of(certs: Certificates) -> TlsFiles:
    return TlsFiles(*map(str, certs.client()), str(certs.ca))


class Blocking:
    """As much of a channel as threads need."""

    def __init__(self) -> None:
        self.closed = 0

    def close(self) -> None:
        self.closed += 1


def test_threads_that_notice_a_new_certificate_together_open_one_channel(
    certs: Certificates,
) -> None:
    opened: list[Blocking] = []
    now = [0.0]
    threads = 8
    entered = threading.Barrier(threads)

    def opening(_: grpc.ChannelCredentials) -> Any:
        opened.append(Blocking())
        return opened[-1]

    channel: RenewedChannel[Any] = RenewedChannel(files_of(certs), opening, clock=lambda: now[0])
    found: list[Blocking] = []

    def use() -> None:
        entered.wait()
        found.append(channel.current())

    for renewal in range(1, 4):
        certs.client()
        now[0] += 2.0
        using = [threading.Thread(target=use) for _ in range(threads)]
        for each in using:
            each.start()
        for each in using:
            each.join()
        assert len(opened) == renewal + 1
        assert channel.current() is opened[-1]
    assert set(found) <= set(opened)
    channel.close()
    assert [each.closed for each in opened] == [1, 1, 1, 1]


class Slow(grpc.GenericRpcHandler):
    """Answers when it is told to."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.answer = asyncio.Event()

    def service(self, _: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        async def handle(request: bytes, context: Any) -> bytes:
            self.asked.set()
            await self.answer.wait()
            return b"done"

        return grpc.unary_unary_rpc_method_handler(handle)


@pytest.mark.parametrize("is_answered", [True, False])
def test_a_call_on_a_channel_that_was_replaced_finishes_unless_all_is_closed(
    certs: Certificates, is_answered: bool
) -> None:
    async def run(slow: Slow, port: int) -> None:
        now = [0.0]

        def opening(_: grpc.ChannelCredentials) -> grpc.aio.Channel:
            return grpc.aio.insecure_channel(f"127.0.0.1:{port}")

        channel = RenewedChannel(files_of(certs), opening, clock=lambda: now[0])
        under_way = asyncio.ensure_future(_finished(channel.unary_unary("/a/b")(b"")))
        await slow.asked.wait()
        certs.client()
        now[0] = 2.0
        old, new = channel._channel, channel.current()
        assert new is not old
        if is_answered:
            slow.answer.set()
            assert await under_way == b"done"
        await asyncio.wait_for(channel.close(), 10)  # and not the minute that calls may take
        assert await under_way == (b"done" if is_answered else b"")
        assert channel._ending == {}
        for each in (old, new):
            with pytest.raises(grpc.aio.UsageError):
                await each.unary_unary("/a/b")(b"")

    async def main() -> None:
        slow = Slow()
        server = await start_server([slow], services=())
        try:
            await run(slow, server.port)
        finally:
            slow.answer.set()
            await server.stop()

    asyncio.run(main())


async def _finished(call: Any) -> bytes:
    try:
        answer: bytes = await call
    except (grpc.RpcError, asyncio.CancelledError):
        return b""
    return answer


def test_files_that_have_not_changed_open_no_channel(certs: Certificates) -> None:
    opened: list[Blocking] = []
    now = [0.0]

    def opening(_: grpc.ChannelCredentials) -> Any:
        opened.append(Blocking())
        return opened[-1]

    files = files_of(certs)
    channel: RenewedChannel[Any] = RenewedChannel(files, opening, clock=lambda: now[0])
    for now[0] in (0.5, 2.0, 4.0):
        channel.current()
    assert len(opened) == 1
    os.utime(files.cert, ns=(1, 1))
    now[0] = 6.0
    channel.current()
    assert len(opened) == 2
