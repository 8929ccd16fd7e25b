"""How many requests per second are to be expected some minutes from now, for autoscalers.

Whoever reads the metrics brings it forward: a reading compares how many requests there were with
how many there had been, so that requests themselves pay nothing. Level and trend are smoothed over
time (Holt's method), and a reading counts by how long after the one before it comes: it does not
matter how often, how evenly or by how many readers they are taken.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from math import exp

AHEAD_S = 600.0
"""As far as the forecast that Prometheus records: longer than it takes to decide on more processes,
find room for them, start them and warm them up."""
LEVEL_S, TREND_S = 60.0, 300.0
"""How long readings are remembered, by which two thirds of a change are noticed."""
_SHORTEST_S = 5.0
"""Readings closer together than this count as one."""


class Holt:
    """Level and trend of a number that is seen now and then. Values, times in seconds."""

    def __init__(self, *, level_s: float = LEVEL_S, trend_s: float = TREND_S) -> None:
        self._level_s = level_s
        self._trend_s = trend_s
        self._level: float | None = None
        self._trend = 0.0

    def see(self, value: float, after_s: float) -> None:
        """It is `value` now, so long after it was seen last."""
        if self._level is None:
            self._level = value
            return
        due = self._level + self._trend * after_s
        level = due + _weight(after_s, self._level_s) * (value - due)
        step = (level - self._level) / after_s
        self._trend += _weight(after_s, self._trend_s) * (step - self._trend)
        self._level = level

    def ahead(self, seconds: float) -> float:
        """What it will be then; 0 before it was ever seen."""
        return 0.0 if self._level is None else self._level + self._trend * seconds


def _weight(after_s: float, memory_s: float) -> float:
    return 1.0 - exp(-after_s / memory_s)


class LoadForecast:
    """Requests per second in `ahead_s`, of a count that only grows. Read from any thread."""

    def __init__(
        self,
        count: Callable[[], int],
        *,
        clock: Callable[[], float],
        ahead_s: float = AHEAD_S,
    ) -> None:
        self._count = count
        self._clock = clock
        self._ahead_s = ahead_s
        self._rate = Holt()
        self._lock = threading.Lock()
        self._last = count()
        self._last_s = clock()

    def read(self) -> float:
        """Never negative, however steeply load falls."""
        with self._lock:
            now, count = self._clock(), self._count()
            after_s = now - self._last_s
            if after_s >= _SHORTEST_S:
                # A config that was removed takes its count with it.
                self._rate.see(max(0, count - self._last) / after_s, after_s)
                self._last, self._last_s = count, now
            return max(0.0, self._rate.ahead(self._ahead_s))
