"""What a worker of a fleet tells its manager once per period.

Gathered on the worker's event loop, where its models live, and sent from another thread; so what is
sent is what was last gathered. How often keys were used is told as what was added since the last
report that arrived.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from inferflow.client.manager.calls import declared
from inferflow.serving.worker.resident import Resident
from inferflow.telemetry.histogram import LATENCY_S
from inferflow.telemetry.recent import Recent

if TYPE_CHECKING:
    from inferflow.app.worker import Worker
    from inferflow.client.manager.source import ManagerSource

Message = Any


class Reports:
    def __init__(self, worker: Worker, source: ManagerSource) -> None:
        import psutil

        self._worker = worker
        self._source = source
        self._process = psutil.Process()
        self._recent: Recent[tuple[str, str]] = Recent(LATENCY_S)
        self._gathered: Message = declared("WorkerReport")()
        self._totals: dict[str, tuple[int, int]] = {}
        self._told: Counter[str] = Counter()
        self._told_failed: Counter[str] = Counter()

    def gather(self) -> None:
        """On the worker's event loop."""
        tallies = self._worker.tally.versions()
        self._recent.look({key: tally.duration.counts for key, tally in tallies.items()})
        residents = [each for each in self._worker.host.residents() if _is_worth_telling(each)]
        message = declared("WorkerReport")(
            cpu_percent=self._process.cpu_percent(None),
            memory_bytes=self._process.memory_info().rss,
            in_flight=sum(each.lane.in_flight for each in residents if each.lane),
            queued=sum(each.lane.waiting for each in residents if each.lane),
            requests=sum(tally.duration.count for tally in tallies.values()),
            failures=sum(_failures(tally.outcomes) for tally in tallies.values()),
            **_latency(self._recent.overall()),
        )
        for device in self._worker.devices.look():
            message.devices.add(
                kind="cuda",
                index=device.index,
                name=device.name,
                memory_bytes=device.memory_bytes,
                memory_used_bytes=device.used_bytes,
                utilisation=device.busy_percent / 100,
            )
        for resident in residents:
            self._add(message, resident)
        self._totals = self._worker.tally.key_totals()
        self._gathered = message

    def message(self) -> Message:
        """What was gathered, with what keys were used for since. From the sender's thread."""
        message = declared("WorkerReport")()
        message.CopyFrom(self._gathered)
        for key, (asked, failed) in self._totals.items():
            if asked > self._told[key]:
                message.usage[key] = asked - self._told[key]
            if failed > self._told_failed[key]:
                message.usage_failed[key] = failed - self._told_failed[key]
        return message

    def arrived(self, message: Message) -> None:
        """A manager has it. From the sender's thread."""
        self._told.update(dict(message.usage))
        self._told_failed.update(dict(message.usage_failed))

    def _add(self, message: Message, resident: Resident) -> None:
        key = (resident.model, resident.version)
        tally = self._worker.tally.versions().get(key)
        message.models.add(
            model=resident.model,
            version=resident.version,
            digest=resident.digest,
            memory_bytes=resident.memory_bytes,
            requests=tally.duration.count if tally else 0,
            failures=_failures(tally.outcomes) if tally else 0,
            state=_state(resident),
            reason=self._source.corrupt.get(key, resident.failure),
            is_corrupt=key in self._source.corrupt,
            **_latency(self._recent.percentiles(key)),
        )


def _is_worth_telling(resident: Resident) -> bool:
    """Versions that are only known are not: the manager told of them."""
    return resident.lane is not None or resident.loading is not None or bool(resident.failure)


def _state(resident: Resident) -> str:
    if resident.lane is not None:
        return "ready"
    return "loading" if resident.loading is not None else "failed"


def _failures(outcomes: dict[str, int]) -> int:
    return sum(count for outcome, count in outcomes.items() if outcome != "ok")


def _latency(seconds: tuple[float, ...]) -> dict[str, float]:
    names = ("latency_p50_ms", "latency_p95_ms", "latency_p99_ms")
    return {name: value * 1000 for name, value in zip(names, seconds, strict=True)}
