"""A very small HTTP server for health and metrics.

It answers GET and HEAD with what a route returns, one request per connection, and closes
connections that are slow, large or too many. Anything more belongs to the gateway.
"""

from __future__ import annotations

import asyncio
import http
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from inferflow.errors import InvalidInput

TEXT = "text/plain; charset=utf-8"
METRICS = "text/plain; version=0.0.4; charset=utf-8"

_LONGEST_HEAD = 8192
_PATIENCE_S = 3.0


@dataclass(frozen=True, slots=True)
class Reply:
    body: bytes
    status: int = 200
    content_type: str = TEXT


Route = Callable[[], Reply]


class HttpServer:
    """Routes by exact path. Made by `start_http`."""

    def __init__(self, routes: Mapping[str, Route], *, max_connections: int) -> None:
        self._routes = routes
        self._places = max_connections
        self._server: asyncio.Server | None = None
        self.port = 0

    async def listen(self, host: str, port: int) -> None:
        try:
            self._server = await asyncio.start_server(
                self._connected, host, port, limit=_LONGEST_HEAD
            )
        except OSError as refused:
            why = os.strerror(refused.errno) if refused.errno else refused
            raise InvalidInput(f"cannot listen on {host}:{port} for HTTP: {why}") from refused
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._places <= 0:
            writer.close()
            return
        self._places -= 1
        try:
            async with asyncio.timeout(_PATIENCE_S):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(self._answered(head))
                await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # nobody to tell: the client is slow, gone, or speaks something else
        finally:
            self._places += 1
            writer.close()

    def _answered(self, head: bytes) -> bytes:
        method, _, rest = head.partition(b"\r\n")[0].decode("latin-1").partition(" ")
        target, _, version = rest.rpartition(" ")
        if not version.startswith("HTTP/1."):
            return _written(Reply(b"not HTTP/1\n", 400), with_body=True)
        route = self._routes.get(target.partition("?")[0])
        reply = Reply(b"not found\n", 404) if route is None else route()
        return _written(reply, with_body=method != "HEAD")


def _written(reply: Reply, *, with_body: bool) -> bytes:
    head = (
        f"HTTP/1.1 {reply.status} {http.HTTPStatus(reply.status).phrase}\r\n"
        f"Content-Type: {reply.content_type}\r\n"
        f"Content-Length: {len(reply.body)}\r\n"
        "Connection: close\r\n\r\n"
    )
    return head.encode("latin-1") + (reply.body if with_body else b"")


async def start_http(
    routes: Mapping[str, Route],
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    max_connections: int = 64,
) -> HttpServer:
    """Listen on `host:port` (0: any free one). Raises InvalidInput when the port is taken."""
    server = HttpServer(routes, max_connections=max_connections)
    await server.listen(host, port)
    return server
