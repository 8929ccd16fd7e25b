"""An ASGI application on a port, and a second server that takes it over."""

from __future__ import annotations

import asyncio
import socket
import urllib.request
from typing import Any

import pytest

from inferflow.app.http_server import AsgiServer, start_asgi
from inferflow.app.vanished_peers import listening
from inferflow.errors import InvalidInput


async def hello(scope: Any, receive: Any, send: Any) -> None:
    del scope, receive
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"hello"})


async def started(port: int = 0, host: str = "127.0.0.1") -> AsgiServer:
    return await start_asgi(hello, host=host, port=port, header_timeout_ms=1_000, max_in_flight=8)


async def said(server: AsgiServer) -> bytes:
    def ask() -> bytes:
        with urllib.request.urlopen(f"http://{server.host}:{server.port}/", timeout=10) as answer:
            told: bytes = answer.read()
            return told

    return await asyncio.to_thread(ask)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_it_listens_once_it_is_started(host: str) -> None:
    async def main() -> None:
        server = await started(host=host)
        assert await said(server) == b"hello"
        assert len(listening(server.port)) == 1
        await server.stop(5)

    asyncio.run(main())


def test_a_renewed_server_answers_before_the_old_one_is_gone() -> None:
    async def main() -> None:
        server = await started()
        before = listening(server.port)
        await server.renew(5)
        assert len(listening(server.port) - before) == 1
        assert await said(server) == b"hello"
        await server.stop(5)

    asyncio.run(main())


def test_a_port_that_is_taken_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InvalidInput, match=f"127.0.0.1:{port} for HTTP"):
            asyncio.run(started(port))
