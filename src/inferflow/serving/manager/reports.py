"""What a worker says of itself once per period, as plain values.

Kept with the worker in the store, so that every manager knows what one of them was told. Fields
that are not known here, written by a newer manager, are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from inferflow.serving.manager.fleet import Load

READY, FAILED = "ready", "failed"


@dataclass(frozen=True, slots=True)
class DeviceReport:
    kind: str
    """`cpu` or `cuda`."""
    index: int = 0
    name: str = ""
    memory_bytes: int = 0
    memory_used_bytes: int = 0
    utilisation: float = 0.0
    """0 to 1."""


@dataclass(frozen=True, slots=True)
class Latency:
    """Of recent requests, in milliseconds."""

    p50_ms: float = 0.0
    p95_ms: float = 0.0
    p99_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class ModelReport:
    """One version of a model as one worker has it."""

    model: str
    version: str
    state: str = READY
    """`loading`, `ready`, `failed` or `unloading`."""
    digest: str = ""
    memory_bytes: int = 0
    requests: int = 0
    failures: int = 0
    latency: Latency = Latency()
    reason: str = ""
    is_corrupt: bool = False
    """Its files are not what the registry says they are."""


@dataclass(frozen=True, slots=True)
class WorkerReport:
    cpu_percent: float = 0.0
    memory_bytes: int = 0
    in_flight: int = 0
    queued: int = 0
    requests: int = 0
    failures: int = 0
    latency: Latency = Latency()
    devices: tuple[DeviceReport, ...] = ()
    models: tuple[ModelReport, ...] = ()

    def load(self) -> Load:
        """As far as choosing goes."""
        return Load(
            self.in_flight,
            self.queued,
            loaded=frozenset((m.model, m.version) for m in self.models if m.state == READY),
            failed=frozenset((m.model, m.version) for m in self.models if m.state == FAILED),
        )

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def report_from(written: Mapping[str, Any]) -> WorkerReport:
    """What `as_dict` wrote; an empty report for a worker that has not said anything."""
    report = _made(WorkerReport, written, ("latency", "devices", "models"))
    return WorkerReport(
        **report,
        latency=_latency(written),
        devices=tuple(DeviceReport(**_made(DeviceReport, d)) for d in written.get("devices", ())),
        models=tuple(
            ModelReport(**_made(ModelReport, m, ("latency",)), latency=_latency(m))
            for m in written.get("models", ())
        ),
    )


def _latency(written: Mapping[str, Any]) -> Latency:
    return Latency(**_made(Latency, written.get("latency", {})))


def _made(kind: type[Any], written: Mapping[str, Any], without: tuple[str, ...] = ()) -> Any:
    known = {each.name for each in fields(kind)}.difference(without)
    return {name: value for name, value in written.items() if name in known}
