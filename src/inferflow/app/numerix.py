"""The `numerix` role: one process that answers Compute calls with expressions it keeps up to date.

It serves until it is asked to end, then drains as every role does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from inferflow.api.numerix.service import SERVICE, ComputeService
from inferflow.app.compute_settings import ComputeSettings
from inferflow.app.expression_files import ExpressionSource, expression_files
from inferflow.app.kept_expressions import KeptExpressions
from inferflow.app.lifetime import keep_what_is_loaded, stop_signals
from inferflow.app.listener import Listener
from inferflow.app.live_expressions import Change, LiveExpressions, log_change
from inferflow.app.places import config_dir
from inferflow.app.security import PLAIN, Security, check_security, open_security
from inferflow.app.settings import Settings
from inferflow.app.watching import Watcher
from inferflow.errors import ConfigStoreFailed
from inferflow.rpc.admission import Admission
from inferflow.rpc.options import MIB, ServerOptions
from inferflow.telemetry import compute_table
from inferflow.telemetry.compute_statsd import ComputeStatsd
from inferflow.telemetry.compute_tally import ComputeTally
from inferflow.telemetry.settings import TelemetrySettings
from inferflow.telemetry.statsd import Flusher, open_client

KEPT = "compute_expressions.json"


class Numerix(Listener):
    """A running compute service. Made by `start_numerix`."""

    role = "numerix"

    def __init__(self, expressions: LiveExpressions, settings: ComputeSettings) -> None:
        super().__init__(settings)
        self.expressions = expressions
        self.settings = settings

    def why_not_ready(self) -> str:
        return "" if self.expressions.ids else "there are no expressions"


async def start_numerix(
    expressions: LiveExpressions,
    settings: ComputeSettings,
    tally: ComputeTally,
    security: Security = PLAIN,
) -> Numerix:
    """Listen on the ports the settings name, ready for calls. Raises InvalidInput when one is
    taken."""
    security.check_bind(settings.bind, settings.auth)
    numerix = Numerix(expressions, settings)
    service = ComputeService(
        expressions.find, admission=Admission(settings.max_in_flight), observer=tally
    )
    tally.watch(compute_table.EXPRESSIONS, lambda: len(expressions.ids))
    tally.watch(compute_table.PROBLEMS, lambda: len(expressions.problems))
    await numerix.open_ports(
        security.guarded(service.handlers()),
        services=(SERVICE,),
        security=security,
        metrics=tally,
        options=ServerOptions(max_receive_bytes=int(settings.max_message_mb * MIB)),
    )
    await numerix.tell_health()
    return numerix


async def compute(root: Path, settings: Settings, *, started: Callable[[Numerix], None]) -> None:
    """Serve until asked to end, then end politely. `started` is told where it listens."""
    check_security(settings, settings.compute)
    with closing(open_source(root, settings)) as source:
        await _compute(root, settings, source, started)


def open_source(root: Path, settings: Settings) -> ExpressionSource:
    """The files the settings name, else etcd where there is one, else the project's file. Raises
    InvalidInput when there is none."""
    chosen = settings.compute.expressions
    if settings.etcd.endpoints and not chosen:
        from inferflow.app.etcd_expressions import open_etcd_expressions

        return open_etcd_expressions(settings)
    return expression_files(root, chosen)


async def _compute(
    root: Path, settings: Settings, source: ExpressionSource, started: Callable[[Numerix], None]
) -> None:
    loop = asyncio.get_running_loop()
    numerix: Numerix | None = None

    def tell(change: Change) -> None:
        log_change(change)
        if numerix is not None:
            asyncio.run_coroutine_threadsafe(numerix.tell_health(), loop)

    kept = KeptExpressions(config_dir(root, settings) / KEPT)
    expressions = LiveExpressions(source, tell=tell, kept=kept)
    if expressions.ids:
        expressions.keep_looking()  # a source that cannot be read is told about, and asked again
    else:
        with suppress(ConfigStoreFailed):  # not ready until it answers, and the watcher says why
            expressions.look()
    with stop_signals() as (end, hurry), _counted(settings.telemetry.chosen()) as tally:
        security = open_security(settings, auth=settings.compute.auth)
        numerix = await start_numerix(expressions, settings.compute, tally, security)
        watcher = Watcher(root, expressions.keep_looking)
        try:
            keep_what_is_loaded()
            started(numerix)
            await end.wait()
            await numerix.drain(hurry)
        finally:
            await asyncio.to_thread(watcher.close)
            await numerix.close()


@contextmanager
def _counted(settings: TelemetrySettings) -> Iterator[ComputeTally]:
    """Metrics to be shown, and sent as well where the settings say so."""
    if not settings.telegraf_host:
        yield ComputeTally()
        return
    client = open_client(
        settings.telegraf_host,
        settings.telegraf_port,
        service=settings.app_name,
        env=settings.app_env,
    )
    statsd = ComputeStatsd(client, sampling_rate=settings.metric_sampling_rate)
    flusher = Flusher(statsd)
    try:
        yield ComputeTally(statsd)
    finally:
        flusher.close()
