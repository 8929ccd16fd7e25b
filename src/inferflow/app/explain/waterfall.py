"""One request step by step: when each step ran, for how long, and what it met."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from inferflow.engine.matrix import Matrix
from inferflow.engine.ports import ReadState
from inferflow.engine.recording import Recording, StepRecord
from inferflow.plan.plan import ComputeStep, FeatureStep, ModelStep, Step
from inferflow.scores import Scores

Facts = dict[str, Any]


def run_facts(
    recording: Recording, scores: Scores | None, *, was_answered: bool | None = None
) -> Facts:
    """What each step did; those a failed request never came to are `not reached`. A request
    without scores has failed, unless it is said that it was answered."""
    if was_answered is None:
        was_answered = scores is not None
    last = max(record.start_us + record.duration_us for record in recording.steps.values())
    return {
        "model_config_id": recording.plan.config_id,
        "config_version": recording.plan.digest,
        "targets": len(recording.ids),
        "unit": "target",
        "total_us": recording.total_us if scores is not None else last,
        "steps": [
            _step_facts(step, recording, scores, was_answered=was_answered)
            for step in recording.plan.steps
        ],
        "bound": [
            {"column": requested.name, "from": str(origin), "rule": origin.rule}
            for requested, origin in _bound(recording)
        ],
        "unused": list(recording.binding.unused) if recording.binding else [],
        "errors": _errors(scores) if scores is not None else {},
    }


def _bound(recording: Recording) -> list[Any]:
    binding = recording.binding
    return [*binding.targets, *binding.slates] if binding else []


def _step_facts(
    step: Step, recording: Recording, scores: Scores | None, *, was_answered: bool
) -> Facts:
    record = recording.steps[step.name]
    was_reached = was_answered or record.duration_us > 0
    facts: Facts = {
        "step": step.name,
        "kind": record.kind,
        "start_us": record.start_us,
        "duration_us": record.duration_us,
        "rows": record.rows,
        "unit": _unit(step, scores),
        "skipped": record.skipped if was_reached else "not reached",
        "error": record.error,
    }
    if isinstance(step, FeatureStep):
        facts |= {
            "unique_keys": record.unique_keys,
            "cache_hits": record.cache_hits,
            "without_key": _without_key(record),
            "stand_ins": stand_ins(step, recording.matrix) if recording.matrix else {},
            "pinned": [column.name for column, _ in _pins(step, recording)],
        }
    elif record.kind == "model":
        arm = recording.arms.get(step.name, "")
        facts |= {"endpoint": record.endpoint, "answered_by": arm, "batches": record.batches}
    elif record.endpoint:
        facts["endpoint"] = record.endpoint
    if record.kind in ("model", "compute"):
        facts |= {"nans": record.nans, "blank": _blank(step, recording)}
    return facts


def _unit(step: Step, scores: Scores | None) -> str:
    """What one of a step's rows is."""
    is_slate = isinstance(step, ModelStep | ComputeStep) and step.slate
    grouping = scores.grouping if scores is not None else None
    return (grouping or "slates").removesuffix("s") if is_slate else "row"


def _pins(step: Step, recording: Recording) -> tuple[Any, ...]:
    return recording.binding.pins.get(step.name, ()) if recording.binding else ()


def _without_key(record: StepRecord) -> int:
    unusable = record.read.unusable if record.read else None
    return 0 if unusable is None else int(np.count_nonzero(unusable))


def stand_ins(step: FeatureStep, matrix: Matrix) -> dict[str, dict[str, int]]:
    """group → why → rows whose values are not the store's own."""
    found: dict[str, dict[str, int]] = {}
    groups = step.read.groups if step.read else ()
    for group, blocks in zip(groups, step.blocks, strict=True):
        states = matrix.states(blocks[0])
        why = Counter[str]()
        if states is not None:
            spread = np.broadcast_to(states, (matrix.rows,))
            why.update(ReadState(state).name.lower() for state in spread.tolist() if state)
        lacking = [matrix.absent(column) for column in step.writes if column.block in blocks]
        masks = [mask for mask in lacking if mask is not None]
        if masks:
            either = np.broadcast_to(np.logical_or.reduce(masks), (matrix.rows,))
            why["default"] += int(np.count_nonzero(either))
        if why:
            found[group.label] = {reason: rows for reason, rows in why.items() if rows}
    return found


def _blank(step: Step, recording: Recording) -> int:
    """Rows (or slates) this step has no score for."""
    matrix = recording.matrix
    masks = [matrix.invalid(column.block) for column in step.writes] if matrix else []
    return max((int(np.count_nonzero(mask)) for mask in masks if mask is not None), default=0)


def _errors(scores: Scores) -> dict[str, dict[str, int]]:
    """targets, pairs or slates → error text → how many carry it."""
    tables = {"targets": scores.targets}
    if scores.groups is not None and scores.grouping is not None:
        tables[scores.grouping] = scores.groups
    return {
        name: dict(Counter(error for error in table.errors if error))
        for name, table in tables.items()
        if any(table.errors)
    }
