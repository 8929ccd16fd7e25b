"""How many calls may be under way at once.

The surplus is refused at once, with a hint when to come back, instead of waiting in a queue
until its deadline has passed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from inferflow.errors import Overloaded


class Admission:
    """Counts calls. Used from one event loop only, so it needs no lock."""

    def __init__(self, limit: int, *, retry_after_ms: int = 100) -> None:
        self.limit = limit
        self.retry_after_ms = retry_after_ms
        self.under_way = 0
        self.refused = 0

    @contextmanager
    def admitted(self) -> Iterator[None]:
        """Holds a place while the block runs. Raises Overloaded when there is none."""
        if self.under_way >= self.limit:
            self.refused += 1
            raise Overloaded(self.limit, retry_after_ms=self.retry_after_ms)
        self.under_way += 1
        try:
            yield
        finally:
            self.under_way -= 1
