"""The parent of several processes on one port.

It decides what they serve, starts them and starts again what ends, and speaks for all of them
over HTTP: health, metrics, how each of them stands. Asked to end, it lets them end politely and
ends last.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import replace
from pathlib import Path

from inferflow.api.guarded_routes import guarded_trees
from inferflow.api.http import JSON, METRICS, HttpServer, Reply, Route, start_http
from inferflow.api.insight import insight
from inferflow.api.log_schema import log_schema_trees
from inferflow.api.operate import Desk, operate_trees
from inferflow.app import lifetime
from inferflow.app.health_routes import health_routes
from inferflow.app.places import data_dir
from inferflow.app.processes.asking import EVERYONE, everyone_at, passed_on
from inferflow.app.processes.messages import Orders, Word
from inferflow.app.processes.pages import Pages
from inferflow.app.processes.process import ChildProcess, start_child
from inferflow.app.processes.publishing import Publisher
from inferflow.app.processes.snapshot import snapshot_home
from inferflow.app.processes.supervisor import Place, Supervisor
from inferflow.app.recordings.gathered import GatheredPages
from inferflow.app.role import Role
from inferflow.app.security import check_security, open_security
from inferflow.app.serve_settings import ServeSettings
from inferflow.app.serving import Serving
from inferflow.app.settings import Settings
from inferflow.errors import ConfigStoreFailed, InvalidInput, Unreachable
from inferflow.rpc.held_port import held_port
from inferflow.telemetry import table

log = logging.getLogger("inferflow.processes")

PERIOD_S = 5.0
"""How often processes are asked how they are, and told again what they missed."""
_FORCE_AFTER_S = 5.0
"""On top of what politeness may take."""

Beside = Callable[["Parent"], AbstractAsyncContextManager[None]]


def check_processes(settings: Settings) -> None:
    """Raises InvalidInput for settings that several processes cannot share."""
    if settings.feature_backend == "memory":
        raise InvalidInput(
            "processes: features in memory cannot be shared by several processes;"
            " set feature_backend to lmdb"
        )
    check_security(settings, settings.serve)


def serve_processes(
    role: Role, *, started: Callable[[Parent], None], beside: Beside | None = None
) -> None:
    """Serve with as many processes as the settings say until asked to end, then end politely.
    `started` is told where they listen. The role must be one that does not answer itself. What runs
    `beside` them, in this process, is there before `started` is told, and ends first."""
    settings = role.settings
    check_processes(settings)
    root = role.embedded.project.root
    with (
        held_port(settings.serve.bind, settings.serve.port) as port,
        snapshot_home(data_dir(root, settings) / "processes") as home,
    ):
        lifetime.run(Parent(role, home, port).serve(started, beside))


class Parent:
    """A running parent. Made by `serve_processes`."""

    def __init__(self, role: Role, home: Path, port: int) -> None:
        self.port = port
        """gRPC, shared by the children."""
        self.http: HttpServer
        self.pages: GatheredPages
        """What all of them tell of configs and recordings."""
        self._private: HttpServer
        """Where children ask."""
        self._role = role
        self._home = home
        self._publisher = Publisher(home, lambda: role.embedded.service)
        self._pages = Pages(role.telemetry.render)
        self._supervisor: Supervisor
        self._loop: asyncio.AbstractEventLoop
        self._draining = False

    @property
    def settings(self) -> ServeSettings:
        return self._role.settings.serve

    def standing(self) -> str:
        """How many are ready, for people."""
        return f"{self._supervisor.ready} of {self.settings.processes} processes ready"

    def not_ready(self) -> str:
        """Why no request should be sent here; empty when at least one process is ready."""
        if self._draining:
            return "draining"
        if self._supervisor.ready:
            return ""
        return self._role.embedded.not_ready() or self.standing()

    def look_around(self) -> bytes:
        """Everybody's metrics as they are now, for a thread that may wait. Raises Unreachable."""
        asked = asyncio.run_coroutine_threadsafe(self._metrics(), self._loop)
        try:
            return asked.result(PERIOD_S).body
        except TimeoutError as late:
            raise Unreachable("the processes of this server", 1, "their metrics are late") from late

    async def serve(self, started: Callable[[Parent], None], beside: Beside | None) -> None:
        loop = self._loop = asyncio.get_running_loop()
        own = self._role.records.pages
        everyone = everyone_at(self._ports)
        self.pages = GatheredPages(everyone, own)
        self._private = await start_http(
            {}, trees={EVERYONE: passed_on(everyone), **operate_trees(Desk(own, insight("on")))}
        )
        desk = Desk(self.pages, insight(self.settings.explain))
        self._supervisor = Supervisor(
            self._starter(), self.settings.processes, retire=self._pages.retire
        )
        self._show_metrics()
        on_reload = self._listener(loop)
        self._role.on_reload.append(on_reload)
        self._role.on_service.append(on_reload)
        try:
            self._role.reloader.show(self._publisher.take)
            self._publisher.flush()
            with lifetime.stop_signals() as (end, hurry):
                security = open_security(self._role.settings, auth=self.settings.auth)
                self._role.telemetry.show(security.shown(Serving.role))
                trees = {**operate_trees(desk), **log_schema_trees(self._role.schemas.find)}
                self.http = await start_http(
                    self._routes(),
                    trees=guarded_trees(trees, security.gate),
                    host=self.settings.bind,
                    port=self.settings.http_port,
                    tls=security.http_context(),
                )
                security.begin()
                try:
                    await self._until(end, hurry, started, beside)
                finally:
                    await self.http.close()
                    await security.close()
        finally:
            self._role.on_reload.remove(on_reload)
            self._role.on_service.remove(on_reload)
            await self._private.close()

    async def _until(
        self,
        end: asyncio.Event,
        hurry: asyncio.Event,
        started: Callable[[Parent], None],
        beside: Beside | None,
    ) -> None:
        ending = asyncio.ensure_future(end.wait())
        starting = asyncio.ensure_future(self._supervisor.start())
        caring = asyncio.ensure_future(self._look_after())
        broken = self._supervisor.broken
        try:
            async with AsyncExitStack() as held:
                await asyncio.wait((starting, ending), return_when=asyncio.FIRST_COMPLETED)
                if starting.done():
                    starting.result()
                    if beside is not None:
                        await held.enter_async_context(beside(self))
                    started(self)
                await asyncio.wait((ending, broken), return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._draining = True
            for task in (starting, caring, ending):
                task.cancel()
            polite_s = (self.settings.drain_pause + self.settings.drain_grace) / 1000
            await self._supervisor.end(hurry=hurry, limit_s=polite_s + _FORCE_AFTER_S)
        if broken.done():
            broken.result()

    def _starter(self) -> Callable[[int], Awaitable[ChildProcess]]:
        serve = self.settings.model_copy(update={"port": self.port})
        orders = Orders(
            self._role.embedded.project.root.resolve(),
            self._role.settings.model_copy(update={"serve": serve}),
            self._home.resolve(),
            self._private.port,
            number=0,
        )
        return lambda number: start_child(replace(orders, number=number))

    # --- what children serve ------------------------------------------------------------------

    def _listener(self, loop: asyncio.AbstractEventLoop) -> Callable[[object], None]:
        """Told of every reload and service config, on the thread of whoever looked."""

        def accepted(_: object) -> None:
            self._role.reloader.show(self._publisher.take)
            if self._flushed():
                loop.call_soon_threadsafe(self._supervisor.say, Word.LOOK)

        return accepted

    def _flushed(self) -> bool:
        try:
            return self._publisher.flush()
        except ConfigStoreFailed as failed:
            log.error("snapshot_not_written", extra={"reason": str(failed)})
            return False

    async def _look_after(self) -> None:
        """Try again what may have failed, and keep the newest metrics of everybody."""
        while True:
            await asyncio.sleep(PERIOD_S)
            try:
                await self._look_once()
            except Exception:  # what goes wrong here must not cost the processes
                log.exception("processes_not_looked_after")

    async def _look_once(self) -> None:
        await asyncio.to_thread(self._flushed)
        for child in self._supervisor.children:
            if child.is_behind(self._publisher.version):
                child.say(Word.LOOK)
        await self._pages.refresh(self._supervisor.children)

    # --- what is told about them --------------------------------------------------------------

    def _ports(self) -> list[int]:
        children = [child.http_port for child in self._supervisor.children if child.http_port]
        return [self._private.port, *children]

    def _show_metrics(self) -> None:
        supervisor, telemetry = self._supervisor, self._role.telemetry
        telemetry.watch(table.PROCESSES, lambda: self.settings.processes)
        telemetry.watch(table.PROCESSES_READY, lambda: supervisor.ready)
        telemetry.watch(table.PROCESSES_BEHIND, self._behind)
        telemetry.watch(table.PROCESS_RESTARTS, lambda: supervisor.restarts)

    def _behind(self) -> int:
        version = self._publisher.version
        return sum(child.is_behind(version) for child in self._supervisor.children)

    def _routes(self) -> dict[str, Route]:
        def processes() -> Reply:
            listed = [_described(place) for place in self._supervisor.places]
            return Reply(json.dumps(listed).encode(), content_type=JSON)

        return {
            **health_routes(self.not_ready, standing=self.standing),
            "/metrics": self._metrics,
            "/processes": processes,
        }

    async def _metrics(self) -> Reply:
        await self._pages.refresh(self._supervisor.children)
        return Reply(self._pages.together(self._supervisor.children), content_type=METRICS)


def _described(place: Place) -> dict[str, object]:
    """For people, and for programs that look after a server."""
    told: dict[str, object] = {"process": place.number, "restarts": place.restarts.count}
    child = place.child
    if child is None:
        return {**told, "state": "waiting"}
    took = child.took
    return {
        **told,
        "state": child.state,
        "pid": child.pid,
        "http": child.http_port,
        "snapshot": took.version[:12] if took else "",
        "refused": sorted(took.refused) if took else [],
    }
