"""Counts what a feature store reports, per entity and caller, and shows it.

Written and read on one event loop, so nothing is locked. Entities, groups and callers are those of
the schema and the settings, so the number of series is bounded by them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from inferflow._version import __version__
from inferflow.telemetry import feature_table, table
from inferflow.telemetry.histogram import LATENCY_S, ROWS, Histogram
from inferflow.telemetry.prometheus import Page, histograms, numbers

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric as Family


class Call(Protocol):
    """A call that has ended."""

    method: str
    entity: str
    caller: str
    outcome: str
    keys: int
    states: dict[str, dict[str, int]]
    duration_s: float


@dataclass(slots=True)
class _Method:
    duration: Histogram = field(default_factory=lambda: Histogram(LATENCY_S))
    keys: Histogram = field(default_factory=lambda: Histogram(ROWS))


class FeatureTally(Page):
    """Give it to a feature store as its observer; show `render()` under `/metrics`."""

    def __init__(self, *, with_process: bool = True) -> None:
        self._calls: Counter[tuple[str, str, str]] = Counter()
        self._callers: Counter[tuple[str, str, str]] = Counter()
        self._rows: Counter[tuple[str, str, str]] = Counter()
        self._methods: dict[tuple[str, str], _Method] = {}
        super().__init__(with_process=with_process)

    def call_ended(self, call: Call) -> None:
        self._calls[call.method, call.entity, call.outcome] += 1
        self._callers[call.caller, call.method, call.outcome] += 1
        found = self._methods.setdefault((call.method, call.entity), _Method())
        found.duration.add(call.duration_s)
        if call.keys:
            found.keys.add(call.keys)
        for group, states in call.states.items():
            self._add_rows(call.entity, group, states)

    def _add_rows(self, entity: str, group: str, states: Mapping[str, int]) -> None:
        for state, count in states.items():
            self._rows[entity, group, state] += count

    def collect(self) -> Iterator[Family]:
        yield numbers(table.BUILD_INFO, [((__version__,), 1.0)])
        yield numbers(feature_table.REQUESTS, list(self._calls.items()))
        yield numbers(feature_table.CALLER_REQUESTS, list(self._callers.items()))
        yield numbers(feature_table.ROWS, list(self._rows.items()))
        found = list(self._methods.items())
        yield histograms(
            feature_table.REQUEST_DURATION, [(at, each.duration) for at, each in found]
        )
        yield histograms(feature_table.REQUEST_KEYS, [(at, each.keys) for at, each in found])
