"""What happened between two looks at the metrics of servers: rates, shares and percentiles.

A counter that is smaller than before belongs to a process that was started anew, so all it counts
happened since. Percentiles are as fine as the buckets they were counted in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from inferflow.errors import MissingExtra
from inferflow.telemetry.histogram import quantile
from inferflow.telemetry.table import (
    CACHE_MISSES,
    CACHE_REQUESTS,
    IN_FLIGHT,
    REQUEST_DURATION,
    REQUESTS,
    STEP_DURATION,
    STEP_ERRORS,
)

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric as Family

Facts = dict[str, Any]
Key = tuple[str, ...]
Counts = dict[Key, float]
Buckets = dict[Key, dict[float, float]]
"""Upper bound → how many were below it, the smaller ones included."""

_OK = "ok"
_INFINITE = float("inf")


@dataclass(slots=True)
class Look:
    """The numbers of one page that live pictures are drawn from."""

    requests: Counts = field(default_factory=dict)
    """(config, outcome)"""
    durations: Buckets = field(default_factory=dict)
    """(config,)"""
    steps: Buckets = field(default_factory=dict)
    """(config, step)"""
    step_errors: Counts = field(default_factory=dict)
    cache_requests: Counts = field(default_factory=dict)
    cache_misses: Counts = field(default_factory=dict)
    in_flight: float = 0.0


def look_at(page: bytes) -> Look:
    """Read a page in the Prometheus text format."""
    try:
        from prometheus_client.parser import text_string_to_metric_families
    except ModuleNotFoundError as missing:
        raise MissingExtra("serve", for_what="live numbers") from missing
    return look_over(text_string_to_metric_families(page.decode()))


def look_over(families: Iterable[Family]) -> Look:
    """The same of families that were never written down."""
    look = Look()
    step = ("config", "step")
    counters = {
        REQUESTS.name: (look.requests, ("config", "outcome")),
        STEP_ERRORS.name: (look.step_errors, step),
        CACHE_REQUESTS.name: (look.cache_requests, step),
        CACHE_MISSES.name: (look.cache_misses, step),
    }
    histograms = {
        REQUEST_DURATION.name: (look.durations, ("config",)),
        STEP_DURATION.name: (look.steps, step),
    }
    for family in families:
        if family.name == IN_FLIGHT.name:
            look.in_flight = sum(sample.value for sample in family.samples)
        elif f"{family.name}_total" in counters:
            _count(family.samples, *counters[f"{family.name}_total"])
        elif family.name in histograms:
            _pour(family.samples, *histograms[family.name])
    return look


def _count(samples: Iterable[Any], counts: Counts, labels: Key) -> None:
    for sample in samples:
        if sample.name.endswith("_total"):
            key = tuple(sample.labels[label] for label in labels)
            counts[key] = counts.get(key, 0.0) + sample.value


def _pour(samples: Iterable[Any], buckets: Buckets, labels: Key) -> None:
    for sample in samples:
        if sample.name.endswith("_bucket"):
            into = buckets.setdefault(tuple(sample.labels[label] for label in labels), {})
            bound = float(sample.labels["le"])
            into[bound] = into.get(bound, 0.0) + sample.value


# --- the difference -------------------------------------------------------------------------


def between(before: Look, after: Look, seconds: float) -> Facts:
    """What happened in so many seconds, in all, by config and by step."""
    requests = _risen(before.requests, after.requests)
    durations = {
        key: _poured(before.durations.get(key, {}), now) for key, now in after.durations.items()
    }
    total = sum(requests.values())
    failed = sum(count for (_, outcome), count in requests.items() if outcome != _OK)
    return {
        "overview": {
            "rate": total / seconds,
            "errors_per_s": failed / seconds,
            **_percentiles(_together(durations.values()), p50=0.5, p95=0.95, p99=0.99),
            "in_flight": int(after.in_flight),
        },
        "configs": {
            config: _config(config, requests, durations, before, after, seconds)
            for config in dict.fromkeys(config for config, _ in requests)
        },
    }


def _config(
    config: str, requests: Counts, durations: Buckets, before: Look, after: Look, seconds: float
) -> Facts:
    mine = {outcome: count for (each, outcome), count in requests.items() if each == config}
    total = sum(mine.values())
    return {
        "rate": total / seconds,
        "error_rate": _share(total - mine.get(_OK, 0.0), total),
        **_percentiles(durations.get((config,), {}), p50=0.5, p99=0.99),
        "nodes": {
            key[1]: _node(key, before, after, seconds) for key in after.steps if key[0] == config
        },
    }


def _node(key: Key, before: Look, after: Look, seconds: float) -> Facts:
    buckets = _poured(before.steps.get(key, {}), after.steps[key])
    runs = buckets.get(_INFINITE, 0.0)
    errors = _risen(before.step_errors, after.step_errors).get(key, 0.0)
    asked = _risen(before.cache_requests, after.cache_requests).get(key)
    missed = _risen(before.cache_misses, after.cache_misses).get(key, 0.0)
    return {
        "rate": runs / seconds,
        "error_rate": min(1.0, _share(errors, runs)),
        "cache_hit_rate": None if not asked else 1.0 - missed / asked,
        **_percentiles(buckets, p50=0.5, p99=0.99),
    }


def _risen(before: Counts, after: Counts) -> Counts:
    return {key: _grown(before.get(key, 0.0), now) for key, now in after.items()}


def _poured(before: Mapping[float, float], after: Mapping[float, float]) -> dict[float, float]:
    is_new = before.get(_INFINITE, 0.0) > after.get(_INFINITE, 0.0)
    old: Mapping[float, float] = {} if is_new else before
    return {bound: _grown(old.get(bound, 0.0), now) for bound, now in after.items()}


def _grown(before: float, now: float) -> float:
    return now - before if now >= before else now


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _together(many: Iterable[Mapping[float, float]]) -> dict[float, float]:
    joined: dict[float, float] = {}
    for buckets in many:
        for bound, count in buckets.items():
            joined[bound] = joined.get(bound, 0.0) + count
    return joined


def _percentiles(buckets: Mapping[float, float], **shares: float) -> Facts:
    """In milliseconds; nothing where nothing was counted."""
    if not buckets.get(_INFINITE):
        return {f"{name}_ms": None for name in shares}
    bounds = sorted(buckets)
    counts = [int(now - below) for below, now in pairwise((0.0, *(buckets[b] for b in bounds)))]
    finite = [bound for bound in bounds if bound != _INFINITE]
    return {f"{name}_ms": quantile(finite, counts, share) * 1000 for name, share in shares.items()}
