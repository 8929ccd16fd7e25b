"""What every role has for those who operate it, for as long as it runs: logs and traces."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from inferflow.app.settings import Settings
from inferflow.telemetry import open_logs
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
            sampling=table.sampling(),
            service=table.service_name,
            default_service=f"{telemetry.app_name}-{role}",
            env=telemetry.app_env,
        )
    )
