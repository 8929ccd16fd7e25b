"""Counts what a worker reports, per version of a model, and shows it.

Written and read on one event loop, so nothing is locked. The number of series is bounded: whatever
comes when all places are taken, such as the names of models that do not exist, counts as `other`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from inferflow._version import __version__
from inferflow.telemetry import table, worker_table
from inferflow.telemetry.histogram import LATENCY_S, ROWS, Histogram
from inferflow.telemetry.prometheus import Page, histograms, numbers
from inferflow.telemetry.table import Metric

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric as Family

OTHER = "other"
_MOST_MODELS = 1_000
_MOST_KEYS = 1_000

Labels = tuple[str, ...]
Read = Callable[[], Iterable[tuple[Labels, float]]]


def _latency() -> Histogram:
    return Histogram(LATENCY_S)


def _rows() -> Histogram:
    return Histogram(ROWS)


@dataclass(slots=True)
class VersionTally:
    outcomes: dict[str, int] = field(default_factory=lambda: {"ok": 0})
    duration: Histogram = field(default_factory=_latency)
    rows: Histogram = field(default_factory=_rows)
    run: Histogram = field(default_factory=_latency)
    batch_rows: Histogram = field(default_factory=_rows)
    batch_requests: Histogram = field(default_factory=_rows)
    releases: dict[str, int] = field(default_factory=dict)
    queue: Histogram = field(default_factory=_latency)
    loads: dict[str, int] = field(default_factory=dict)
    load: Histogram = field(default_factory=_latency)
    unloads: dict[str, int] = field(default_factory=dict)


class WorkerTally(Page):
    """Give it to a worker as its observer; show `render()` under `/metrics`."""

    def __init__(self, *, with_process: bool = True) -> None:
        self._versions: dict[tuple[str, str], VersionTally] = {}
        self._keys: dict[Labels, int] = {}
        self._used: dict[str, list[int]] = {}
        self._gauges: dict[Metric, Read] = {}
        super().__init__(with_process=with_process)

    def watch(self, metric: Metric, read: Read) -> None:
        """Show what `read` says, by labels, as this gauge."""
        self._gauges[metric] = read

    # --- what a worker reports --------------------------------------------------------------

    def request_ended(
        self, model: str, version: str, outcome: str, rows: int, duration_s: float, key: str
    ) -> None:
        tally = self._version(model or OTHER, version)
        tally.outcomes[outcome] = tally.outcomes.get(outcome, 0) + 1
        tally.duration.add(duration_s)
        if rows:
            tally.rows.add(rows)
        if key:
            labels: Labels = (key, model or OTHER, outcome)
            if labels not in self._keys and len(self._keys) >= _MOST_KEYS:
                labels = (OTHER, OTHER, outcome)
            self._keys[labels] = self._keys.get(labels, 0) + 1
            used = self._used.setdefault(key, [0, 0])
            used[0] += 1
            used[1] += outcome != "ok"

    def batch_ran(
        self, model: str, version: str, requests: int, rows: int, reason: str, run_s: float
    ) -> None:
        tally = self._version(model, version)
        tally.run.add(run_s)
        tally.batch_rows.add(rows)
        tally.batch_requests.add(requests)
        tally.releases[reason] = tally.releases.get(reason, 0) + 1

    def queue_left(self, model: str, version: str, waited_s: float) -> None:
        self._version(model, version).queue.add(waited_s)

    def loaded(self, model: str, version: str, seconds: float) -> None:
        tally = self._version(model, version)
        tally.loads["ok"] = tally.loads.get("ok", 0) + 1
        tally.load.add(seconds)

    def load_failed(self, model: str, version: str) -> None:
        tally = self._version(model, version)
        tally.loads["failed"] = tally.loads.get("failed", 0) + 1

    def unloaded(self, model: str, version: str, why: str) -> None:
        tally = self._version(model, version)
        tally.unloads[why] = tally.unloads.get(why, 0) + 1

    def _version(self, model: str, version: str) -> VersionTally:
        found = self._versions.get((model, version))
        if found is None:
            key = (model, version) if len(self._versions) < _MOST_MODELS else (OTHER, OTHER)
            found = self._versions.setdefault(key, VersionTally())
        return found

    # --- what a manager is told -------------------------------------------------------------

    def key_totals(self) -> dict[str, tuple[int, int]]:
        """Requests since the start by the API key behind them, and how many of them failed."""
        return {key: (asked, failed) for key, (asked, failed) in self._used.items()}

    def versions(self) -> dict[tuple[str, str], VersionTally]:
        """What was counted by model and version. Not to be changed."""
        return self._versions

    # --- what is shown ----------------------------------------------------------------------

    def collect(self) -> Iterator[Family]:
        yield numbers(table.BUILD_INFO, [((__version__,), 1.0)])
        for metric, read in self._gauges.items():
            yield numbers(metric, read())
        yield numbers(worker_table.KEY_REQUESTS, list(self._keys.items()))
        yield from self._counts()
        yield from self._histograms()

    def _counts(self) -> Iterator[Family]:
        for metric, name in (
            (worker_table.REQUESTS, "outcomes"),
            (worker_table.RELEASES, "releases"),
            (worker_table.LOADS, "loads"),
            (worker_table.UNLOADS, "unloads"),
        ):
            series = [
                ((*at, label), count)
                for at, tally in self._versions.items()
                for label, count in getattr(tally, name).items()
            ]
            yield numbers(metric, series)

    def _histograms(self) -> Iterator[Family]:
        for metric, name in (
            (worker_table.REQUEST_DURATION, "duration"),
            (worker_table.REQUEST_ROWS, "rows"),
            (worker_table.RUN_DURATION, "run"),
            (worker_table.BATCH_ROWS, "batch_rows"),
            (worker_table.BATCH_REQUESTS, "batch_requests"),
            (worker_table.QUEUE_DURATION, "queue"),
            (worker_table.LOAD_DURATION, "load"),
        ):
            yield histograms(
                metric, [(at, getattr(tally, name)) for at, tally in self._versions.items()]
            )
