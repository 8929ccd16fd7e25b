"""Counts what a compute service reports, per expression and caller, and shows it.

Written and read on one event loop, so nothing is locked. The number of series is bounded: callers
that come when all places are taken count as `other`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from inferflow._version import __version__
from inferflow.telemetry import compute_table, table
from inferflow.telemetry.compute_call import OTHER, Call, error_types
from inferflow.telemetry.compute_statsd import ComputeStatsd
from inferflow.telemetry.histogram import LATENCY_S, ROWS, Histogram
from inferflow.telemetry.prometheus import Page, histograms, numbers
from inferflow.telemetry.table import Metric

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric as Family

_MOST = 1_000


@dataclass(slots=True)
class _Expression:
    duration: Histogram = field(default_factory=lambda: Histogram(LATENCY_S))
    rows: Histogram = field(default_factory=lambda: Histogram(ROWS))


class ComputeTally(Page):
    """Give it to a compute service as its observer; show `render()` under `/metrics`."""

    def __init__(self, statsd: ComputeStatsd | None = None, *, with_process: bool = True) -> None:
        self._statsd = statsd
        self._calls: dict[tuple[str, str, str], int] = {}
        self._invalid: dict[tuple[str, str], int] = {}
        self._expressions: dict[str, _Expression] = {}
        self._gauges: dict[Metric, Callable[[], float]] = {}
        super().__init__(with_process=with_process)

    def watch(self, metric: Metric, read: Callable[[], float]) -> None:
        """Show what `read` says as this gauge."""
        self._gauges[metric] = read

    def call_ended(self, call: Call) -> None:
        compute_id = call.compute_id or OTHER
        key = (compute_id, call.caller, call.outcome)
        if key not in self._calls and len(self._calls) >= _MOST:
            key = (OTHER, OTHER, call.outcome)
        self._calls[key] = self._calls.get(key, 0) + 1
        if compute_id not in self._expressions and len(self._expressions) >= _MOST:
            compute_id = OTHER
        found = self._expressions.setdefault(compute_id, _Expression())
        found.duration.add(call.duration_s)
        if call.rows:
            found.rows.add(call.rows)
        for kind in error_types(call):
            self._invalid[compute_id, kind] = self._invalid.get((compute_id, kind), 0) + 1
        if self._statsd is not None:
            self._statsd.call_ended(call)

    def collect(self) -> Iterator[Family]:
        yield numbers(table.BUILD_INFO, [((__version__,), 1.0)])
        for metric, read in self._gauges.items():
            yield numbers(metric, [((), read())])
        yield numbers(compute_table.REQUESTS, list(self._calls.items()))
        yield numbers(compute_table.INVALID_OPERATIONS, list(self._invalid.items()))
        found = [((name,), each) for name, each in self._expressions.items()]
        yield histograms(
            compute_table.REQUEST_DURATION, [(at, each.duration) for at, each in found]
        )
        yield histograms(compute_table.REQUEST_ROWS, [(at, each.rows) for at, each in found])
