"""Notices that this machine's time of day is not its manager's: session tokens go by it.

Said once when it begins and once when it is over, not with every heartbeat.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

log = logging.getLogger(__name__)

FAR_APART_S = 10.0
"""A third of what tokens allow for, so that it is told before callers are refused."""


class ClockWatch:
    def __init__(self, wall: Callable[[], float] = time.time) -> None:
        """`wall` gives seconds since the epoch."""
        self._wall = wall
        self._is_apart = False

    def compare(self, manager_ms: int) -> None:
        """`manager_ms` is what a manager has just said of the time; 0 when it says nothing."""
        if not manager_ms:
            return
        ahead_s = self._wall() - manager_ms / 1000
        is_apart = abs(ahead_s) > FAR_APART_S
        if is_apart and not self._is_apart:
            log.warning(
                "clock_differs_from_manager",
                extra={
                    "ahead_s": round(ahead_s, 1),
                    "fix": "set this machine's clock, or the"
                    " manager's: session tokens are refused from a difference of 30 s on",
                },
            )
        elif self._is_apart and not is_apart:
            log.info("clock_agrees_with_manager", extra={"ahead_s": round(ahead_s, 1)})
        self._is_apart = is_apart
