"""The generator's way out: so many connections, each with a channel of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc

from inferflow.client.load.generator import Ask
from inferflow.client.load.plan import Call, Load
from inferflow.client.load.tally import Failure
from inferflow.errors import Unreachable
from inferflow.rpc.channel import open_channel
from inferflow.rpc.options import ChannelOptions


@asynccontextmanager
async def connected(load: Load) -> AsyncIterator[Ask]:
    """Every connection is up before the first call. Raises Unreachable when one does not come."""
    # Nothing is tried again, for a second try would hide the first.
    options = ChannelOptions(attempts=1, own_connection=True, tls=load.tls)
    channels = [open_channel(load.target, options) for _ in range(load.connections)]
    try:
        try:
            async with asyncio.timeout(load.deadline_s):
                await asyncio.gather(*(channel.channel_ready() for channel in channels))
        except TimeoutError:
            why = f"no connection within {load.deadline_s:g} s"
            raise Unreachable(load.target, 1, why) from None
        yield _asking(channels, load)
    finally:
        await asyncio.gather(*(channel.close() for channel in channels))


def _asking(channels: list[grpc.aio.Channel], load: Load) -> Ask:
    methods = {call.method for call in load.calls}
    ready: list[dict[str, Any]] = [
        {method: channel.unary_unary(method) for method in methods} for channel in channels
    ]

    async def ask(connection: int, call: Call) -> Failure | None:
        try:
            await ready[connection][call.method](
                call.body, timeout=load.deadline_s, metadata=call.headers
            )
        except grpc.aio.AioRpcError as refused:
            return Failure(refused.code().name, refused.details() or "")
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            return Failure("CANCELLED", "the server gave the call up")
        return None

    return ask
