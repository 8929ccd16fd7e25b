"""What a manager knows, as metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from inferflow.serving.manager.fleet import WorkerState
from inferflow.serving.manager.reports import Latency, ModelReport, WorkerReport
from inferflow.serving.manager.services import Services
from inferflow.serving.manager.storage.records import Stage
from inferflow.telemetry import manager_table as m
from inferflow.telemetry.manager_tally import ManagerTally
from inferflow.telemetry.table import Metric

Series = Iterable[tuple[tuple[str, ...], float]]


def watch_services(
    tally: ManagerTally, services: Services, leads: Callable[[], bool], now_ms: Callable[[], int]
) -> None:
    """Show the registry, the fleet and what its workers tell."""

    def versions() -> Series:
        found = Counter(
            version.stage
            for model in services.live.snapshot.models.values()
            for version in model.versions
        )
        return [((stage.value,), found[stage]) for stage in Stage]

    def problems() -> Series:
        models = services.live.snapshot.models.values()
        return [((), sum(bool(v.problem) for model in models for v in model.versions))]

    def keys() -> Series:
        cards = services.live.keybook.cards()
        return [((), sum(card.is_live(now_ms()) for card in cards))]

    tally.watch(m.VERSIONS, versions)
    tally.watch(m.PROBLEMS, problems)
    tally.watch(m.KEYS, keys)
    tally.watch(m.LEADS, lambda: [((), float(leads()))])
    _watch_workers(tally, services)
    _watch_models(tally, services)


def _watch_workers(tally: ManagerTally, services: Services) -> None:
    def counts() -> Series:
        found = Counter(known.state for known in services.roster.known())
        return [((state.value,), found[state]) for state in WorkerState]

    def states() -> Series:
        return [((k.record.worker_id, k.state.value), 1.0) for k in services.roster.known()]

    def each(read: Callable[[WorkerReport], float]) -> Callable[[], Series]:
        return lambda: [((k.record.worker_id,), read(k.report)) for k in services.roster.known()]

    def latency() -> Series:
        for known in services.roster.known():
            yield from _quantiles((known.record.worker_id,), known.report.latency)

    tally.watch(m.WORKERS, counts)
    tally.watch(m.WORKER_STATE, states)
    tally.watch(m.WORKER_CPU, each(lambda report: report.cpu_percent / 100))
    tally.watch(m.WORKER_MEMORY, each(lambda report: report.memory_bytes))
    tally.watch(m.WORKER_IN_FLIGHT, each(lambda report: report.in_flight))
    tally.watch(m.WORKER_QUEUED, each(lambda report: report.queued))
    tally.watch(m.WORKER_REQUESTS, each(lambda report: report.requests))
    tally.watch(m.WORKER_FAILURES, each(lambda report: report.failures))
    tally.watch(m.WORKER_LATENCY, latency)


def _watch_models(tally: ManagerTally, services: Services) -> None:
    def models() -> Iterator[tuple[tuple[str, str, str], ModelReport]]:
        for known in services.roster.known():
            for model in known.report.models:
                yield (known.record.worker_id, model.model, model.version), model

    def each(read: Callable[[ModelReport], float]) -> Callable[[], Series]:
        return lambda: [(at, read(model)) for at, model in models()]

    def latency() -> Series:
        for at, model in models():
            yield from _quantiles(at, model.latency)

    def devices(metric: Metric) -> Callable[[], Series]:
        return lambda: [
            (
                (known.record.worker_id, str(device.index)),
                device.memory_used_bytes if metric is m.DEVICE_USED else device.utilisation,
            )
            for known in services.roster.known()
            for device in known.report.devices
        ]

    tally.watch(m.DEVICE_USED, devices(m.DEVICE_USED))
    tally.watch(m.DEVICE_BUSY, devices(m.DEVICE_BUSY))
    tally.watch(m.MODEL_REQUESTS, each(lambda model: model.requests))
    tally.watch(m.MODEL_FAILURES, each(lambda model: model.failures))
    tally.watch(m.MODEL_MEMORY, each(lambda model: model.memory_bytes))
    tally.watch(m.MODEL_LATENCY, latency)


def _quantiles(at: tuple[str, ...], latency: Latency) -> Series:
    yield (*at, "0.5"), latency.p50_ms / 1000
    yield (*at, "0.95"), latency.p95_ms / 1000
    yield (*at, "0.99"), latency.p99_ms / 1000
