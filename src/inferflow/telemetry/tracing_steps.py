"""Spans of steps, made when a request has ended of what the engine tells about it anyhow.

Nothing is done around a step, so a plan runs no slower for being traced; requests whose trace is
not kept are passed over. A span has no values and no keys; an error is its class.
"""

from __future__ import annotations

from inferflow.engine.observer import Observer, RequestStats
from inferflow.engine.recording import StepRecord
from inferflow.tracing import Fact, current_span


class StepSpans(Observer):
    """For engines that run on the tracer's clock, `time.perf_counter`."""

    def request_ended(self, request: RequestStats) -> None:
        span = current_span()
        if span is None or not span.is_kept:
            return
        span.facts.update(_request_facts(request))
        for record in request.steps:
            if record.duration_us:  # else it never ran: the request had ended before
                step = span.step(record.name, record.began, record.duration_us * 1e-6)
                step.facts.update(_step_facts(record))
                step.finish(record.failure or None)


def _request_facts(request: RequestStats) -> dict[str, Fact]:
    return {
        "inferflow.config": request.plan.config_id,
        "inferflow.config_version": request.plan.digest,
        "inferflow.mode": request.mode,
        "inferflow.rows": request.rows,
        "inferflow.outcome": request.outcome or "ok",
    }


def _step_facts(record: StepRecord) -> dict[str, Fact]:
    told: dict[str, Fact | None] = {
        "inferflow.step": record.name,
        "inferflow.kind": record.kind,
        "inferflow.rows": record.rows,
        "inferflow.keys": record.unique_keys,
        "inferflow.cache_hits": record.cache_hits,
        "inferflow.calls": record.calls,
        "inferflow.failed_calls": record.failed_calls or None,
        "inferflow.batches": record.batches or None,
        "inferflow.endpoint": record.endpoint or None,
        "inferflow.model_version": record.version or None,
        "inferflow.skipped": record.skipped or None,
    }
    return {name: fact for name, fact in told.items() if fact is not None}
