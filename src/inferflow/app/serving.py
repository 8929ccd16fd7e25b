"""The `serve` role: one process that answers gRPC calls, and HTTP for health and metrics.

It serves until it is asked to end (SIGTERM, Ctrl-C). Then it says it is not ready, waits until
others have noticed, lets the calls under way finish, and returns. Asked a second time, it does
not wait any longer.
"""

from __future__ import annotations

import asyncio
import gc
import signal
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from inferflow.api.http import METRICS, HttpServer, Reply, start_http
from inferflow.api.service import SERVICES, CallPolicy, ScoringService
from inferflow.app.serve_settings import ServeSettings
from inferflow.app.wiring import Embedded
from inferflow.engine.observer import Observer
from inferflow.engine.scorer import Scorer
from inferflow.errors import InvalidInput
from inferflow.plan.book import LiveSplit
from inferflow.rpc.admission import Admission
from inferflow.rpc.options import MIB, ServerOptions
from inferflow.rpc.server import RpcServer, is_loopback, start_server

Metrics = Callable[[], bytes]
Listeners = list[Callable[[Any], Any]]

_STOPS = (signal.SIGTERM, signal.SIGINT)
_BACKSTOP = 4
"""gRPC's own limit on calls, as a multiple of ours; it refuses less politely."""


class Serving:
    """A running server. Made by `start`."""

    def __init__(self, embedded: Embedded) -> None:
        self._embedded = embedded
        self._draining = False
        self.grpc: RpcServer
        self.http: HttpServer
        self.service: ScoringService

    @property
    def settings(self) -> ServeSettings:
        return self._embedded.settings.serve

    def not_ready(self) -> str:
        """Why no request should be sent here; empty when all is well."""
        if self._draining:
            return "draining"
        return "" if self._embedded.book.ids else "no model config is live"

    async def tell_health(self) -> None:
        """Let health checks know; to be called whenever other configs came live."""
        await self.grpc.say_serving(not self.not_ready())

    async def drain(self, hurry: asyncio.Event | None = None) -> None:
        """End politely; at once when `hurry` is set meanwhile."""
        self._draining = True
        hurry = hurry or asyncio.Event()
        settings = self.settings

        async def pause(seconds: float) -> None:
            with suppress(TimeoutError):
                await asyncio.wait_for(hurry.wait(), seconds)

        ending = asyncio.ensure_future(
            self.grpc.drain(
                pause_s=settings.drain_pause / 1000, grace_s=settings.drain_grace / 1000, wait=pause
            )
        )
        hurried = asyncio.ensure_future(hurry.wait())
        await asyncio.wait((ending, hurried), return_when=asyncio.FIRST_COMPLETED)
        if not ending.done():
            await self.grpc.stop()
            await ending
        hurried.cancel()
        await self.close()

    async def close(self) -> None:
        """Give everything back, whoever is still inside."""
        await self.grpc.stop()
        await self.http.close()
        self.service.close()


async def start(
    embedded: Embedded, *, observer: Observer | None = None, metrics: Metrics | None = None
) -> Serving:
    """Listen on the ports the settings name, ready for calls. Raises InvalidInput when one is
    taken."""
    serving = Serving(embedded)
    settings = serving.settings
    if settings.auth != "off" and not is_loopback(settings.bind):
        raise InvalidInput(
            f"bind: {settings.bind} can be reached from other machines, and callers are not"
            " authenticated; set INFERFLOW_AUTH=off if that is meant"
        )

    def find(config_id: str) -> Scorer | LiveSplit[Scorer]:
        book = embedded.book  # asked each time, for a reload swaps the book
        return book.splits.get(config_id) or book.get(config_id)

    serving.service = ScoringService(
        find,
        limits=embedded.settings.limits,
        admission=Admission(settings.max_in_flight),
        policy=CallPolicy(settings.default_deadline, settings.max_deadline),
        observer=observer,
    )
    serving.grpc = await start_server(
        serving.service.handlers(),
        services=SERVICES,
        host=settings.bind,
        port=settings.port,
        options=ServerOptions(max_receive_bytes=int(settings.max_message_mb * MIB)),
        max_calls=_BACKSTOP * settings.max_in_flight,
        reflect=settings.reflection,
    )
    try:
        serving.http = await start_http(
            _routes(serving, metrics), host=settings.bind, port=settings.http_port
        )
    except BaseException:
        await serving.grpc.stop()
        serving.service.close()
        raise
    await serving.tell_health()
    return serving


def _routes(serving: Serving, metrics: Metrics | None) -> dict[str, Callable[[], Reply]]:
    def alive() -> Reply:
        return Reply(b"true")

    def ready() -> Reply:
        why = serving.not_ready()
        return Reply(why.encode(), 503) if why else Reply(b"true")

    routes = {"/health/self": alive, "/health/live": alive, "/health/ready": ready}
    if metrics is not None:
        routes["/metrics"] = lambda: Reply(metrics(), content_type=METRICS)
    return routes


async def serve(
    embedded: Embedded,
    *,
    started: Callable[[Serving], None],
    observer: Observer | None = None,
    metrics: Metrics | None = None,
    on_reload: Listeners | None = None,
) -> None:
    """Serve until asked to end, then end politely. `started` is told where it listens; health
    is told anew whenever one of the `on_reload` listeners would be."""
    loop = asyncio.get_running_loop()
    end, hurry = asyncio.Event(), asyncio.Event()
    for stop in _STOPS:
        loop.add_signal_handler(stop, lambda: hurry.set() if end.is_set() else end.set())
    try:
        serving = await start(embedded, observer=observer, metrics=metrics)
        # What was loaded stays: the collector need not look at it again and again.
        gc.collect()
        gc.freeze()
        if on_reload is not None:
            on_reload.append(
                lambda _: asyncio.run_coroutine_threadsafe(serving.tell_health(), loop)
            )
        started(serving)
        await end.wait()
        await serving.drain(hurry)
    finally:
        for stop in _STOPS:
            loop.remove_signal_handler(stop)


def run(main: Coroutine[Any, Any, None]) -> None:
    """Run on the fastest event loop there is."""
    try:
        import uvloop
    except ModuleNotFoundError:
        asyncio.run(main)
    else:
        uvloop.run(main)
