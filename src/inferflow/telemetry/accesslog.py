"""One line per call: at debug level when it was answered, as a warning when it was not.

Of the calls that failed a share is told, the config's `error_logging_percent`, and no more per
second than the cap allows. A line has no values and no keys; the error is its class.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable

from inferflow.engine.observer import Observer
from inferflow.telemetry.calls import Call, current_call
from inferflow.telemetry.linecap import LineCap

log = logging.getLogger("inferflow.access")

_GIVEN_UP = "CancelledError"
"""Callers do that all the time; it is no news."""


class AccessLog(Observer):
    def __init__(
        self,
        *,
        per_s: float = 10.0,
        chance: Callable[[], float] = random.random,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._chance = chance
        self._cap = LineCap(per_s, clock)

    def call_ended(self, method: str, status: int, duration_s: float) -> None:
        call = current_call()
        has_failed = call is not None and call.error not in ("", _GIVEN_UP)
        level = logging.WARNING if has_failed else logging.DEBUG
        if not log.isEnabledFor(level) or (has_failed and not self._is_told(call)):
            return
        facts = {"method": method, "status": status, "duration_ms": round(duration_s * 1e3, 3)}
        if call is not None and call.error:
            facts["error"] = call.error
        log.log(level, "call", extra=facts | self._cap.kept_back())

    def _is_told(self, call: Call | None) -> bool:
        plan = None if call is None else call.plan
        percent = 100 if plan is None else plan.error_logging_percent
        return self._chance() * 100 < percent and self._cap.admits()
