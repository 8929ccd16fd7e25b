"""How often one caller may ask: by key, and by address where there are no keys."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from inferflow.api.gateway.ports import Caller
from inferflow.errors import InvalidInput, RateLimited

if TYPE_CHECKING:
    from limits import RateLimitItem

FORM = "a number per second, minute, hour or day, such as 100/second"


class Rates:
    """Counts over a window that moves. `rate` is for callers without one on their key; empty:
    they may ask as often as they like."""

    def __init__(self, rate: str, clock: Callable[[], float]) -> None:
        from limits.storage import MemoryStorage
        from limits.strategies import SlidingWindowCounterRateLimiter

        self._clock = clock
        self._item = rate_item(rate) if rate else None
        self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())

    def take(self, caller: Caller, source: str) -> None:
        """Count one call. Raises RateLimited when the caller has to wait."""
        item = self._item
        if item is None or caller.has_own_rate:
            return
        who = caller.key_id or source
        if not self._limiter.hit(item, who):
            window = self._limiter.get_window_stats(item, who)
            wait_ms = max(1, math.ceil((window.reset_time - self._clock()) * 1000))
            name = f"key {caller.key_id!r}" if caller.key_id else source or "this address"
            raise RateLimited(name, retry_after_ms=wait_ms)


def rate_item(rate: str) -> RateLimitItem:
    """Raises InvalidInput for text that is no rate."""
    from limits import parse

    try:
        return parse(rate)
    except ValueError:
        raise InvalidInput(f"rate: {rate!r} is not {FORM}") from None
