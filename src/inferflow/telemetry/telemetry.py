"""Metrics and logs of one process, as its settings say."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Protocol, TextIO

from inferflow.engine.observer import Observer, Observers
from inferflow.telemetry import table
from inferflow.telemetry.accesslog import AccessLog
from inferflow.telemetry.drift_observer import DriftObserver
from inferflow.telemetry.eventlog import EventLog
from inferflow.telemetry.forecast import LoadForecast
from inferflow.telemetry.logs import Logs, setup_logs
from inferflow.telemetry.prometheus import Collector, Exposition
from inferflow.telemetry.settings import TelemetrySettings
from inferflow.telemetry.statsd import Flusher, StatsdObserver, open_client
from inferflow.telemetry.tally import Tally

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric as Family


class Cache(Protocol):
    """A cache whose size can be shown."""

    @property
    def size_bytes(self) -> int: ...

    @property
    def used_bytes(self) -> int: ...

    def __len__(self) -> int: ...


class Telemetry:
    """Give `observer` to every Scorer; show `render()` under `/metrics`; close at the end."""

    def __init__(
        self, observer: Observer, exposition: Exposition, statsd: StatsdObserver | None
    ) -> None:
        self.observer = observer
        self._exposition = exposition
        self._statsd = statsd
        self._flusher = None if statsd is None else Flusher(statsd)
        self._held: list[Callable[[], None]] = []

    def render(self) -> bytes:
        """This process's metrics in the Prometheus text format."""
        return self._exposition.render()

    def collect(self) -> Iterable[Family]:
        """The same before it becomes text."""
        return self._exposition.collect()

    def show(self, collector: Collector) -> None:
        """Metrics of others on the same page."""
        self._exposition.show(collector)

    def watch(self, metric: table.Metric, read: Callable[[], float]) -> None:
        """Show what `read` says as this metric, which has no labels."""
        self._exposition.watch(metric, read)

    def watch_drift(self, drift: DriftObserver) -> None:
        """Show how far columns have drifted, and whether anybody could be told."""
        self._exposition.watch_series(table.DRIFT, drift.distances)
        self._exposition.watch_series(table.DRIFTING, drift.drifting)
        self._exposition.watch_series(table.DRIFT_EPISODES, drift.episodes)
        self._exposition.watch_series(table.DRIFT_MESSAGES, drift.messages)

    def watch_cache(self, cache: Cache) -> None:
        """Show the size of the feature cache; a later one takes its place."""
        self._exposition.watch(table.CACHE_ITEMS, lambda: len(cache))
        self._exposition.watch(table.CACHE_BYTES, lambda: cache.used_bytes)
        self._exposition.watch(table.CACHE_LIMIT, lambda: cache.size_bytes)
        if self._statsd is not None:
            self._statsd.watch_cache(lambda: len(cache))

    def hold(self, close: Callable[[], None]) -> None:
        """Close this, too, at the end."""
        self._held.append(close)

    def close(self) -> None:
        """Send what is left."""
        while self._held:
            self._held.pop()()
        if self._flusher is not None:
            self._flusher.close()
            self._flusher = None


def open_logs(settings: TelemetrySettings, stream: TextIO | None = None) -> Logs:
    """Log lines as the settings say, to their file, else to the stream or standard error."""
    return setup_logs(
        settings.log_level,
        stream=stream,
        file=settings.log_file or None,
        json=None if settings.log_format == "auto" else settings.log_format == "json",
        values=settings.log_values,
        file_mb=settings.log_file_mb,
        files_kept=settings.log_files_kept,
    )


def open_telemetry(settings: TelemetrySettings, also: Sequence[Observer] = ()) -> Telemetry:
    """Metrics and logs, and whoever else wants to watch. Raises MissingExtra when a setting asks
    for something that is not installed."""
    tally = Tally(most_configs=settings.metric_configs)
    exposition = Exposition(tally)
    forecast = LoadForecast(tally.requests, clock=time.monotonic)
    exposition.watch(table.FORECAST, forecast.read)
    statsd = None
    if settings.telegraf_host:
        client = open_client(
            settings.telegraf_host,
            settings.telegraf_port,
            service=settings.app_name,
            env=settings.app_env,
        )
        statsd = StatsdObserver(client, sampling_rate=settings.metric_sampling_rate)
    events = EventLog(per_s=settings.log_errors_per_s, values=settings.log_values)
    access = AccessLog(per_s=settings.log_errors_per_s)
    sent = [] if statsd is None else [statsd]
    return Telemetry(Observers(tally, *sent, events, access, *also), exposition, statsd)
