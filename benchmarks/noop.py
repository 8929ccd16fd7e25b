"""A server that answers at once, made like the real one: what a call costs before any work.

python benchmarks/noop.py SIZE…     /Noop/Answer<SIZE> answers with so many bytes
"""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import grpc

from inferflow.app.lifetime import run
from inferflow.rpc.server import start_server


def method(size: int) -> str:
    return f"/Noop/Answer{size}"


def _answering(size: int) -> Callable[[bytes, Any], Awaitable[bytes]]:
    answer = bytes(size)

    async def answered(_body: bytes, _context: Any) -> bytes:
        return answer

    return answered


async def serve(sizes: list[int]) -> None:
    handlers: dict[str, Any] = {
        f"Answer{size}": grpc.unary_unary_rpc_method_handler(_answering(size)) for size in sizes
    }
    generic = grpc.method_handlers_generic_handler("Noop", handlers)
    server = await start_server([generic], services=())
    gc.collect()
    gc.freeze()
    print(f"gRPC  127.0.0.1:{server.port}", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    run(serve([int(size) for size in sys.argv[1:]]))
