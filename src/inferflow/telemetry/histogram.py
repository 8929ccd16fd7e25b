"""Counts per bucket. The bounds are chosen for requests between 10 µs and 10 s."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

LATENCY_S: tuple[float, ...] = (
    *(0.00001, 0.000025, 0.00005),
    *(0.0001, 0.00025, 0.0005),
    *(0.001, 0.0025, 0.005),
    *(0.01, 0.025, 0.05),
    *(0.1, 0.25, 0.5),
    *(1.0, 2.5, 5.0),
    10.0,
)
ROWS: tuple[float, ...] = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000)


class Histogram:
    """How many values fell under which bound. A bound belongs to the bucket below it."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    @property
    def count(self) -> int:
        return sum(self.counts)

    def cumulative(self) -> list[tuple[str, float]]:
        """(bound as text, values up to it), the last bound being infinity."""
        so_far, buckets = 0, []
        for bound, count in zip((*self.bounds, float("inf")), self.counts, strict=True):
            so_far += count
            buckets.append(("+Inf" if bound == float("inf") else repr(float(bound)), float(so_far)))
        return buckets


def quantile(bounds: Sequence[float], counts: Sequence[int], share: float) -> float:
    """The value that so large a share of values does not exceed, as far as buckets can tell: where
    it falls between two bounds is taken to be even. 0 when nothing was counted; the last bound for
    whatever is beyond it."""
    wanted = share * sum(counts)
    below, so_far = 0.0, 0
    for bound, count in zip(bounds, counts, strict=False):
        if count and so_far + count >= wanted:
            return below + (bound - below) * (wanted - so_far) / count
        below, so_far = bound, so_far + count
    return bounds[-1] if sum(counts) else 0.0
