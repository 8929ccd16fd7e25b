"""How often one key may ask: a bucket of tokens per key.

A bucket holds at most `burst` tokens and gains `per_second` of them each second; a call takes one,
or is refused and told when to come back. Nobody waits here.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from inferflow.errors import InvalidInput, RateLimited


@dataclass(frozen=True, slots=True)
class RateLimit:
    """A steady rate, and how far a short rush may go beyond it."""

    per_second: float
    burst: int

    def __post_init__(self) -> None:
        if not (math.isfinite(self.per_second) and self.per_second > 0):
            raise InvalidInput(f"requests_per_second must be above 0, not {self.per_second:g}")
        if self.burst < 1:
            raise InvalidInput(f"burst must be at least 1, not {self.burst}")


class TokenBucket:
    """One key's tokens. Starts full."""

    __slots__ = ("_at", "_tokens", "limit")

    def __init__(self, limit: RateLimit, now: float) -> None:
        self.limit = limit
        self._tokens = float(limit.burst)
        self._at = now

    def take(self, now: float) -> float:
        """Take one token. 0 when there was one, else the seconds until there will be."""
        wait_s = self.wait(now)
        if wait_s == 0:
            self._tokens -= 1.0
        return wait_s

    def wait(self, now: float) -> float:
        """The seconds until there is a token, which is left where it is."""
        gained = max(0.0, now - self._at) * self.limit.per_second
        self._tokens = min(float(self.limit.burst), self._tokens + gained)
        self._at = max(now, self._at)
        if self._tokens >= 1.0:
            return 0.0
        return (1.0 - self._tokens) / self.limit.per_second


class KeyRates:
    """Buckets of all keys that have a limit. Keys that have not asked for longest are forgotten
    first; a forgotten key starts with a full bucket."""

    def __init__(self, clock: Callable[[], float], *, most_keys: int = 100_000) -> None:
        self._clock = clock
        self._most_keys = most_keys
        self._buckets: OrderedDict[str, TokenBucket] = OrderedDict()

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, key_id: str, limit: RateLimit | None) -> None:
        """Count one call. Raises RateLimited when the key has to wait."""
        if limit is None:
            return
        now = self._clock()
        wait_s = self._bucket(key_id, limit, now).take(now)
        if wait_s > 0:
            raise RateLimited(f"key {key_id!r}", retry_after_ms=max(1, math.ceil(wait_s * 1000)))

    def _bucket(self, key_id: str, limit: RateLimit, now: float) -> TokenBucket:
        bucket = self._buckets.get(key_id)
        if bucket is None or bucket.limit != limit:
            bucket = self._buckets[key_id] = TokenBucket(limit, now)
            if len(self._buckets) > self._most_keys:
                self._buckets.popitem(last=False)
        self._buckets.move_to_end(key_id)
        return bucket
