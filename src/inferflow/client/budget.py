"""How many calls may be made again.

A tenth of the calls, and ten a second where there are few. So a server that dies costs nobody an
answer, and one that is overloaded is not asked three times as often because of it. Unused credit
is kept up to a bound, which is also what there is at the start.
"""

from __future__ import annotations

from inferflow.engine.deadline import Clock

RATIO = 0.1
FLOOR_PER_S = 10.0
MOST = 100.0


class RetryBudget:
    """Credit of one repetition each. For one thread."""

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._credit = MOST
        self._at = clock()

    def count_call(self) -> None:
        """Another call has been made; repetitions are none."""
        self._credit = min(MOST, self._credit + RATIO)

    def take(self) -> bool:
        """Whether one more repetition may be made; it is then taken."""
        now = self._clock()
        self._credit = min(MOST, self._credit + (now - self._at) * FLOOR_PER_S)
        self._at = now
        if self._credit < 1.0:
            return False
        self._credit -= 1.0
        return True
