"""The slowest of the last minutes.

Two windows are kept, the one that runs and the one before, so that there is always something to
see. What is quicker than the quickest of a full window is turned away with one comparison.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable
from itertools import count
from typing import Generic, TypeVar

T = TypeVar("T")


class Slowest(Generic[T]):
    """Not for several threads at once, but for `is_slow`."""

    def __init__(
        self,
        most: int,
        *,
        at_least_s: float = 0.0,
        window_s: float = 300.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most = most
        self._at_least_s = self._floor = at_least_s
        self._window_s = window_s
        self._clock = clock
        self._until = clock() + window_s
        self._order = count()
        self._heap: list[tuple[float, int, T]] = []
        self._before: list[tuple[float, int, T]] = []

    def is_slow(self, duration_s: float) -> bool:
        """Whether it is worth to be offered."""
        return duration_s > self._floor or self._clock() >= self._until

    def offer(self, duration_s: float, item: T) -> None:
        self._turn()
        if duration_s <= self._floor:
            return
        entry = (duration_s, next(self._order), item)
        if len(self._heap) < self._most:
            heapq.heappush(self._heap, entry)
        else:
            heapq.heapreplace(self._heap, entry)
        if len(self._heap) == self._most:
            self._floor = max(self._at_least_s, self._heap[0][0])

    def kept(self) -> list[T]:
        """In no particular order."""
        self._turn()
        return [item for _, _, item in (*self._before, *self._heap)]

    def _turn(self) -> None:
        late_s = self._clock() - self._until
        if late_s < 0:
            return
        turns = int(late_s // self._window_s) + 1
        self._before = self._heap if turns == 1 else []
        self._heap, self._floor = [], self._at_least_s
        self._until += turns * self._window_s
