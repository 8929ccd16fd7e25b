"""The `serve` role: one process that answers scoring calls with the configs of a project.

It serves until it is asked to end (SIGTERM, Ctrl-C), then drains as every role does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from inferflow.api.guarded_routes import guarded_trees
from inferflow.api.http import TreeRoute
from inferflow.api.insight import WhyNot, insight
from inferflow.api.log_schema import log_schema_trees
from inferflow.api.operate import SERVICE as OPERATE
from inferflow.api.operate import Desk, operate_handlers, operate_trees
from inferflow.api.service import SERVICES, CallPolicy, ScoringService
from inferflow.app.lifetime import keep_what_is_loaded, stop_signals
from inferflow.app.listener import Listener, MetricsPage
from inferflow.app.recordings.records import Records
from inferflow.app.security import open_security
from inferflow.app.serve_settings import ServeSettings
from inferflow.app.wiring import Embedded
from inferflow.engine.observer import Observer
from inferflow.engine.scorer import Scorer
from inferflow.plan.book import LiveSplit
from inferflow.rpc.admission import Admission
from inferflow.rpc.options import MIB, ServerOptions

if TYPE_CHECKING:
    from inferflow.app.role import Role

Listeners = list[Callable[[Any], Any]]

_FEWEST_PENDING = 128
"""However few calls may be under way, so many can come at once and get an answer of ours."""


class Serving(Listener):
    """A running server. Made by `start`."""

    role = "serve"
    service: ScoringService

    def __init__(self, embedded: Embedded) -> None:
        super().__init__(embedded.settings.serve)
        self._embedded = embedded

    @property
    def settings(self) -> ServeSettings:
        return self._embedded.settings.serve

    def why_not_ready(self) -> str:
        return self._embedded.not_ready()

    async def last_call(self) -> None:
        await self.service.let_all_in()

    async def close(self) -> None:
        await super().close()
        self.service.close()


Beside = Callable[[Serving], AbstractAsyncContextManager[object]]
"""Something that runs as long as a server does, and needs to know where that listens."""


async def start(
    embedded: Embedded,
    *,
    observer: Observer | None = None,
    metrics: MetricsPage | None = None,
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
        refusals=security.gate.refusals,
    )
    handlers = [*serving.service.handlers(), *([] if desk is None else operate_handlers(desk))]
    all_trees = {**_trees(records, why_not, is_private=shared), **(trees or {})}
    try:
        await serving.open_ports(
            security.guarded(handlers),
            services=SERVICES if desk is None else (*SERVICES, OPERATE),
            security=security,
            metrics=metrics,
            trees=all_trees if shared else guarded_trees(all_trees, security.gate),
            options=ServerOptions(
                max_receive_bytes=int(settings.max_message_mb * MIB),
                max_pending=max(_FEWEST_PENDING, settings.max_in_flight // 4),
                share_port=shared,
            ),
            private_http=shared,
        )
    except BaseException:
        serving.service.close()
        raise
    await serving.tell_health()
    return serving


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
    metrics: MetricsPage | None = None,
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
        metrics=role.telemetry,
        records=role.records,
        trees=log_schema_trees(role.schemas.find),
        on_reload=role.on_reload,
        beside=beside,
    )
