"""An ASGI application on a port, in the event loop that is running.

The server is granian: it closes connections whose heads do not come, which matters to whoever is
reached from outside. Requests under way finish when it stops. It reads certificates when it starts;
so renewed ones are taken up by a second server on the same port, which then is the only one. Peers
that vanish are found by the kernel, for the server sends no pings.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from inferflow.app.vanished_peers import listening, notice_vanished
from inferflow.errors import InvalidInput
from inferflow.rpc.listening import check_free

if TYPE_CHECKING:
    from pathlib import Path

_STARTED_WITHIN_S = 10.0
_LOOK_EVERY_S = 0.005


@dataclass(slots=True)
class _Running:
    server: Any
    task: asyncio.Task[None]

    async def stop(self, grace_s: float) -> None:
        self.server.stop()
        await asyncio.wait((self.task,), timeout=grace_s)
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


class AsgiServer:
    """Made by `start_asgi`."""

    def __init__(self, make: Callable[[], Any], host: str, port: int) -> None:
        self._make = make
        self.host = host
        self.port = port
        self._running: _Running

    async def begin(self) -> None:
        """Raises InvalidInput when it does not come to listen."""
        self._running = await self._started()

    async def renew(self, grace_s: float) -> None:
        """Start again beside what runs, which then stops. When that fails, what runs goes on, and
        the failure is raised."""
        fresh = await self._started()
        old, self._running = self._running, fresh
        await old.stop(grace_s)

    async def stop(self, grace_s: float) -> None:
        """Take no more requests; those under way have so long."""
        await self._running.stop(grace_s)

    async def _started(self) -> _Running:
        """One more server, listening."""
        others = listening(self.port)
        server = self._make()
        running = _Running(server, asyncio.ensure_future(server.serve()))
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + _STARTED_WITHIN_S
        while not (fresh := listening(self.port) - others):
            if running.task.done():
                running.task.result()
            if running.task.done() or loop.time() > ends_at:
                await running.stop(0)
                raise InvalidInput(f"cannot listen on {self.host}:{self.port} for HTTP")
            await asyncio.sleep(_LOOK_EVERY_S)
        for each in fresh:
            notice_vanished(each)
        return running


def _address(host: str) -> str:
    """The server knows no names."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    return str(found[0][4][0])


async def start_asgi(
    app: Any,
    *,
    host: str,
    port: int,
    header_timeout_ms: float,
    max_in_flight: int,
    certificate: tuple[Path, Path, Path | None] | None = None,
) -> AsgiServer:
    """Listen on `host:port` (0: any free one). `certificate`: the files of a certificate, its key,
    and whom clients' certificates must be of. Raises InvalidInput when the port is taken."""
    from granian.constants import HTTPModes, Interfaces, SSLProtocols
    from granian.http import HTTP1Settings
    from granian.server.embed import Server

    cert, key, ca = certificate or (None, None, None)
    # The server shares ports, and would not notice that somebody else has it.
    port = check_free(host, port, purpose=" for HTTP")

    def make() -> Any:
        return Server(
            app,
            address=_address(host),
            port=port,
            interface=Interfaces.ASGINL,
            http=HTTPModes.http1,
            http1_settings=HTTP1Settings(header_read_timeout=int(header_timeout_ms)),
            backlog=max(128, max_in_flight),
            backpressure=max_in_flight,
            log_enabled=False,
            ssl_cert=cert,
            ssl_key=key,
            ssl_ca=ca,
            ssl_client_verify=ca is not None,
            ssl_protocol_min=SSLProtocols.tls12,
        )

    started = AsgiServer(make, host, port)
    await started.begin()
    return started
