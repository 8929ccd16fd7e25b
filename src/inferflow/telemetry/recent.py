"""Percentiles of the last seconds, from counts that only grow.

Every look keeps the counts of that moment. What lies between the oldest and the newest of them are
the recent values.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Mapping, Sequence
from typing import Generic, TypeVar

from inferflow.telemetry.histogram import quantile

K = TypeVar("K", bound=Hashable)

SHARES = (0.5, 0.95, 0.99)


class Recent(Generic[K]):
    def __init__(self, bounds: Sequence[float], *, looks: int = 10) -> None:
        self._bounds = bounds
        self._looks: deque[dict[K, tuple[int, ...]]] = deque(maxlen=looks + 1)

    def look(self, counts: Mapping[K, Sequence[int]]) -> None:
        """Counts per bucket as they are now."""
        self._looks.append({key: tuple(each) for key, each in counts.items()})

    def percentiles(self, key: K) -> tuple[float, ...]:
        """At 50, 95 and 99 percent; zeros when nothing was counted lately."""
        return self._at(self._between(key))

    def overall(self) -> tuple[float, ...]:
        """The same over all keys."""
        newest = self._looks[-1] if self._looks else {}
        return self._at([sum(each) for each in zip(*map(self._between, newest), strict=True)])

    def _between(self, key: K) -> list[int]:
        newest = self._looks[-1].get(key, ()) if self._looks else ()
        oldest = self._looks[0].get(key) if len(self._looks) > 1 else None
        if oldest is None:
            return list(newest)
        return [now - then for now, then in zip(newest, oldest, strict=True)]

    def _at(self, counts: Sequence[int]) -> tuple[float, ...]:
        return tuple(quantile(self._bounds, counts, share) for share in SHARES)
