"""Refusing a call without its message, on a real connection."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import pytest

from inferflow.rpc.channel import open_channel
from inferflow.rpc.options import ChannelOptions
from inferflow.rpc.refusing import Refusing
from inferflow.rpc.server import start_server
from inferflow.rpc.wrapped_handlers import WrappedHandlers

HINT = ("retry-after-ms", "70")


class Closed(grpc.GenericRpcHandler):
    """A service that refuses every call."""

    def __init__(self) -> None:
        self._refusing: Any = Refusing(self._refuse)

    async def _refuse(self, _messages: Any, context: Any) -> bytes:
        await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "no place", (HINT,))
        return b""

    def service(self, details: grpc.HandlerCallDetails) -> Any:
        return self._refusing


@pytest.mark.parametrize("size", [0, 1_000_000])
def test_a_caller_of_one_message_is_told_whatever_its_size(size: int) -> None:
    async def test() -> grpc.aio.AioRpcError:
        server = await start_server([Closed()], services=())
        channel = open_channel(f"127.0.0.1:{server.port}", ChannelOptions(attempts=1))
        try:
            call: Any = channel.unary_unary("/any/Method")
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await call(bytes(size), timeout=10)
            return refused.value
        finally:
            await channel.close()
            await server.stop()

    refused = asyncio.run(test())
    assert refused.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert refused.details() == "no place"
    assert HINT in tuple(refused.trailing_metadata() or ())


def test_nothing_is_put_around_a_refusal() -> None:
    def wrap(path: str, inner: Any) -> Any:
        raise AssertionError(f"{path} was wrapped")

    closed = Closed()
    details: Any = None
    assert WrappedHandlers(closed, wrap).service(details) is closed.service(details)
