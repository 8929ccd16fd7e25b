"""A very small HTTP server for health and metrics.

It answers GET and HEAD with what a route returns, one request per connection, and closes
connections that are slow, large or too many. A route is one path, or all that begin with one;
it may take its time without holding up the others. Anything more belongs to the gateway.
"""

from __future__ import annotations

import asyncio
import http
import logging
import re
import ssl
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from inferflow.rpc.listening import cannot_listen

TEXT = "text/plain; charset=utf-8"
JSON = "application/json"
METRICS = "text/plain; version=0.0.4; charset=utf-8"

log = logging.getLogger(__name__)

_LONGEST_HEAD = 8192
_PATIENCE_S = 3.0
_CHALLENGE = "WWW-Authenticate: Bearer\r\n"
_HOST = re.compile(rb"\r\nhost:[ \t]*(\[[^\]\r]*\]|[^:\s]*)", re.IGNORECASE)
_BEARER = re.compile(rb"\r\nauthorization:[ \t]*bearer[ \t]+([!-~]*)", re.IGNORECASE)
_ADDRESS = re.compile(r"[0-9.]+|\[[0-9a-fA-F:.]+\]")


@dataclass(frozen=True, slots=True)
class Reply:
    body: bytes
    status: int = 200
    content_type: str = TEXT


Answer = Reply | Awaitable[Reply]
Route = Callable[[], Answer]
TreeRoute = Callable[[str], Answer]
"""Given what was asked for, its query included."""


_asking: ContextVar[str] = ContextVar("inferflow_http_asking", default="")


_shown: ContextVar[str] = ContextVar("inferflow_http_shown", default="")


def shown_key() -> str:
    """What came as `Authorization: Bearer …` with what is being answered; empty without."""
    return _shown.get()


_named: ContextVar[tuple[str, ...]] = ContextVar("inferflow_http_named", default=())


def certificate_names() -> tuple[str, ...]:
    """Names in the certificate of whoever asks, which has been verified; none without one."""
    return _named.get()


def _names(certificate: Mapping[str, Any] | None) -> tuple[str, ...]:
    if not certificate:
        return ()
    known = [value for _, value in certificate.get("subjectAltName", ())]
    fields = (field for part in certificate.get("subject", ()) for field in part)
    return (*known, *(value for name, value in fields if name == "commonName"))


def asking_host() -> str:
    """The address of whoever asks for the route that is being answered; empty when that cannot
    be relied on."""
    return _asking.get()


def _asker(peer: tuple[str, int] | None, head: bytes) -> str:
    """A browser on this machine asks in the name of any page it shows, and a page can give its
    own name this machine's address. So who asks by a name that is not ours may be anybody."""
    found = _HOST.search(head)
    name = found[1].decode("latin-1") if found else "localhost"
    is_ours = name == "localhost" or _ADDRESS.fullmatch(name) is not None
    return peer[0] if peer is not None and is_ours else ""


class HttpServer:
    """Routes by exact path, then by the folder a path is in. Made by `start_http`."""

    def __init__(
        self,
        routes: Mapping[str, Route],
        trees: Mapping[str, TreeRoute],
        *,
        max_connections: int,
    ) -> None:
        self._routes = routes
        self._trees = trees
        self._max = max_connections
        self._open = 0
        self._unheard: dict[asyncio.StreamWriter, None] = {}
        self._server: asyncio.Server | None = None
        self.port = 0
        self.scheme = "http"

    async def listen(self, host: str, port: int, tls: ssl.SSLContext | None = None) -> None:
        patience_s = None if tls is None else _PATIENCE_S
        try:
            self._server = await asyncio.start_server(
                self._connected,
                host,
                port,
                limit=_LONGEST_HEAD,
                ssl=tls,
                ssl_handshake_timeout=patience_s,
            )
        except OSError as refused:
            raise cannot_listen(host, port, refused, purpose=" for HTTP") from refused
        self.port = self._server.sockets[0].getsockname()[1]
        self.scheme = "http" if tls is None else "https"

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self._has_place():
            writer.close()
            return
        self._open += 1
        try:
            head = await self._heard(reader, writer)
            _asking.set(_asker(writer.get_extra_info("peername"), head))
            _named.set(_names(writer.get_extra_info("peercert")))
            bearer = _BEARER.search(head)
            _shown.set(bearer[1].decode("ascii") if bearer else "")
            answer = await self._answered(head)
            async with asyncio.timeout(_PATIENCE_S):
                writer.write(answer)
                await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # nobody to tell: the client is slow, gone, or speaks something else
        finally:
            self._open -= 1
            writer.close()

    def _has_place(self) -> bool:
        """When all are taken, who has been silent for longest makes room: so many slow clients
        cannot keep out one that speaks."""
        if self._open < self._max:
            return True
        if self._unheard:
            silent = next(iter(self._unheard))
            del self._unheard[silent]
            silent.transport.abort()
            return True
        return False

    async def _heard(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        self._unheard[writer] = None
        try:
            async with asyncio.timeout(_PATIENCE_S):
                return await reader.readuntil(b"\r\n\r\n")
        finally:
            self._unheard.pop(writer, None)

    async def _answered(self, head: bytes) -> bytes:
        method, _, rest = head.partition(b"\r\n")[0].decode("latin-1").partition(" ")
        target, _, version = rest.rpartition(" ")
        if not version.startswith("HTTP/1."):
            return _written(Reply(b"not HTTP/1\n", 400), with_body=True)
        try:
            answer = self._found(target)
            reply = answer if isinstance(answer, Reply) else await answer
        except Exception:  # the boundary of a request: the server lives on
            log.exception("http_failed", extra={"path": target})
            reply = Reply(b"failed, see the log\n", 500)
        return _written(reply, with_body=method != "HEAD")

    def _found(self, target: str) -> Answer:
        path = target.partition("?")[0]
        route = self._routes.get(path)
        if route is not None:
            return route()
        for folder, tree in self._trees.items():
            if path == folder or path.startswith(f"{folder}/"):
                return tree(target)
        return Reply(b"not found\n", 404)


def _written(reply: Reply, *, with_body: bool) -> bytes:
    head = (
        f"HTTP/1.1 {reply.status} {http.HTTPStatus(reply.status).phrase}\r\n"
        f"Content-Type: {reply.content_type}\r\n"
        f"Content-Length: {len(reply.body)}\r\n"
        f"{_CHALLENGE if reply.status == http.HTTPStatus.UNAUTHORIZED else ''}"
        "Connection: close\r\n\r\n"
    )
    return head.encode("latin-1") + (reply.body if with_body else b"")


async def start_http(
    routes: Mapping[str, Route],
    *,
    trees: Mapping[str, TreeRoute] | None = None,
    host: str = "127.0.0.1",
    port: int = 0,
    max_connections: int = 64,
    tls: ssl.SSLContext | None = None,
) -> HttpServer:
    """Listen on `host:port` (0: any free one). `trees` answer for a path and all below it.

    Raises InvalidInput when the port is taken.
    """
    server = HttpServer(routes, trees or {}, max_connections=max_connections)
    await server.listen(host, port, tls)
    return server
