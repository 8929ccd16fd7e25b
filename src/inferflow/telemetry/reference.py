"""Prints the tables of `docs/reference/metrics.md`, so that the page cannot say anything else.

python -m inferflow.telemetry.reference docs/reference/metrics.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from inferflow.errors import InvalidInput
from inferflow.telemetry.compute_table import COMPUTE_METRICS, COMPUTE_STATSD
from inferflow.telemetry.door_table import DOOR_METRICS
from inferflow.telemetry.errortypes import ERROR_TYPES
from inferflow.telemetry.feature_table import FEATURE_METRICS
from inferflow.telemetry.gateway_table import GATEWAY_METRICS
from inferflow.telemetry.histogram import LATENCY_S, ROWS
from inferflow.telemetry.manager_table import MANAGER_METRICS
from inferflow.telemetry.statsd_table import STATSD, StatsdMetric
from inferflow.telemetry.table import METRICS, Metric
from inferflow.telemetry.worker_table import WORKER_METRICS

BEGIN, END = "<!-- printed: begin -->", "<!-- printed: end -->"


def tables() -> str:
    """The part of the page that is printed."""
    lines = [
        "## Prometheus",
        "",
        *_prometheus(METRICS),
        "",
        "## Prometheus, of every role",
        "",
        *_prometheus(DOOR_METRICS),
        "",
        "## Prometheus, of a worker",
        "",
        *_prometheus(WORKER_METRICS),
        "",
        "## Prometheus, of a manager",
        "",
        *_prometheus(MANAGER_METRICS),
        "",
        "## Prometheus, of a compute service",
        "",
        *_prometheus(COMPUTE_METRICS),
        "",
        "## Prometheus, of a feature store",
        "",
        *_prometheus(FEATURE_METRICS),
        "",
        "## Prometheus, of a gateway",
        "",
        *_prometheus(GATEWAY_METRICS),
        "",
        "Buckets of durations, in seconds: " + ", ".join(f"{bound:g}" for bound in LATENCY_S) + ".",
        "",
        "Buckets of batch sizes: " + ", ".join(f"{bound:g}" for bound in ROWS) + ".",
        "",
        "Error types: " + _listed(ERROR_TYPES) + ".",
        "",
        "## StatsD",
        "",
        *_statsd(STATSD.values()),
        "",
        "## StatsD, of a compute service",
        "",
        *_statsd(COMPUTE_STATSD.values()),
    ]
    return "\n".join(lines)


def _prometheus(metrics: tuple[Metric, ...]) -> list[str]:
    return [
        "| Metric | Kind | Labels | Meaning | Processes |",
        "|---|---|---|---|---|",
        *(
            f"| `{metric.name}` | {metric.kind} | {_listed(metric.labels)} | {metric.help} "
            f"| {metric.merge} |"
            for metric in metrics
        ),
    ]


def _statsd(metrics: Iterable[StatsdMetric]) -> list[str]:
    return [
        "| Metric | Kind | Tags | Meaning | Also known as (not sent) |",
        "|---|---|---|---|---|",
        *(
            f"| `{metric.name}` | {metric.kind} | {_listed(metric.tags)} | {metric.help} "
            f"| {_listed((metric.also,) if metric.also else ())} |"
            for metric in metrics
        ),
    ]


def page(written: str) -> str:
    """A page with its tables brought up to date; the rest of it stays."""
    return with_printed(written, tables())


def with_printed(written: str, printed: str) -> str:
    """A page with its printed part replaced."""
    before, begun, rest = written.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not begun or not ended:
        raise InvalidInput(f"the page has no place between {BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n{printed}\n\n{END}{after}"


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(page(path.read_text(encoding="utf-8")), encoding="utf-8")
