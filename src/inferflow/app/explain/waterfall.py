"""One request step by step: when each step ran, for how long, and what it met."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from inferflow.engine.matrix import Matrix
from inferflow.engine.ports import ReadState
from inferflow.engine.recording import Recording, StepRecord
from inferflow.plan.plan import ComputeStep, FeatureStep, ModelStep, Step
from inferflow.scores import Scores
from inferflow.tabular import counted, table

Facts = dict[str, Any]

BAR = 32
"""Characters a whole request takes in the waterfall."""


# --- facts ----------------------------------------------------------------------------------


def run_facts(recording: Recording, scores: Scores | None) -> Facts:
    """What each step did; those a failed request never came to are `not reached`."""
    last = max(record.start_us + record.duration_us for record in recording.steps.values())
    return {
        "model_config_id": recording.plan.config_id,
        "config_version": recording.plan.digest,
        "targets": len(recording.ids),
        "total_us": recording.total_us if scores is not None else last,
        "steps": [_step_facts(step, recording, scores) for step in recording.plan.steps],
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


def _step_facts(step: Step, recording: Recording, scores: Scores | None) -> Facts:
    record = recording.steps[step.name]
    was_reached = scores is not None or record.duration_us > 0
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
    if isinstance(step, FeatureStep) and recording.matrix is not None:
        facts |= {
            "unique_keys": record.unique_keys,
            "cache_hits": record.cache_hits,
            "without_key": _without_key(record),
            "stand_ins": stand_ins(step, recording.matrix),
            "pinned": [column.name for column, _ in _pins(step, recording)],
        }
    elif record.kind == "model":
        arm = recording.arms.get(step.name, "")
        facts |= {"endpoint": record.endpoint, "answered_by": arm, "batches": record.batches}
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


# --- text -----------------------------------------------------------------------------------


def run_text(facts: Mapping[str, Any]) -> str:
    total = facts["total_us"]
    lines = [
        f"{facts['model_config_id']}: {counted(facts['targets'], 'target')} in {total:,.0f} µs, "
        f"version {facts['config_version'][:12]}",
        "",
    ]
    if facts["failure"]:
        lines[1:] = [f"failed: {facts['failure']}", ""]
    rows = [
        [
            step["step"],
            round(step["start_us"]),
            round(step["duration_us"]),
            bar(step["start_us"], step["duration_us"], total) if step["duration_us"] else "",
            ", ".join(_remarks(step)),
        ]
        for step in facts["steps"]
    ]
    lines += table(["step", "start µs", "time µs", "", ""], rows)
    lines += ["", "from the request"]
    lines += table(
        ["column", "taken from", "because of"],
        [[each["column"], each["from"], each["rule"]] for each in facts["bound"]],
        indent=2,
    )
    if facts["unused"]:
        lines += ["", f"not used: {', '.join(facts['unused'])}"]
    for name, errors in facts["errors"].items():
        lines += ["", f"{name} with errors"]
        lines += [f"  {count}: {error}" for error, count in errors.items()]
    return "\n".join(lines)


def bar(start_us: float, duration_us: float, total_us: float) -> str:
    """A step's place in the whole request; at least one mark wide."""
    scale = BAR / max(total_us, start_us + duration_us, 1e-9)
    begin = min(int(start_us * scale), BAR - 1)
    length = max(1, round(duration_us * scale))
    return " " * begin + "█" * min(length, BAR - begin)


def _remarks(step: Mapping[str, Any]) -> Iterator[str]:
    if step["skipped"]:
        yield f"skipped: {step['skipped']}"
        return
    yield counted(step["rows"], step["unit"])
    if step.get("unique_keys") is not None:
        yield counted(step["unique_keys"], "key")
    if step.get("cache_hits") is not None:
        yield counted(step["cache_hits"], "cache hit")
    if step.get("without_key"):
        yield f"{step['without_key']} without a key"
    for group, reasons in step.get("stand_ins", {}).items():
        for why, rows in reasons.items():
            yield f"{group}: {rows} {why}"
    if step.get("pinned"):
        yield f"given by the request: {', '.join(step['pinned'])}"
    if step.get("answered_by"):
        yield f"{step['endpoint']} {step['answered_by']}"
        yield counted(step["batches"], "batch")
    if step.get("nans"):
        yield f"{step['nans']} not finite"
    if step.get("blank"):
        yield f"{step['blank']} without a score"
    if step["error"]:
        yield f"error: {step['error']}"
