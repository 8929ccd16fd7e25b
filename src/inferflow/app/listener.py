"""What every role with a gRPC port is: that port for its calls, and one for health and metrics.

They open together. They end in a fixed order: not ready, a pause in which others notice, the calls
under way finish. Asked a second time, nobody is waited for any longer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Protocol

from grpc import GenericRpcHandler

from inferflow.api.http import HttpServer, TreeRoute, start_http
from inferflow.app.health_routes import health_routes, metrics_route
from inferflow.app.security import PLAIN, Security
from inferflow.rpc.options import ServerOptions
from inferflow.rpc.server import RpcServer, start_server
from inferflow.telemetry.prometheus import Collector

PRIVATE = "127.0.0.1"
_BACKSTOP = 4
"""gRPC's own limit on calls, as a multiple of ours; it refuses less politely."""


class ListenerSettings(Protocol):
    """What the settings of all these roles have in common."""

    @property
    def bind(self) -> str: ...
    @property
    def port(self) -> int: ...
    @property
    def http_port(self) -> int: ...
    @property
    def max_in_flight(self) -> int: ...
    @property
    def reflection(self) -> bool | None: ...
    @property
    def drain_pause(self) -> float: ...
    @property
    def drain_grace(self) -> float: ...


class MetricsPage(Protocol):
    """What is shown under `/metrics`."""

    def show(self, collector: Collector) -> None: ...
    def render(self) -> bytes: ...


class Listener:
    """A role is one of these, says why it is not ready, and closes what else it has."""

    role: str
    """What metrics of its door call it."""
    grpc: RpcServer
    http: HttpServer

    def __init__(self, settings: ListenerSettings) -> None:
        self._listening = settings
        self._security = PLAIN
        self._is_draining = False

    def not_ready(self) -> str:
        """Why no request should be sent here; empty when all is well."""
        return "draining" if self._is_draining else self.why_not_ready()

    def why_not_ready(self) -> str:
        """The same, of a role that is not ending."""
        return ""

    async def last_call(self) -> None:
        """Awaited right before no call is taken any more."""

    async def open_ports(
        self,
        handlers: Sequence[GenericRpcHandler],
        *,
        services: Sequence[str],
        security: Security,
        metrics: MetricsPage | None = None,
        trees: Mapping[str, TreeRoute] | None = None,
        options: ServerOptions | None = None,
        private_http: bool = False,
    ) -> None:
        """Listen where the settings say; on both ports or on none. Health says NOT_SERVING until
        `tell_health`. Raises InvalidInput when a port is taken.

        `private_http`: on any port, and only for this machine.
        """
        settings = self._listening
        self._security = security
        self.grpc = await start_server(
            handlers,
            services=services,
            host=settings.bind,
            port=settings.port,
            options=options,
            max_calls=_BACKSTOP * settings.max_in_flight,
            reflect=settings.reflection,
            tls=security.tls,
        )
        routes = health_routes(self.not_ready)
        if metrics is not None:
            metrics.show(security.shown(self.role))
            routes |= metrics_route(metrics.render)
        try:
            self.http = await start_http(
                routes,
                trees=trees,
                host=PRIVATE if private_http else settings.bind,
                port=0 if private_http else settings.http_port,
                tls=None if private_http else security.http_context(),
            )
        except BaseException:
            await self.grpc.stop()
            raise
        security.begin()

    async def tell_health(self) -> None:
        """Let health checks know; to be called whenever that may have changed."""
        await self.grpc.say_serving(not self.not_ready())

    async def drain(self, hurry: asyncio.Event | None = None, *, pause: bool = True) -> None:
        """End politely; at once when `hurry` is set meanwhile. Without the pause in which others
        notice when that is not wanted."""
        self._is_draining = True
        hurry = hurry or asyncio.Event()
        ending = asyncio.ensure_future(self._end(hurry, pause=pause))
        hurried = asyncio.ensure_future(hurry.wait())
        await asyncio.wait((ending, hurried), return_when=asyncio.FIRST_COMPLETED)
        if not ending.done():
            await self.grpc.stop()
            await ending
        hurried.cancel()
        await self.close()

    async def _end(self, hurry: asyncio.Event, *, pause: bool) -> None:
        async def wait(seconds: float) -> None:
            with suppress(TimeoutError):
                await asyncio.wait_for(hurry.wait(), seconds)
            await self.last_call()

        pause_s = self._listening.drain_pause / 1000 if pause else 0
        grace_s = self._listening.drain_grace / 1000
        await self.grpc.drain(pause_s=pause_s, grace_s=grace_s, wait=wait)

    async def close(self) -> None:
        """Give everything back, whoever is still inside."""
        await self.grpc.stop()
        await self.http.close()
        await self._security.close()
