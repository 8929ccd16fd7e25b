"""Sends the documented metrics to Telegraf or a Datadog agent, by their documented names.

Counts are added up here and sent once per interval, so they are exact whatever the sampling
rate. Timings are sent one by one for a share of the requests, and say which share. Packets are
UDP: nobody waits for them, and nobody learns that one was lost.

Tags are `key:value`. Where the original sends another name than it documents, the documented
one is sent; `table` notes the other.
"""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from inferflow.engine.observer import Observer, RequestStats
from inferflow.engine.recording import StepRecord
from inferflow.errors import MissingExtra
from inferflow.plan.plan import Plan, Step
from inferflow.telemetry.errortypes import upstream_error_type
from inferflow.telemetry.tally import features_per_key

if TYPE_CHECKING:
    from datadog.dogstatsd.base import DogStatsd

log = logging.getLogger(__name__)

Line = tuple[str, tuple[str, ...]]
"""A metric's name and its tags."""

SERVICES = {
    "feature": ("featurestore", "/FeatureService/retrieveFeatures"),
    "model": ("predator", "/ModelInfer"),
    "compute": ("numerix_service", "/NumerixService/Compute"),
}
CACHE_TAG = "cache_name:in_memory_cache_v1"

_MOST_TIMINGS = 20_000
"""Timings kept between two sendings; more are dropped, and reported."""
_MOST_BINDINGS = 1_000
_PILE = 32


class StatsdObserver(Observer):
    def __init__(
        self,
        client: DogStatsd,
        *,
        sampling_rate: float = 1.0,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._client = client
        self._rate = sampling_rate
        self._chance = chance
        self._lock = threading.Lock()
        self._pile: list[RequestStats] = []
        self._counts: dict[Line, int] = {}
        self._timings: list[tuple[Line, float]] = []
        self._dropped = 0
        self._bindings: dict[tuple[str, str], tuple[_StepLines, ...]] = {}
        self._cache_size: Callable[[], int] | None = None
        self._cache_keys = self._cache_misses = 0

    def watch_cache(self, size: Callable[[], int]) -> None:
        """Send how many rows the feature cache holds."""
        self._cache_size = size

    # --- what happens ------------------------------------------------------------------------

    def request_ended(self, request: RequestStats) -> None:
        with self._lock:
            self._pile.append(request)
            if len(self._pile) >= _PILE:
                self._settle()

    def call_ended(self, method: str, status: int, duration_s: float) -> None:
        tags = (tag("api", method), tag("status", str(status)))
        with self._lock:
            self._count(("inferflow.router.api.request.total", tags))
            if self._rate >= 1 or self._chance() < self._rate:
                self._time(("inferflow.router.api.request.latency", tags), duration_s * 1e3)

    def plan_live(self, config_id: str, version: str) -> None:  # noqa: ARG002  # no such tag
        with self._lock:
            self._count(("inferflow.plan.reload.total", (model_id(config_id),)))

    def plan_rejected(self, config_id: str, problems: int) -> None:  # noqa: ARG002
        with self._lock:
            self._count(("inferflow_config_schema_parsing_error", (model_id(config_id),)))

    def arm_chosen(self, experiment: str, config_id: str) -> None:
        tags = (tag("experiment", experiment), model_id(config_id))
        with self._lock:
            self._count(("inferflow.experiment.request.total", tags))

    def logs_sent(self, config_id: str, messages: int) -> None:
        with self._lock:
            self._count(("inferflow.logging.kafka_sent", (model_id(config_id),)), messages)

    def logs_failed(self, config_id: str, why: str, messages: int) -> None:
        tags = (model_id(config_id), tag("error", why))
        with self._lock:
            self._count(("inferflow.logging.error", tags), messages)

    # --- what is kept of it ------------------------------------------------------------------

    def _settle(self) -> None:
        """Count what is on the pile; many at a time for the reason `tally` gives."""
        pile, self._pile = self._pile, []
        for request in pile:
            is_timed = self._rate >= 1 or self._chance() < self._rate
            self._request(request, is_timed)
            for lines, record in zip(self._bound(request.plan), request.steps, strict=True):
                if record.duration_us:
                    self._step(lines, record, is_timed)

    def _request(self, request: RequestStats, is_timed: bool) -> None:
        config = model_id(request.plan.config_id)
        if request.mode == "legacy":
            tags: tuple[str, ...] = (config,)
            total, latency, size = (
                "inferflow.retrievemodelscore.request.total",
                "inferflow.retrievemodelscore.latency",
                "inferflow.retrievemodelscore.batch.size",
            )
        else:
            tags = (config, tag("inference-mode", request.mode))
            total, latency, size = (
                "predict.infer.request.total",
                "predict.infer.latency",
                "predict.infer.request.batch.size",
            )
        self._count((total, tags))
        if request.rows:
            self._count((size, tags), request.rows)
        if is_timed:
            self._time((latency, tags), request.duration_s * 1e3)

    def _step(self, lines: _StepLines, record: StepRecord, is_timed: bool) -> None:
        self._count(lines.executions)
        if record.unique_keys is not None and lines.features_per_key:
            self._count(lines.features, record.unique_keys * lines.features_per_key)
            if record.cache_hits is not None:
                missed = record.unique_keys - record.cache_hits
                self._count(lines.cache_requests, record.unique_keys)
                self._count(lines.cache_misses, missed)
                self._cache_keys += record.unique_keys
                self._cache_misses += missed
            if record.calls:
                asked = record.unique_keys - (record.cache_hits or 0)
                self._count(lines.call_keys, asked)
        if record.calls:
            self._count(lines.calls, record.calls)
        if record.failure:
            kind = upstream_error_type(lines.kind, record.failure)
            failed = (*lines.tags, f"error-type:{kind}", *lines.service_tags)
            self._count(("inferflow.component.execution.error", failed), record.failed_calls or 1)
        if is_timed:
            self._step_times(lines, record)

    def _step_times(self, lines: _StepLines, record: StepRecord) -> None:
        self._time(lines.latency, record.duration_us / 1e3)
        if record.calls:
            self._time(lines.call_latency, record.calls_us / 1e3)
            if lines.kind == "model":
                self._time(lines.model_latency, record.calls_us / 1e3)
            if lines.kind in ("model", "compute"):
                self._time(lines.conversion, (record.duration_us - record.calls_us) / 1e3)

    def _count(self, line: Line, more: int = 1) -> None:
        if more:
            self._counts[line] = self._counts.get(line, 0) + more

    def _time(self, line: Line, milliseconds: float) -> None:
        if len(self._timings) < _MOST_TIMINGS:
            self._timings.append((line, milliseconds))
        else:
            self._dropped += 1

    def _bound(self, plan: Plan) -> tuple[_StepLines, ...]:
        key = (plan.config_id, plan.digest)
        found = self._bindings.get(key)
        if found is None:
            if len(self._bindings) >= _MOST_BINDINGS:
                self._bindings.clear()
            found = tuple(_lines(plan.config_id, step) for step in plan.steps)
            self._bindings[key] = found
        return found

    # --- sending -----------------------------------------------------------------------------

    def flush(self) -> None:
        """Send what came together since the last time."""
        with self._lock:
            self._settle()
            counts, self._counts = self._counts, {}
            timings, self._timings = self._timings, []
            dropped, self._dropped = self._dropped, 0
            keys, self._cache_keys = self._cache_keys, 0
            misses, self._cache_misses = self._cache_misses, 0
        client = self._client
        for (name, tags), count in counts.items():
            client.increment(name, count, tags=list(tags))
        for (name, tags), milliseconds in timings:
            # Sampled above, once per request; the public method would roll its own dice again.
            client._report(
                name, "ms", round(milliseconds, 4), list(tags), self._rate, sampling=False
            )
        if keys:
            client.gauge("in_memory_cache_hit_rate", 1 - misses / keys, tags=[CACHE_TAG])
        if self._cache_size is not None:
            client.gauge("in_memory_cache_item_count", self._cache_size(), tags=[CACHE_TAG])
        client.flush()
        if dropped:
            log.warning("statsd_timings_dropped", extra={"timings": dropped})

    def close(self) -> None:
        self.flush()
        self._client.close_socket()


@dataclass(frozen=True, slots=True)
class _StepLines:
    """Everything a step may send, named once per plan."""

    kind: str
    features_per_key: int
    tags: tuple[str, ...]
    service_tags: tuple[str, ...]
    executions: Line
    latency: Line
    features: Line
    cache_requests: Line
    cache_misses: Line
    calls: Line
    call_keys: Line
    call_latency: Line
    model_latency: Line
    conversion: Line


def _lines(config_id: str, step: Step) -> _StepLines:
    kind = step.kind
    tags = (model_id(config_id), tag("component-name", step.name))
    service, endpoint = SERVICES.get(kind, ("none", "none"))
    service_tags = (tag("ext-service", service), tag("endpoint", endpoint))
    called = (*tags, *service_tags)
    return _StepLines(
        kind,
        features_per_key(step),
        tags,
        service_tags,
        executions=("inferflow.component.execution.total", tags),
        latency=("inferflow.component.execution.latency", tags),
        features=("inferflow.component.feature.count", tags),
        cache_requests=("inferflow.component.inmemorycache.request.total", tags),
        cache_misses=("inferflow.component.inmemorycache.miss", tags),
        calls=("inferflow.external.api.request.total", called),
        call_keys=("inferflow.external.api.request.batch", called),
        call_latency=("inferflow.external.api.latency", called),
        model_latency=("inferflow.component.predator.execution.latency", tags),
        conversion=("inferflow.datatype.conversion.execution.latency", tags),
    )


_UNSAFE = str.maketrans(dict.fromkeys(",|#\n\r", "_"))


def tag(key: str, value: str) -> str:
    """`key:value`, without the characters that would end it early."""
    return f"{key}:{value.translate(_UNSAFE)}"


def model_id(config_id: str) -> str:
    return tag("model-id", config_id)


def open_client(host: str, port: int, *, service: str, env: str) -> DogStatsd:
    """A client that buffers into packets and starts no thread of its own."""
    try:
        from datadog.dogstatsd.base import DogStatsd
    except ModuleNotFoundError as missing:
        raise MissingExtra("statsd", for_what="sending metrics to TELEGRAF_HOST") from missing
    return DogStatsd(
        host=host,
        port=port,
        constant_tags=[*([tag("env", env)] if env else []), tag("service", service)],
        disable_buffering=False,
        flush_interval=0,
        disable_telemetry=True,
        origin_detection_enabled=False,
    )


class Flushed(Protocol):
    """Whatever has something to send."""

    def flush(self) -> None: ...

    def close(self) -> None: ...


class Flusher:
    """Calls `flush` now and then on a thread of its own, and once more when closed."""

    def __init__(self, statsd: Flushed, interval_s: float = 1.0) -> None:
        self._statsd = statsd
        self._interval_s = interval_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="inferflow-statsd", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(self._interval_s):
            try:
                self._statsd.flush()
            except Exception:  # the boundary of the thread: metrics must not stop for one failure
                log.exception("statsd_flush_failed")

    def close(self) -> None:
        self._stop.set()
        self._thread.join()
        self._statsd.close()
