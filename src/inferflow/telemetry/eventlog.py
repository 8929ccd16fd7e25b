"""Which events become log lines: plans that come and go, and a sample of what fails.

A config's `error_logging_percent` says which share of its failing requests is told; a cap on
lines per second holds when everything fails at once, and says how much it kept back.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable

from inferflow.engine.observer import Observer, RequestStats
from inferflow.engine.recording import StepRecord
from inferflow.errors import Fault
from inferflow.telemetry.errortypes import error_type
from inferflow.telemetry.linecap import LineCap

log = logging.getLogger("inferflow.events")

_TELLING = frozenset({"DeadlinePassed", "StoreFailed"})
"""Errors whose texts are our own words; those of others may quote a value."""
_LOG_LINES_PER_S = 0.1
"""Lines about lost inference logs: brokers that are away lose them by the thousand."""


class EventLog(Observer):
    def __init__(
        self,
        *,
        per_s: float = 10.0,
        values: bool = False,
        chance: Callable[[], float] = random.random,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._values = values
        self._chance = chance
        self._cap = LineCap(per_s, clock)
        self._log_cap = LineCap(_LOG_LINES_PER_S, clock)

    def request_ended(self, request: RequestStats) -> None:
        failed = [record for record in request.steps if record.failure]
        if not failed and not request.outcome:
            return
        if self._chance() * 100 >= request.plan.error_logging_percent:
            return
        for record in failed:
            if self._cap.admits():
                log.error("step_failed", extra=self._step_facts(request, record))
        if request.outcome and self._cap.admits():
            is_ours = request.outcome == Fault.OURS.value
            log.log(
                logging.ERROR if is_ours else logging.DEBUG,
                "request_failed",
                extra={
                    "config_id": request.plan.config_id,
                    "mode": request.mode,
                    "rows": request.rows,
                    "outcome": request.outcome,
                    "error": request.error,
                    "duration_ms": round(request.duration_s * 1e3, 3),
                    **self._cap.kept_back(),
                },
            )

    def _step_facts(self, request: RequestStats, record: StepRecord) -> dict[str, object]:
        return {
            "config_id": request.plan.config_id,
            "step": record.name,
            "kind": record.kind,
            "error": record.failure,
            "error_type": error_type(record.failure),
            "reason": record.error if self._may_tell(record) else "",
            "endpoint": record.endpoint,
            "failed_calls": record.failed_calls,
            "duration_ms": round(record.duration_us / 1e3, 3),
            **self._cap.kept_back(),
        }

    def _may_tell(self, record: StepRecord) -> bool:
        return self._values or record.failure in _TELLING

    def plan_live(self, config_id: str, version: str) -> None:
        log.info("plan_live", extra={"config_id": config_id, "version": version})

    def plan_rejected(self, config_id: str, problems: int) -> None:
        log.warning("plan_rejected", extra={"config_id": config_id, "problems": problems})

    def plan_removed(self, config_id: str) -> None:
        log.info("plan_removed", extra={"config_id": config_id})

    def logs_failed(self, config_id: str, why: str, messages: int) -> None:
        if self._log_cap.admits():
            log.error(
                "inference_log_failed",
                extra={
                    "config_id": config_id,
                    "error": why,
                    "messages": messages,
                    **self._log_cap.kept_back(),
                },
            )
