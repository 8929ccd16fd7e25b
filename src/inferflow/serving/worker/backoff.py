"""When a failed load is tried again: after 1 s, 2 s, 4 s … and never more than a minute."""

from __future__ import annotations

FIRST_S = 1.0
LONGEST_S = 60.0


def retry_delay_s(failures: int) -> float:
    """How long to leave a model alone that has failed so many times in a row."""
    return min(LONGEST_S, FIRST_S * 2.0 ** min(max(failures, 1) - 1, 16))
