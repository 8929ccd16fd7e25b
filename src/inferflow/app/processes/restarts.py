"""When a process that ended is started again: at once, unless it keeps ending.

Pure: how long a process lived comes in, how long to wait comes out.
"""

from __future__ import annotations

from dataclasses import dataclass

STABLE_S = 30.0
"""One that lived this long was well; what ended it counts as the first mishap."""
FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 30.0


@dataclass(frozen=True, slots=True)
class Restarts:
    """The story of one place: how often its process ended, and how often soon after its start."""

    count: int = 0
    in_a_row: int = 0
    """Ends since a process last was well."""

    def after(self, lived_s: float) -> Restarts:
        """The story with one more end."""
        return Restarts(self.count + 1, 1 if lived_s >= STABLE_S else self.in_a_row + 1)

    @property
    def wait_s(self) -> float:
        """Nothing after the first end, then twice as long each time, up to a bound."""
        if self.in_a_row <= 1:
            return 0.0
        # Bounded before the power is taken: a loop may go on for days.
        doublings = min(self.in_a_row - 2, 16)
        return float(min(LONGEST_WAIT_S, FIRST_WAIT_S * 2**doublings))
