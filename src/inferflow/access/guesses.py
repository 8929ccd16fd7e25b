"""Slows down whoever tries keys or tokens that are not theirs.

Only wrong ones are counted: per place they come from, and over all places that have not shown a
right one lately. So a flood of guesses from everywhere costs little work, and does not shut out
callers who are known to be good.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable

from inferflow.access.rates import RateLimit, TokenBucket
from inferflow.errors import RateLimited

PER_SOURCE = RateLimit(per_second=1.0, burst=20)
OVERALL = RateLimit(per_second=10.0, burst=80)


class Guesses:
    """Call `check` before looking at a key, and say afterwards how it went."""

    def __init__(self, clock: Callable[[], float], *, most_sources: int = 10_000) -> None:
        self._clock = clock
        self._most_sources = most_sources
        self._overall = TokenBucket(OVERALL, clock())
        self._buckets: OrderedDict[str, TokenBucket] = OrderedDict()
        self._good: OrderedDict[str, None] = OrderedDict()

    def check(self, source: str) -> None:
        """Raises RateLimited when there were too many wrong ones."""
        now = self._clock()
        bucket = self._buckets.get(source)
        wait_s = bucket.wait(now) if bucket else 0.0
        if source not in self._good:
            wait_s = max(wait_s, self._overall.wait(now))
        if wait_s > 0:
            who = "whoever shows wrong keys"
            raise RateLimited(who, retry_after_ms=math.ceil(wait_s * 1000))

    def was_wrong(self, source: str) -> None:
        now = self._clock()
        if source not in self._buckets:
            self._buckets[source] = TokenBucket(PER_SOURCE, now)
        self._buckets[source].take(now)
        self._buckets.move_to_end(source)
        if source not in self._good:
            self._overall.take(now)
        if len(self._buckets) > self._most_sources:
            self._buckets.popitem(last=False)

    def was_right(self, source: str) -> None:
        self._good[source] = None
        self._good.move_to_end(source)
        if len(self._good) > self._most_sources:
            self._good.popitem(last=False)
