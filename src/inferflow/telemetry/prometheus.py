"""Shows a tally in the Prometheus text format, with a registry of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Protocol

from inferflow._version import __version__
from inferflow.errors import MissingExtra
from inferflow.telemetry import table
from inferflow.telemetry.histogram import Histogram
from inferflow.telemetry.table import Metric
from inferflow.telemetry.tally import SERVICES, Tally

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric as Family
    from prometheus_client.registry import CollectorRegistry

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Labels = tuple[str, ...]
Series = Iterable[tuple[Labels, float]]


class Collector(Protocol):
    """Whatever has families to show."""

    def collect(self) -> Iterable[Family]: ...


class Page(ABC):
    """The metrics of one role: what is collected here, and whatever else is to be shown."""

    def __init__(self, *, with_process: bool = True) -> None:
        """To be called last, for the library may ask at once. Raises MissingExtra."""
        self._registry = _new_registry(self, with_process=with_process)

    @abstractmethod
    def collect(self) -> Iterable[Family]:
        """Called by the library for each rendering."""

    def show(self, collector: Collector) -> None:
        """From now on, on the same page."""
        self._registry.register(collector)

    def render(self) -> bytes:
        """In the Prometheus text format."""
        from prometheus_client import generate_latest

        return generate_latest(self._registry)


class Exposition(Page):
    """A process's metrics as text. `gauges` are read when asked for."""

    def __init__(self, tally: Tally, *, with_process: bool = True) -> None:
        self._tally = tally
        self._gauges: dict[Metric, Callable[[], Series]] = {}
        super().__init__(with_process=with_process)

    def watch(self, metric: Metric, read: Callable[[], float]) -> None:
        """Show what `read` says as this gauge, which has no labels."""
        self.watch_series(metric, lambda: [((), read())])

    def watch_series(self, metric: Metric, read: Callable[[], Series]) -> None:
        """The same for one that has labels."""
        self._gauges[metric] = read

    def collect(self) -> Iterator[Family]:
        yield numbers(table.BUILD_INFO, [((__version__,), 1.0)])
        for metric, read in list(self._gauges.items()):
            yield numbers(metric, read())
        with self._tally.lock:  # families are copies, so the text is made outside
            self._tally.settle()
            families = [*self._requests(), *self._steps(), *self._calls(), *self._rare()]
        yield from families

    def _requests(self) -> Iterator[Family]:
        tally = self._tally
        requests = [request for c in tally.configs.values() for request in c.modes.values()]
        yield numbers(
            table.REQUESTS,
            [((r.config, r.mode, how), n) for r in requests for how, n in r.outcomes.items()],
        )
        yield histograms(
            table.REQUEST_DURATION, [((r.config, r.mode), r.duration) for r in requests]
        )
        yield histograms(table.REQUEST_ROWS, [((r.config, r.mode), r.rows) for r in requests])
        running = [((c.config,), max(0, c.in_flight)) for c in tally.configs.values()]
        yield numbers(table.IN_FLIGHT, running)
        yield histograms(table.SERVER_CALLS, list(tally.server_calls.items()))

    def _steps(self) -> Iterator[Family]:
        steps = [((s.config, s.step, s.kind), s) for s in self._tally.steps.values()]
        yield histograms(table.STEP_DURATION, [(at, s.duration) for at, s in steps])
        yield numbers(
            table.STEP_ERRORS, [((*at, *how), n) for at, s in steps for how, n in s.errors.items()]
        )
        features = [(at, s) for at, s in steps if s.kind == "feature"]
        yield numbers(table.STEP_FEATURES, [(at, s.features) for at, s in features])
        cached = [(at, s) for at, s in features if s.cache_requests]
        yield numbers(table.CACHE_REQUESTS, [(at, s.cache_requests) for at, s in cached])
        yield numbers(table.CACHE_MISSES, [(at, s.cache_misses) for at, s in cached])
        yield numbers(
            table.STEP_CONVERSION, [(at, s.conversion_s) for at, s in steps if s.conversion_s]
        )
        yield numbers(table.STEP_NANS, [(at, s.nans) for at, s in steps if s.nans])

    def _calls(self) -> Iterator[Family]:
        calls = [
            ((s.config, s.step, SERVICES.get(s.kind, s.kind), endpoint), call)
            for s in self._tally.steps.values()
            for endpoint, call in s.calls.items()
        ]
        yield numbers(table.CALLS, [(at, call.calls) for at, call in calls])
        yield histograms(table.CALL_DURATION, [(at, call.duration) for at, call in calls])
        yield numbers(table.CALL_KEYS, [(at, call.keys) for at, call in calls if call.keys])

    def _rare(self) -> Iterator[Family]:
        for metric, counts in self._tally.counts.items():
            yield numbers(metric, list(counts.items()))


def _new_registry(collector: Collector, *, with_process: bool) -> CollectorRegistry:
    try:
        import prometheus_client
    except ModuleNotFoundError as missing:
        raise MissingExtra("serve", for_what="the metrics page") from missing
    registry = prometheus_client.CollectorRegistry(auto_describe=False)
    registry.register(collector)
    if with_process:
        prometheus_client.ProcessCollector(registry=registry)
        prometheus_client.PlatformCollector(registry=registry)
        prometheus_client.GCCollector(registry=registry)
    return registry


def numbers(metric: Metric, series: Iterable[tuple[Labels, float]]) -> Family:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    kind = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
    family = kind(metric.name, metric.help, labels=metric.labels)
    for labels, value in series:
        family.add_metric(labels, value)
    return family


def histograms(metric: Metric, series: Iterable[tuple[Labels, Histogram]]) -> Family:
    from prometheus_client.core import HistogramMetricFamily

    family = HistogramMetricFamily(metric.name, metric.help, labels=metric.labels)
    for labels, histogram in series:
        if histogram.count:
            family.add_metric(labels, histogram.cumulative(), histogram.total)
    return family
