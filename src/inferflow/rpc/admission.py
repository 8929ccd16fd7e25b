"""Which calls are let in: so many at once, and none that would wait too long for its turn.

The surplus is refused at once, with a hint when to come back, instead of waiting in a queue
until its deadline has passed.
"""

from __future__ import annotations

from inferflow.errors import Overloaded

_MARGIN = 2.0
"""How much longer than the average a call may take."""
_NEW = 0.1
"""Weight of the latest call in the average."""


class Admission:
    """Counts calls. Used from one event loop only, so it needs no lock."""

    def __init__(self, limit: int, *, retry_after_ms: int = 100) -> None:
        self.limit = limit
        self.retry_after_ms = retry_after_ms
        self.under_way = 0
        self.refused = 0

    @property
    def is_full(self) -> bool:
        return self.under_way >= self.limit

    def admitted(self) -> Admission:
        """Holds a place while a `with` block runs. Raises Overloaded when there is none."""
        return self

    def __enter__(self) -> None:
        if self.is_full:
            raise self.no_place()
        self.under_way += 1

    def no_place(self) -> Overloaded:
        """For a call that is refused now."""
        self.refused += 1
        return Overloaded(self.limit, retry_after_ms=self.retry_after_ms)

    def __exit__(self, *_: object) -> None:
        self.under_way -= 1


class Patience:
    """How long a call will wait, by how long others took, and whether that is too long."""

    def __init__(self, max_wait_s: float) -> None:
        self.max_wait_s = max_wait_s
        self.average_s = 0.0

    def took(self, seconds: float, calls: int = 1) -> None:
        """So many calls, one after the other, took so long together."""
        self.average_s += min(1.0, _NEW * calls) * (seconds / calls - self.average_s)

    def wait_s(self, ahead: float) -> float:
        """How long a call with so many before it will wait."""
        return ahead * self.average_s

    def check(self, ahead: float, left_s: float) -> None:
        """Refuse a call with so many before it, when so much of its deadline is left that it would
        hardly be answered in time: working on it would only make others late. Raises Overloaded."""
        wait_s = self.wait_s(ahead)
        if wait_s > self.max_wait_s or wait_s + _MARGIN * self.average_s > left_s:
            raise no_turn(wait_s)


def no_turn(wait_s: float) -> Overloaded:
    """For a call that would wait so long."""
    return Overloaded(None, retry_after_ms=max(1, round(wait_s * 1000)))
