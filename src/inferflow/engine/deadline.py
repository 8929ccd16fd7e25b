"""One deadline per request; every call made on its behalf gets what is left of it."""

from __future__ import annotations

import time
from collections.abc import Callable

from inferflow.errors import DeadlinePassed

Clock = Callable[[], float]
"""Seconds that only go forward, such as `time.monotonic`."""


class Deadline:
    """A point in time on a given clock. `None` budget means there is no hurry."""

    __slots__ = ("at", "budget_ms", "clock")

    def __init__(self, budget_ms: float | None, *, clock: Clock = time.monotonic) -> None:
        self.clock = clock
        self.budget_ms = float("inf") if budget_ms is None else float(budget_ms)
        self.at = clock() + self.budget_ms / 1000.0

    def remaining_s(self) -> float:
        """Seconds left, never below zero; infinite without a budget."""
        return max(0.0, self.at - self.clock())

    def is_past(self) -> bool:
        return self.clock() >= self.at

    def check(self, doing: str) -> None:
        """Raise if the time is up."""
        if self.clock() >= self.at:
            raise DeadlinePassed(doing, self.budget_ms)

    def ahead(self, margin_ms: float) -> Deadline:
        """The same, so much earlier, or by a tenth of the budget where that is less."""
        early = Deadline(None, clock=self.clock)
        early.budget_ms = self.budget_ms
        early.at = self.at - min(margin_ms, self.budget_ms / 10) / 1000.0
        return early

    def within(self, budget_ms: float | None) -> Deadline:
        """The earlier of this deadline and one that starts now with its own budget."""
        if budget_ms is None or self.clock() + budget_ms / 1000.0 >= self.at:
            return self
        return Deadline(budget_ms, clock=self.clock)
