"""Counts what the engine reports, per config and per step.

What the steps of a plan are counted in is looked up once per plan, and a histogram is a list of
integers. Requests are put on a pile and counted some dozens at a time, step by step, which takes
a third of what each alone would: between two requests the processor forgets this code. (The
client library's own counters take a lock each, some twenty per request.) Whoever reads calls
`settle` first, so nothing is seen late.

The number of series is bounded: configs, steps and endpoints that come when all places are
taken share the name `other`.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from inferflow.engine.observer import Mode, Observer, RequestStats
from inferflow.engine.recording import StepRecord
from inferflow.plan.plan import FeatureStep, Plan, Step
from inferflow.telemetry import table
from inferflow.telemetry.errortypes import error_type
from inferflow.telemetry.histogram import LATENCY_S, ROWS, Histogram
from inferflow.telemetry.table import Metric

Key = TypeVar("Key", bound=tuple[str, ...])

OTHER = "other"
OK = "ok"
SERVICES = {"feature": "feature_store", "model": "model", "compute": "compute"}

_MOST_STEPS_PER_CONFIG = 20
_MOST_BINDINGS = 1_000
_PILE = 32
"""Requests counted at a time. More would cost less each, but the last of them waits for all."""
_MOST_LABELS = 1_000
"""Label sets of one metric that only rare events add to."""


@dataclass(slots=True)
class RequestTally:
    config: str
    mode: str
    outcomes: dict[str, int] = field(default_factory=lambda: {OK: 0})
    duration: Histogram = field(default_factory=lambda: Histogram(LATENCY_S))
    rows: Histogram = field(default_factory=lambda: Histogram(ROWS))

    def add(self, request: RequestStats) -> None:
        outcome = request.outcome or OK
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1
        self.duration.add(request.duration_s)
        if request.rows:
            self.rows.add(request.rows)


@dataclass(slots=True)
class ConfigTally:
    config: str
    in_flight: int = 0
    modes: dict[Mode, RequestTally] = field(default_factory=dict)

    def add(self, request: RequestStats) -> None:
        tally = self.modes.get(request.mode)
        if tally is None:
            tally = self.modes[request.mode] = RequestTally(self.config, request.mode)
        tally.add(request)


@dataclass(slots=True)
class CallTally:
    calls: int = 0
    keys: int = 0
    duration: Histogram = field(default_factory=lambda: Histogram(LATENCY_S))


@dataclass(slots=True)
class StepTally:
    config: str
    step: str
    kind: str
    most_endpoints: int = 16
    duration: Histogram = field(default_factory=lambda: Histogram(LATENCY_S))
    conversion_s: float = 0.0
    calls: dict[str, CallTally] = field(default_factory=dict)
    """By endpoint."""
    errors: dict[tuple[str, str], int] = field(default_factory=dict)
    """By type and endpoint."""
    features: int = 0
    cache_requests: int = 0
    cache_misses: int = 0
    nans: int = 0

    def add(self, records: Iterable[StepRecord], features_per_key: int) -> None:
        duration = self.duration
        for record in records:
            if not record.duration_us:  # it never ran: the request had ended before
                continue
            duration.add(record.duration_us * 1e-6)
            keys = record.unique_keys
            if record.calls:
                call = self.calls.get(record.endpoint) or self._call(record.endpoint)
                call.calls += record.calls
                call.duration.add(record.calls_us * 1e-6)
                if keys is None:
                    self.conversion_s += (record.duration_us - record.calls_us) * 1e-6
                else:
                    call.keys += keys - (record.cache_hits or 0)
            if keys is not None:
                self.features += keys * features_per_key
                if record.cache_hits is not None:
                    self.cache_requests += keys
                    self.cache_misses += keys - record.cache_hits
            if record.nans:
                self.nans += record.nans
            if record.failure:
                self._fail(record)

    def _call(self, endpoint: str) -> CallTally:
        return self.calls.setdefault(self._endpoint(endpoint), CallTally())

    def _endpoint(self, endpoint: str) -> str:
        is_known = endpoint in self.calls or len(self.calls) < self.most_endpoints
        return endpoint if is_known else OTHER

    def _fail(self, record: StepRecord) -> None:
        key = (error_type(record.failure), self._endpoint(record.endpoint))
        self.errors[key] = self.errors.get(key, 0) + (record.failed_calls or 1)


@dataclass(slots=True)
class _Binding:
    """Where the requests of one plan are counted, and those not counted yet."""

    config: ConfigTally
    steps: tuple[tuple[StepTally, int], ...]
    """Per step: its tally, and the features one key brings."""
    pile: list[RequestStats] = field(default_factory=list)

    def settle(self) -> None:
        pile, self.pile = self.pile, []
        for request in pile:
            self.config.add(request)
        for i, (step, features) in enumerate(self.steps):
            step.add((request.steps[i] for request in pile), features)


class Tally(Observer):
    def __init__(self, *, most_configs: int = 200) -> None:
        self.lock = threading.Lock()
        self.configs: dict[str, ConfigTally] = {}
        self.steps: dict[tuple[str, str], StepTally] = {}
        self.server_calls: dict[tuple[str, str], Histogram] = {}
        self.counts: dict[Metric, dict[tuple[str, ...], int]] = defaultdict(dict)
        """Counters and gauges that only rare events change."""
        self._most_configs = most_configs
        self._most_steps = most_configs * _MOST_STEPS_PER_CONFIG
        self._bindings: dict[tuple[str, str], _Binding] = {}

    # --- requests ----------------------------------------------------------------------------

    def request_started(self, plan: Plan) -> None:
        with self.lock:
            self._bound(plan).config.in_flight += 1

    def request_ended(self, request: RequestStats) -> None:
        with self.lock:
            binding = self._bound(request.plan)
            binding.config.in_flight -= 1
            binding.pile.append(request)
            if len(binding.pile) >= _PILE:
                binding.settle()

    def settle(self) -> None:
        """Count what is on the piles. The caller holds the lock."""
        for binding in self._bindings.values():
            binding.settle()

    def requests(self) -> int:
        """How many have ended, of the configs there are."""
        with self.lock:
            self.settle()
            modes = [mode for config in self.configs.values() for mode in config.modes.values()]
            return sum(sum(mode.outcomes.values()) for mode in modes)

    def _bound(self, plan: Plan) -> _Binding:
        key = (plan.config_id, plan.digest)
        found = self._bindings.get(key)
        if found is None:
            # The pile of a plan that is replaced may never get full, and is not kept until it is.
            self.settle()
            if len(self._bindings) >= _MOST_BINDINGS:  # plans of long ago; all can be made again
                self._bindings.clear()
            config = self._config(plan.config_id)
            found = self._bindings[key] = _Binding(
                config,
                tuple((self._step(config, step), features_per_key(step)) for step in plan.steps),
            )
        return found

    def _config(self, config_id: str) -> ConfigTally:
        if config_id not in self.configs and len(self.configs) >= self._most_configs:
            config_id = OTHER
        found = self.configs.get(config_id)
        if found is None:
            found = self.configs[config_id] = ConfigTally(config_id)
        return found

    def _step(self, config: ConfigTally, step: Step) -> StepTally:
        at = (config.config, step.name)
        kind: str = step.kind
        is_full = len(self.steps) >= self._most_steps and at not in self.steps
        if is_full or config.config == OTHER:
            at, kind = (OTHER, OTHER), OTHER
        found = self.steps.get(at)
        if found is None:
            found = self.steps[at] = StepTally(*at, kind)
        return found

    # --- rarer things ------------------------------------------------------------------------

    def call_ended(self, method: str, status: int, duration_s: float) -> None:
        with self.lock:
            key = (method, str(status))
            if key not in self.server_calls and len(self.server_calls) >= _MOST_LABELS:
                key = (OTHER, OTHER)
            self.server_calls.setdefault(key, Histogram(LATENCY_S)).add(duration_s)

    def plan_live(self, config_id: str, version: str) -> None:
        with self.lock:
            config = self._config(config_id).config
            self._count(table.PLAN_RELOADS, (config,))
            self.counts[table.PLAN_PROBLEMS][config,] = 0
            self._forget(table.PLAN_INFO, config)
            if config != OTHER:
                self.counts[table.PLAN_INFO][config, version] = 1

    def plan_rejected(self, config_id: str, problems: int) -> None:
        with self.lock:
            config = self._config(config_id).config
            self._count(table.PLAN_REJECTIONS, (config,))
            self.counts[table.PLAN_PROBLEMS][config,] = problems

    def plan_removed(self, config_id: str) -> None:
        """Its series end, and their places are free."""
        with self.lock:
            if self.configs.pop(config_id, None) is None:
                return
            for metric in (
                table.PLAN_INFO,
                table.PLAN_PROBLEMS,
                table.PLAN_RELOADS,
                table.PLAN_REJECTIONS,
            ):
                self._forget(metric, config_id)
            _drop(self.steps, config_id)
            _drop(self._bindings, config_id)

    def arm_chosen(self, experiment: str, config_id: str) -> None:
        with self.lock:
            self._count(table.ARMS, (experiment, self._config(config_id).config))

    def logs_sent(self, config_id: str, messages: int) -> None:
        with self.lock:
            self._count(table.LOGS_SENT, (self._config(config_id).config,), messages)

    def logs_failed(self, config_id: str, why: str, messages: int) -> None:
        with self.lock:
            self._count(table.LOGS_FAILED, (self._config(config_id).config, why), messages)

    def _count(self, metric: Metric, labels: tuple[str, ...], more: int = 1) -> None:
        counts = self.counts[metric]
        if labels not in counts and len(counts) >= _MOST_LABELS:
            labels = (OTHER,) * len(labels)
        counts[labels] = counts.get(labels, 0) + more

    def _forget(self, metric: Metric, config: str) -> None:
        _drop(self.counts[metric], config)


def features_per_key(step: Step) -> int:
    if not isinstance(step, FeatureStep) or step.read is None:
        return 0
    return sum(len(run.features) for group in step.read.groups for run in group.runs)


def _drop(series: dict[Key, Any], config: str) -> None:
    for key in [key for key in series if key[0] == config]:
        del series[key]
