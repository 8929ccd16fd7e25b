"""What came of every call. Small enough to be kept whole, so percentiles are exact."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Failure:
    """How a call ended that was not answered."""

    code: str
    details: str = ""


@dataclass(slots=True)
class Tally:
    """Of calls that were due inside the window; of the others nothing is kept."""

    window_s: float = 0.0
    """How long was measured."""
    latencies_s: array[float] = field(default_factory=lambda: array("d"))
    """Of answered calls, from when they were due."""
    late_s: array[float] = field(default_factory=lambda: array("d"))
    """How long after it was due a call was sent, in an open loop."""
    answered_in_window: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    """By code."""
    details: dict[str, str] = field(default_factory=dict)
    """What was said with the first failure of each code."""
    unsent: int = 0
    """Calls that were due while too many were under way."""
    busy: float = 0.0
    """CPU seconds of the generator per second, of its busiest process."""
    failed_s: dict[str, array[float]] = field(default_factory=dict)
    """How long each failure took, by code, from when the call was sent."""

    def note_failure(self, failure: Failure, took_s: float) -> None:
        self.failures[failure.code] += 1
        self.failed_s.setdefault(failure.code, array("d")).append(took_s)
        self.details.setdefault(failure.code, failure.details)

    @property
    def failed(self) -> int:
        return self.failures.total()


def merged(tallies: Iterable[Tally]) -> Tally:
    """One tally of what several processes saw side by side."""
    whole = Tally()
    for each in tallies:
        whole.window_s = max(whole.window_s, each.window_s)
        whole.latencies_s += each.latencies_s
        whole.late_s += each.late_s
        whole.answered_in_window += each.answered_in_window
        whole.failures += each.failures
        for code, took_s in each.failed_s.items():
            whole.failed_s.setdefault(code, array("d")).extend(took_s)
        whole.details = {**each.details, **whole.details}
        whole.unsent += each.unsent
        whole.busy = max(whole.busy, each.busy)
    return whole
