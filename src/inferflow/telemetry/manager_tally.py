"""Counts what a manager reports, and shows it beside what is known of the fleet.

Written and read on one event loop, so nothing is locked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from inferflow._version import __version__
from inferflow.telemetry import manager_table, table
from inferflow.telemetry.histogram import LATENCY_S, Histogram
from inferflow.telemetry.prometheus import Page, histograms, numbers
from inferflow.telemetry.table import Metric

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric as Family

Labels = tuple[str, ...]
Read = Callable[[], Iterable[tuple[Labels, float]]]


class ManagerTally(Page):
    def __init__(self, *, with_process: bool = True) -> None:
        self._calls: Counter[Labels] = Counter()
        self._durations: dict[Labels, Histogram] = {}
        self._keys: Counter[str] = Counter()
        self._keys_failed: Counter[str] = Counter()
        self._failed_ticks = 0
        self._reads: dict[Metric, Read] = {}
        super().__init__(with_process=with_process)

    def watch(self, metric: Metric, read: Read) -> None:
        """Show what `read` says, by labels, under this name."""
        self._reads[metric] = read

    def call_ended(self, method: str, outcome: str, seconds: float) -> None:
        self._calls[method, outcome] += 1
        at = (method,)
        if at not in self._durations:
            self._durations[at] = Histogram(LATENCY_S)
        self._durations[at].add(seconds)

    def keys_used(self, requests: Mapping[str, int], failed: Mapping[str, int]) -> None:
        self._keys.update(requests)
        self._keys_failed.update(failed)

    def tick_failed(self) -> None:
        self._failed_ticks += 1

    def collect(self) -> Iterator[Family]:
        yield numbers(table.BUILD_INFO, [((__version__,), 1.0)])
        yield numbers(manager_table.CALLS, list(self._calls.items()))
        yield histograms(manager_table.CALL_DURATION, list(self._durations.items()))
        yield numbers(manager_table.FAILED_TICKS, [((), self._failed_ticks)])
        yield numbers(manager_table.KEY_REQUESTS, _by_key(self._keys))
        yield numbers(manager_table.KEY_FAILURES, _by_key(self._keys_failed))
        for metric, read in self._reads.items():
            yield numbers(metric, read())


def _by_key(counts: Mapping[str, int]) -> list[tuple[Labels, float]]:
    return [((key,), count) for key, count in counts.items()]
