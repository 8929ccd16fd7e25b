"""The generator's way out, against a server that refuses everything."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import grpc
import pytest

from inferflow.client.load.plan import Call, Load
from inferflow.client.load.wire import NOT_SENT, connected
from inferflow.rpc.server import start_server


async def refuse(_body: bytes, context: Any) -> bytes:
    await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "no", (("retry-after-ms", "70"),))
    return b""


async def _codes(throttle: float | None) -> Counter[str]:
    method: Any = grpc.unary_unary_rpc_method_handler(refuse)
    handlers = grpc.method_handlers_generic_handler("Predict", {"Any": method})
    server = await start_server([handlers], services=())
    call = Call("/Predict/Any", b"")
    load = Load(f"127.0.0.1:{server.port}", (call,), 1.0, connections=1, throttle=throttle)
    try:
        async with connected(load) as ask:
            ended = [await ask(0, call) for _ in range(60)]
    finally:
        await server.stop()
    return Counter(each.code for each in ended if each is not None)


@pytest.mark.parametrize(("throttle", "keeps"), [(None, False), (2.0, True)])
def test_with_a_throttle_calls_are_kept_as_a_client_would(
    throttle: float | None, keeps: bool
) -> None:
    codes = asyncio.run(_codes(throttle))
    assert codes.total() == 60
    assert codes["RESOURCE_EXHAUSTED"] >= 10
    assert (codes[NOT_SENT] > 0) is keeps
