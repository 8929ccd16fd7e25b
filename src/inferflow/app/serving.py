"""The `serve` role: one process that answers gRPC calls, and HTTP for health and metrics.

It serves until it is asked to end (SIGTERM, Ctrl-C). Then it says it is not ready, waits until
others have noticed, lets the calls under way finish, and returns. Asked a second time, it does
not wait any longer.
"""

from __future__ import annotations

import asyncio
import gc
import signal
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any

from inferflow.api.guarded_routes import guarded_trees
from inferflow.api.http import HttpServer, TreeRoute, start_http
from inferflow.api.insight import WhyNot, insight
from inferflow.api.log_schema import log_schema_trees
from inferflow.api.operate import SERVICE as OPERATE
from inferflow.api.operate import Desk, operate_handlers, operate_trees
from inferflow.api.service import SERVICES, CallPolicy, ScoringService
from inferflow.app.health_routes import Routes, health_routes, metrics_route
from inferflow.app.recordings.records import Records
from inferflow.app.security import open_security
from inferflow.app.serve_settings import ServeSettings
from inferflow.app.wiring import Embedded
from inferflow.engine.observer import Observer
from inferflow.engine.scorer import Scorer
from inferflow.plan.book import LiveSplit
from inferflow.rpc.admission import Admission
from inferflow.rpc.options import MIB, ServerOptions
from inferflow.rpc.server import RpcServer, start_server

if TYPE_CHECKING:
    from inferflow.app.role import Role

Metrics = Callable[[], bytes]
Listeners = list[Callable[[Any], Any]]

_STOPS = (signal.SIGTERM, signal.SIGINT)
PRIVATE = "127.0.0.1"
_FEWEST_PENDING = 128
"""However few calls may be under way, so many can come at once and get an answer of ours."""
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
        return self._embedded.not_ready()

    async def tell_health(self) -> None:
        """Let health checks know; to be called whenever other configs came live."""
        await self.grpc.say_serving(not self.not_ready())

    async def drain(self, hurry: asyncio.Event | None = None, *, pause: bool = True) -> None:
        """End politely; at once when `hurry` is set meanwhile. Without the pause in which others
        notice when that is not wanted."""
        self._draining = True
        settings = self.settings
        await end_politely(
            self.grpc,
            hurry or asyncio.Event(),
            pause_s=settings.drain_pause / 1000 if pause else 0,
            grace_s=settings.drain_grace / 1000,
            last_call=self.service.let_all_in,
        )
        await self.close()

    async def close(self) -> None:
        """Give everything back, whoever is still inside."""
        await self.grpc.stop()
        await self.http.close()
        self.service.close()


Beside = Callable[[Serving], AbstractAsyncContextManager[object]]
"""Something that runs as long as a server does, and needs to know where that listens."""


async def end_politely(
    grpc: RpcServer,
    hurry: asyncio.Event,
    *,
    pause_s: float,
    grace_s: float,
    last_call: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Drain a server; stop it at once when `hurry` is set meanwhile. `last_call` is awaited right
    before it stops taking calls."""

    async def wait(seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(hurry.wait(), seconds)
        if last_call is not None:
            await last_call()

    ending = asyncio.ensure_future(grpc.drain(pause_s=pause_s, grace_s=grace_s, wait=wait))
    hurried = asyncio.ensure_future(hurry.wait())
    await asyncio.wait((ending, hurried), return_when=asyncio.FIRST_COMPLETED)
    if not ending.done():
        await grpc.stop()
        await ending
    hurried.cancel()


async def start(
    embedded: Embedded,
    *,
    observer: Observer | None = None,
    metrics: Metrics | None = None,
    records: Records | None = None,
    trees: Mapping[str, TreeRoute] | None = None,
    shared: bool = False,
) -> Serving:
    """Listen on the ports the settings name, ready for calls. Raises InvalidInput when one is
    taken.

    `trees` are answered over HTTP beside its own. `shared`: this is one of several processes on
    the gRPC port, and its HTTP is private: on any port, and only for this machine.
    """
    serving = Serving(embedded)
    settings = serving.settings
    security = open_security(embedded.settings, auth=settings.auth)
    security.check_bind(settings.bind, settings.auth)

    def find(config_id: str) -> Scorer | LiveSplit[Scorer]:
        book = embedded.book  # asked each time, for a reload swaps the book
        return book.splits.get(config_id) or book.get(config_id)

    why_not = insight(settings.explain)
    desk = None if records is None else Desk(records.everywhere or records.pages, why_not)
    serving.service = ScoringService(
        find,
        limits=embedded.settings.limits,
        admission=Admission(settings.max_in_flight),
        policy=CallPolicy(settings.default_deadline, settings.max_deadline, settings.max_wait),
        observer=observer,
        recorder=None if records is None else records.keeper,
        why_not=why_not,
    )
    handlers = [*serving.service.handlers(), *([] if desk is None else operate_handlers(desk))]
    serving.grpc = await start_server(
        security.guarded(handlers),
        services=SERVICES if desk is None else (*SERVICES, OPERATE),
        host=settings.bind,
        port=settings.port,
        options=ServerOptions(
            max_receive_bytes=int(settings.max_message_mb * MIB),
            max_pending=max(_FEWEST_PENDING, settings.max_in_flight // 2),
            share_port=shared,
        ),
        max_calls=_BACKSTOP * settings.max_in_flight,
        reflect=settings.reflection,
        tls=security.tls,
    )
    all_trees = {**_trees(records, why_not, is_private=shared), **(trees or {})}
    try:
        serving.http = await start_http(
            _routes(serving, metrics),
            trees=all_trees if shared else guarded_trees(all_trees, security.gate),
            host=PRIVATE if shared else settings.bind,
            port=0 if shared else settings.http_port,
            tls=None if shared else security.http_context(),
        )
    except BaseException:
        await serving.grpc.stop()
        serving.service.close()
        raise
    await serving.tell_health()
    return serving


def _routes(serving: Serving, metrics: Metrics | None) -> Routes:
    routes = health_routes(serving.not_ready)
    return routes if metrics is None else routes | metrics_route(metrics)


def _trees(records: Records | None, why_not: WhyNot, *, is_private: bool) -> dict[str, TreeRoute]:
    """A private server only has what this process knows; who may see it, its parent decides."""
    if records is None:
        return {}
    return operate_trees(Desk(records.pages, insight("on") if is_private else why_not))


async def serve(
    embedded: Embedded,
    *,
    started: Callable[[Serving], None],
    observer: Observer | None = None,
    metrics: Metrics | None = None,
    records: Records | None = None,
    trees: Mapping[str, TreeRoute] | None = None,
    on_reload: Listeners | None = None,
    beside: Beside | None = None,
) -> None:
    """Serve until asked to end, then end politely. `started` is told where it listens; health
    is told anew whenever one of the `on_reload` listeners would be. What runs `beside` it is there
    before `started` is told, and ends first."""
    loop = asyncio.get_running_loop()
    with stop_signals() as (end, hurry):
        serving = await start(
            embedded, observer=observer, metrics=metrics, records=records, trees=trees
        )
        try:
            async with beside(serving) if beside is not None else nullcontext():
                keep_what_is_loaded()
                if on_reload is not None:
                    on_reload.append(
                        lambda _: asyncio.run_coroutine_threadsafe(serving.tell_health(), loop)
                    )
                started(serving)
                await end.wait()
        except BaseException:
            await serving.close()
            raise
        await serving.drain(hurry)


async def serve_role(
    role: Role, *, started: Callable[[Serving], None], beside: Beside | None = None
) -> None:
    """Serve a project that is open until asked to end."""
    await serve(
        role.embedded,
        started=started,
        observer=role.telemetry.observer,
        metrics=role.telemetry.render,
        records=role.records,
        trees=log_schema_trees(role.schemas.find),
        on_reload=role.on_reload,
        beside=beside,
    )


@contextmanager
def stop_signals() -> Iterator[tuple[asyncio.Event, asyncio.Event]]:
    """Events: that this process was asked to end, and that it was asked again."""
    loop = asyncio.get_running_loop()
    end, hurry = asyncio.Event(), asyncio.Event()
    for stop in _STOPS:
        loop.add_signal_handler(stop, lambda: hurry.set() if end.is_set() else end.set())
    try:
        yield end, hurry
    finally:
        for stop in _STOPS:
            loop.remove_signal_handler(stop)


def keep_what_is_loaded() -> None:
    """What was loaded stays: the collector need not look at it again and again."""
    gc.collect()
    gc.freeze()


def run(main: Coroutine[Any, Any, None]) -> None:
    """Run on the fastest event loop there is."""
    try:
        import uvloop
    except ModuleNotFoundError:
        asyncio.run(main)
    else:
        uvloop.run(main)
