"""How long a model's run takes, learned from the runs it has made."""

from __future__ import annotations

_WEIGHT = 0.2
"""How much the newest run counts."""
_FIRST = 2
"""The first run takes longer than any other, so the second takes its place."""


class RunCost:
    """A moving average. A run with more rows than usual is expected to take longer in
    proportion; one with fewer is not expected to be quicker, for every run has a fixed part."""

    __slots__ = ("_rows", "_seconds", "runs")

    def __init__(self) -> None:
        self._seconds = 0.0
        self._rows = 1.0
        self.runs = 0

    def add(self, rows: int, seconds: float) -> None:
        self.runs += 1
        weight = _WEIGHT if self.runs > _FIRST else 1.0
        self._seconds += weight * (seconds - self._seconds)
        self._rows += weight * (max(rows, 1) - self._rows)

    def expected_s(self, rows: int) -> float:
        """0 for a model that has never run."""
        return self._seconds * max(1.0, rows / self._rows)

    def expected_wait_s(self, rows_ahead: int, max_rows: int, slots: int) -> float:
        """How long until all that waits has begun, when `slots` runs go on at once."""
        if not rows_ahead:
            return 0.0
        per_run = max(max_rows, self._rows)
        runs = -(-rows_ahead // per_run)
        return runs * self.expected_s(int(min(rows_ahead, per_run))) / slots
