"""How long to wait before a call is made again."""

from __future__ import annotations

FIRST_S, LONGEST_S = 0.05, 1.0


def pause(
    attempt: int, chance: float, *, first_s: float = FIRST_S, longest_s: float = LONGEST_S
) -> float:
    """Seconds to wait after so many attempts. Between half and all of a time that doubles, so
    that clients who met the same failure do not come back together."""
    longest = min(first_s * 2.0 ** min(attempt - 1, 16), longest_s)
    return longest * (0.5 + chance / 2)
