"""What roles have for those who operate them, for as long as they run: logs, traces, metrics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from inferflow.app.drift_settings import open_drift
from inferflow.app.settings import Settings
from inferflow.engine.observer import Observer
from inferflow.telemetry import Telemetry, open_logs, open_telemetry
from inferflow.telemetry.tracing import Tracing, TracingOptions, open_tracing


@contextmanager
def operating(settings: Settings, role: str) -> Iterator[None]:
    """Log and trace as the settings say, until the block is left."""
    logs = open_logs(settings.telemetry.chosen())
    try:
        tracing = trace_role(settings, role)
        try:
            yield
        finally:
            tracing.close()
    finally:
        logs.close()


def trace_role(settings: Settings, role: str) -> Tracing:
    """Trace from now on, as the settings say. Raises InvalidInput or MissingExtra."""
    table, telemetry = settings.tracing, settings.telemetry
    return open_tracing(
        TracingOptions(
            endpoint=table.collector(),
            over_http=table.is_http,
            sampling=table.sampling(),
            service=table.service_name,
            default_service=f"{telemetry.app_name}-{role}",
            env=telemetry.app_env,
        )
    )


def watch_serving(settings: Settings, also: Sequence[Observer]) -> Telemetry:
    """All that watches a process that runs plans: metrics, traces, drift, and whoever else wants
    to. Raises InvalidInput or MissingExtra."""
    tracing = trace_role(settings, "serve")
    drift = open_drift(settings.drift)
    watching = [*also, *tracing.observers, *([drift] if drift is not None else [])]
    telemetry = open_telemetry(settings.telemetry.chosen(), watching)
    telemetry.hold(tracing.close)
    if drift is not None:
        telemetry.watch_drift(drift)
        telemetry.hold(drift.close)
    return telemetry
