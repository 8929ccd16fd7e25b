"""A cap on log lines, for when everything fails at once."""

from __future__ import annotations

from collections.abc import Callable


class LineCap:
    """So many lines per second, and as many at once after a quiet second."""

    def __init__(self, per_s: float, clock: Callable[[], float]) -> None:
        self._per_s = per_s
        self._most = max(1.0, per_s)
        self._clock = clock
        self._left = self._most
        self._last = clock()
        self._refused = 0

    def admits(self) -> bool:
        now = self._clock()
        self._left = min(self._most, self._left + (now - self._last) * self._per_s)
        self._last = now
        if self._left < 1:
            self._refused += 1
            return False
        self._left -= 1
        return True

    def kept_back(self) -> dict[str, int]:
        """How many lines were refused since this was last asked."""
        refused, self._refused = self._refused, 0
        return {"kept_back": refused} if refused else {}
