"""Counts what is asked of a gateway, and shows it.

Written and read on one event loop, so nothing is locked. Routes are those of the HTTP API, so the
number of series is bounded by them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from inferflow._version import __version__
from inferflow.telemetry import gateway_table, table
from inferflow.telemetry.histogram import LATENCY_S, Histogram
from inferflow.telemetry.prometheus import Page, histograms, numbers

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric as Family

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})


class GatewayTally(Page):
    """Tell it how each request was answered; show `render()` under `/metrics`."""

    def __init__(self, *, with_process: bool = True) -> None:
        self._answers: Counter[tuple[str, str, str]] = Counter()
        self._durations: dict[tuple[str, str], Histogram] = {}
        super().__init__(with_process=with_process)

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        method = method if method in _METHODS else "other"
        self._answers[method, route, str(status)] += 1
        found = self._durations.get((method, route))
        if found is None:
            found = self._durations[method, route] = Histogram(LATENCY_S)
        found.add(seconds)

    def collect(self) -> Iterator[Family]:
        yield numbers(table.BUILD_INFO, [((__version__,), 1.0)])
        yield numbers(gateway_table.REQUESTS, list(self._answers.items()))
        yield histograms(gateway_table.REQUEST_DURATION, list(self._durations.items()))
