"""An ASGI application on a port, in the event loop that is running.

The server is granian: it closes connections whose heads do not come, which matters to whoever is
reached from outside. Requests under way finish when it stops. It reads certificates when it starts;
so renewed ones are taken up by a second server on the same port, which then is the only one.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from inferflow.app.setting_values import WILDCARDS
from inferflow.errors import InvalidInput

if TYPE_CHECKING:
    from pathlib import Path

_STARTED_WITHIN_S = 10.0
_LOOK_EVERY_S = 0.005
_BOTH_FOR_S = 0.2
"""How long two servers share a port: a new one is sure to listen by then."""


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
        running = self._running = self._launched()
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + _STARTED_WITHIN_S
        while not await self._answers():
            if running.task.done():
                running.task.result()
            if running.task.done() or loop.time() > ends_at:
                raise InvalidInput(f"cannot listen on {self.host}:{self.port} for HTTP")
            await asyncio.sleep(_LOOK_EVERY_S)

    async def renew(self, grace_s: float) -> None:
        """Start again beside what runs, which then stops. When that fails, what runs goes on, and
        the failure is raised."""
        fresh = self._launched()
        await asyncio.wait((fresh.task,), timeout=_BOTH_FOR_S)
        if fresh.task.done():
            fresh.task.result()
        old, self._running = self._running, fresh
        await old.stop(grace_s)

    async def stop(self, grace_s: float) -> None:
        """Take no more requests; those under way have so long."""
        await self._running.stop(grace_s)

    def _launched(self) -> _Running:
        server = self._make()
        return _Running(server, asyncio.ensure_future(server.serve()))

    async def _answers(self) -> bool:
        try:
            _, writer = await asyncio.open_connection(_here(self.host), self.port)
        except OSError:
            return False
        writer.close()
        return True


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
    port = _free(host, port)

    def make() -> Any:
        return Server(
            app,
            address=host,
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


def _free(host: str, port: int) -> int:
    """The port, or any free one for 0. The server shares ports, and would not notice that somebody
    else has it."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as found:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((host, port))
        except OSError as refused:
            why = os.strerror(refused.errno) if refused.errno else refused
            raise InvalidInput(f"cannot listen on {host}:{port} for HTTP: {why}") from refused
        taken: int = found.getsockname()[1]
        return taken


def _here(host: str) -> str:
    return WILDCARDS.get(host, host)
