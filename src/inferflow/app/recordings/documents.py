"""What is told about a kept request: a line of a list, or everything.

Of a request that did not ask to be recorded, values and the words of errors are not told, for
those may quote a value.
"""

from __future__ import annotations

from typing import Any

from inferflow.app.explain import target_facts
from inferflow.app.explain.waterfall import run_facts
from inferflow.app.recordings.kept import Kept
from inferflow.engine.recording import Recording
from inferflow.errors import InvalidRequest, NotFound
from inferflow.plan.plan import ModelStep

Facts = dict[str, Any]

_UNITS = {"pairwise": "pair", "slatewise": "slate"}


def line(kept: Kept) -> Facts:
    longest = max(kept.steps, key=lambda record: record.duration_us, default=None)
    return {
        "recording": kept.id,
        "kept_because": kept.why,
        "at_ms": kept.at_ms,
        "request_id": kept.request_id,
        "tracking_id": kept.tracking_id,
        "method": kept.method,
        "model_config_id": kept.config_id or (kept.plan.config_id if kept.plan else ""),
        "config_version": kept.plan.digest if kept.plan else "",
        "arm": kept.arm,
        "rows": kept.rows,
        "duration_us": kept.duration_us,
        "error": kept.error,
        "longest_step": longest.name if longest is not None and longest.duration_us else "",
        "has_values": kept.whole is not None and kept.whole.has_values,
    }


def document(kept: Kept, item: str = "") -> Facts:
    """Raises InvalidRequest for an item the recording does not have."""
    facts = {**line(kept), "run": None, "item": None}
    if kept.whole is not None:
        whole = kept.whole
        facts["run"] = {**run_facts(whole.recording, whole.scores), "failure": whole.failure}
    elif kept.plan is not None:
        facts["run"] = _counted_facts(kept, Recording(kept.plan))
    if item:
        facts["item"] = _item_facts(kept, item)
    return facts


def _counted_facts(kept: Kept, recording: Recording) -> Facts:
    """What the engine counts of every request. When each step began is not part of that."""
    recording.steps = {record.name: record for record in kept.steps}
    recording.arms = {
        step.name: f"{step.model}@{recording.steps[step.name].version}"
        for step in recording.plan.steps
        if isinstance(step, ModelStep) and recording.steps[step.name].version
    }
    run = run_facts(recording, None, was_answered=not kept.error)
    for step in run["steps"]:
        step["start_us"], step["error"] = None, recording.steps[step["step"]].failure
    return {
        **run,
        "targets": kept.rows,
        "unit": _UNITS.get(kept.mode, "target"),
        "total_us": kept.duration_us,
        "failure": kept.error,
    }


def _item_facts(kept: Kept, item: str) -> Facts:
    if kept.whole is None:
        raise InvalidRequest(
            "item", "values are kept of requests that ask to be recorded, and of no other"
        )
    if not kept.whole.has_values:
        raise InvalidRequest("item", "this request had more values than there is room for")
    try:
        return target_facts(kept.whole.recording, kept.whole.scores, item)
    except NotFound as absent:
        raise InvalidRequest("item", str(absent)) from None
