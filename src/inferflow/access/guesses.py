"""Slows down whoever tries keys or tokens that are not theirs.

Only wrong ones are counted: per place they come from, and over all places that have not shown a
right one lately. So a flood of guesses from everywhere costs little work, and does not shut out
callers who are known to be good. Many callers may come from one place, behind a proxy: what was
right when it was last shown may be shown again, whatever others there try.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

from inferflow.access.rates import RateLimit, TokenBucket
from inferflow.errors import RateLimited

PER_SOURCE = RateLimit(per_second=1.0, burst=20)
OVERALL = RateLimit(per_second=10.0, burst=80)

T = TypeVar("T", str, bytes)


class Guesses:
    """Call `check` before looking at a key, and say afterwards how it went."""

    def __init__(self, clock: Callable[[], float], *, most_sources: int = 10_000) -> None:
        self._clock = clock
        self._most_sources = most_sources
        self._overall = TokenBucket(OVERALL, clock())
        self._buckets: OrderedDict[str, TokenBucket] = OrderedDict()
        self._good: OrderedDict[str, None] = OrderedDict()
        self._right: OrderedDict[bytes, None] = OrderedDict()

    def check(self, source: str, proof: bytes = b"") -> None:
        """`proof` is a digest of what is shown; empty for nothing. Raises RateLimited when there
        were too many wrong ones."""
        if proof in self._right:
            return
        now = self._clock()
        bucket = self._buckets.get(source)
        wait_s = bucket.wait(now) if bucket else 0.0
        if source not in self._good:
            wait_s = max(wait_s, self._overall.wait(now))
        if wait_s > 0:
            who = "whoever shows wrong keys"
            raise RateLimited(who, retry_after_ms=math.ceil(wait_s * 1000))

    def was_wrong(self, source: str, proof: bytes = b"") -> None:
        now = self._clock()
        self._right.pop(proof, None)
        if source not in self._buckets:
            self._buckets[source] = TokenBucket(PER_SOURCE, now)
        self._buckets[source].take(now)
        self._buckets.move_to_end(source)
        if source not in self._good:
            self._overall.take(now)
        if len(self._buckets) > self._most_sources:
            self._buckets.popitem(last=False)

    def was_right(self, source: str, proof: bytes = b"") -> None:
        self._remember(self._good, source)
        if proof:
            self._remember(self._right, proof)

    def _remember(self, among: OrderedDict[T, None], what: T) -> None:
        among[what] = None
        among.move_to_end(what)
        if len(among) > self._most_sources:
            among.popitem(last=False)
