"""The facts of a compiled plan: what each step reads, does and writes."""

from __future__ import annotations

from typing import Any

from inferflow.app.explain.supply import ways_to_give
from inferflow.plan.plan import (
    Column,
    ComputeStep,
    FeatureStep,
    ModelArm,
    ModelStep,
    Plan,
    RequestColumn,
    Source,
    Step,
)

Facts = dict[str, Any]


def plan_facts(plan: Plan) -> Facts:
    return {
        "model_config_id": plan.config_id,
        "config_version": plan.digest,
        "id_column": plan.id_column or None,
        "steps": [_step_facts(step, plan) for step in plan.steps],
        "request_columns": [_requested_facts(requested) for requested in plan.request_columns],
        "response": [_column_facts(name, column) for name, column in _response(plan)],
        "readings": list(plan.readings),
        "notes": [note.as_dict() for note in plan.notes],
    }


def _response(plan: Plan) -> list[tuple[str, Column]]:
    return [*plan.response.targets, *plan.response.slates]


def _step_facts(step: Step, plan: Plan) -> Facts:
    facts: Facts = {
        "step": step.name,
        "kind": step.kind,
        "level": step.level,
        "after": [plan.steps[index].name for index in step.needs],
        "on_error": step.on_error,
        "timeout_ms": step.timeout_ms,
        "reads": [_column_facts(column.name, column) for column in dict.fromkeys(step.reads)],
        "writes": [_written_facts(column, step) for column in step.writes],
    }
    match step:
        case FeatureStep():
            facts |= _feature_facts(step)
        case ModelStep():
            facts |= _model_facts(step)
        case ComputeStep():
            facts |= _compute_facts(step)
    return facts


def _column_facts(name: str, column: Column) -> Facts:
    return {"column": name, "dtype": dtype_text(column), "per": column.space}


def _written_facts(column: Column, step: Step) -> Facts:
    facts = _column_facts(column.name, column)
    if isinstance(step, FeatureStep):
        default = _default(column, step) if column.has_default else None
        facts |= {"default": default}
    return facts


def _default(column: Column, step: FeatureStep) -> Any:
    for blocks, rows in zip(step.blocks, step.defaults, strict=True):
        if column.block in blocks:
            row = rows[blocks.index(column.block)]
            elements = row[column.offset : column.offset + (column.width or 1)].tolist()
            return elements if column.is_vector else elements[0]
    return None


def _feature_facts(step: FeatureStep) -> Facts:
    return {
        "entity": step.entity,
        "keys": [{"key": key.name, "column": key.column.name} for key in step.keys],
        "groups": [group.label for group in step.read.groups] if step.read else [],
        "cache_ttl_s": step.cache.ttl_s if step.cache else None,
        "batch_size": step.batch_size,
    }


def _model_facts(step: ModelStep) -> Facts:
    return {
        "model": step.model,
        "arms": [
            _arm_facts(arm, share) for arm, share in zip(step.arms, _shares(step), strict=True)
        ],
        "calibrations": [
            {"kind": each.kind, "column": each.column.name} for each in step.calibrations
        ],
        "batch_size": step.batch_size,
        **_scoring_facts(step),
    }


def _compute_facts(step: ComputeStep) -> Facts:
    return {
        "compute_id": step.compute_id,
        "variables": {
            variable: source.name
            for variable, source in zip(step.variables, step.sources, strict=True)
        },
        "precision": step.precision.name if step.precision else None,
        "strict": step.strict,
        "looks_across_rows": step.cross_row,
        **_scoring_facts(step),
    }


def _scoring_facts(step: ModelStep | ComputeStep) -> Facts:
    return {
        "nan_policy": step.nan_policy,
        "scores": "slates" if step.slate else "targets",
        "slate_reduce": step.slate_reduce if step.slate else None,
    }


def _shares(step: ModelStep) -> list[float]:
    """Percent of traffic per arm; the last one takes what is left."""
    if step.routes is None:
        return [100.0]
    starts = [0.0, *step.routes.bounds[:-1]]
    ends = [*step.routes.bounds[:-1], 100.0]
    return [end - start for start, end in zip(starts, ends, strict=True)]


def _arm_facts(arm: ModelArm, share: float) -> Facts:
    return {
        "endpoint": arm.endpoint.text or "local",
        "model": arm.signature.model,
        "version": arm.signature.version,
        "percent": share,
        "tensors": [
            {
                "tensor": tensor.name,
                "dtype": tensor.dtype.name,
                "shape": list(tensor.shape),
                "columns": [_source_facts(source) for source in tensor.sources],
            }
            for tensor in arm.tensors
        ],
        "outputs": [
            {"tensor": output.tensor, "columns": [column.name for column in output.columns]}
            for output in arm.outputs
        ],
    }


def _source_facts(source: Source) -> Facts:
    return {
        "column": source.name,
        "width": source.width,
        "as": source.via.name if source.via else None,
    }


def _requested_facts(requested: RequestColumn) -> Facts:
    return {
        "column": requested.name,
        "role": requested.role,
        "dtype": requested.dtype.name if requested.dtype else "as given",
        "default": requested.default,
        "read_by": list(requested.wheres),
        "give_as": ways_to_give(requested),
    }


def dtype_text(column: Column) -> str:
    """`FP32`, `FP32Vector[16]`, or `as given` when only a request can tell."""
    if column.dtype is None:
        return "as given"
    return f"{column.dtype.name}[{column.width}]" if column.is_vector else column.dtype.name
