"""Time that moves only when told to."""

from __future__ import annotations


class ManualClock:
    """Stands in for `time.monotonic` and `time.time` alike."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        """Let time pass. It never runs backwards."""
        if seconds < 0:
            raise ValueError(f"time cannot go back by {-seconds} s")
        self.now += seconds
