"""The generator's way out: so many connections, each with a channel of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc

from inferflow.client.failures import Refusal, no_place_ms
from inferflow.client.load.generator import Ask
from inferflow.client.load.plan import Call, Load
from inferflow.client.load.tally import Failure
from inferflow.client.throttling import Throttle
from inferflow.errors import Overloaded, Unreachable
from inferflow.rpc.channel import open_channel
from inferflow.rpc.options import ChannelOptions

NOT_SENT = "NOT_SENT"
"""The code of calls that the throttle kept."""


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

    throttles = [Throttle(load.throttle) for _ in channels]

    async def ask(connection: int, call: Call) -> Failure | None:
        throttle = throttles[connection]
        try:
            throttle.check()
            await ready[connection][call.method](
                call.body, timeout=load.deadline_s, metadata=call.headers
            )
        except Overloaded as kept:
            return Failure(NOT_SENT, str(kept))
        except grpc.aio.AioRpcError as refused:
            refusal = _refusal(refused, load)
            throttle.ended(no_place_ms(refusal))
            return Failure(refusal.code.name, refusal.details)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            return Failure("CANCELLED", "the server gave the call up")
        throttle.ended()
        return None

    return ask


def _refusal(refused: grpc.aio.AioRpcError, load: Load) -> Refusal:
    trailing = dict(refused.trailing_metadata() or ())
    code, details = refused.code(), refused.details() or ""
    return Refusal(code, details, trailing, "", load.target, load.deadline_s * 1000, 1)
