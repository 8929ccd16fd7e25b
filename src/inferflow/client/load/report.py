"""What to say about a load that was sent, and whether it can be believed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from inferflow.client.load.plan import Load
from inferflow.client.load.tally import Tally

SHARES = {"p50": 50, "p90": 90, "p95": 95, "p99": 99, "max": 100}
BARS = 16

_LATE_S = 0.002
_MOST_LATE = 0.01
_MOST_BUSY = 0.9


@dataclass(frozen=True, slots=True)
class LoadReport:
    seconds: float
    """How long was measured; less than asked when it was interrupted."""
    answered: int
    failed: int
    unsent: int
    """Calls that were due while too many were under way, so that they were never sent."""
    per_second: float
    """Answers inside the measured time."""
    latency_ms: dict[str, float]
    """p50 … p99 and max of answered calls; empty when there were none."""
    late_ms: dict[str, float]
    """How late calls were sent in an open loop, likewise."""
    failures: dict[str, int]
    """By code."""
    failed_ms: dict[str, dict[str, float]]
    """How long they took from when they were sent, by code: p50 … p99 and max."""
    details: dict[str, str]
    """What was said with the first failure of each code."""
    histogram: list[tuple[float, int]]
    """Answers by latency: an upper bound in ms, and how many lie between the last and it."""
    generator_busy: float
    """CPU seconds per second of the generator's busiest process."""
    doubts: tuple[str, ...]
    """Why the numbers may say more about the generator than about the server."""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def report_of(load: Load, tally: Tally) -> LoadReport:
    latencies = np.frombuffer(tally.latencies_s) * 1e3
    late = np.frombuffer(tally.late_s) * 1e3
    return LoadReport(
        seconds=tally.window_s,
        answered=len(latencies),
        failed=tally.failed,
        unsent=tally.unsent,
        per_second=tally.answered_in_window / tally.window_s if tally.window_s else 0.0,
        latency_ms=percentiles(latencies),
        late_ms=percentiles(late),
        failures=dict(tally.failures.most_common()),
        failed_ms={
            code: percentiles(np.frombuffer(took_s) * 1e3)
            for code, took_s in tally.failed_s.items()
        },
        details=dict(tally.details),
        histogram=histogram(latencies),
        generator_busy=tally.busy,
        doubts=tuple(_doubts(load, tally)),
    )


def percentiles(values: np.ndarray[Any, Any]) -> dict[str, float]:
    """Each is a value that was seen: at least so many in a hundred are not above it."""
    if not len(values):
        return {}
    found = np.percentile(values, list(SHARES.values()), method="inverted_cdf")
    return dict(zip(SHARES, map(float, found), strict=True))


def histogram(values: np.ndarray[Any, Any], bars: int = BARS) -> list[tuple[float, int]]:
    """Counts between bounds that grow by a factor, since latencies do."""
    if not len(values):
        return []
    low, high = max(float(values.min()), 1e-6), max(float(values.max()), 1e-6)
    bounds = np.geomspace(low, high, bars + 1)[1:] if high > low else np.array([high])
    bounds[-1] = high
    places = np.searchsorted(bounds, values, side="left").clip(max=len(bounds) - 1)
    counts = np.bincount(places, minlength=len(bounds))
    return [(float(bound), int(count)) for bound, count in zip(bounds, counts, strict=True)]


def _doubts(load: Load, tally: Tally) -> Iterator[str]:
    late = np.frombuffer(tally.late_s)
    share = float((late > _LATE_S).mean()) if len(late) else 0.0
    if share > _MOST_LATE:
        yield (
            f"{share:.1%} of the calls were sent more than {_LATE_S * 1e3:g} ms after they were due"
            f" (at worst {late.max() * 1e3:.1f} ms), and the wait is part of their latency:"
            " the generator could not keep the rate"
        )
    if tally.busy > _MOST_BUSY:
        yield f"the generator kept a core {tally.busy:.0%} busy, and may have been the limit"
    if tally.unsent:
        yield (
            f"{tally.unsent} calls were not sent, because {load.most_in_flight} were under way:"
            " the server is slower than the rate"
        )
