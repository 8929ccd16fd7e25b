"""A compiled plan as a picture needs it: nodes, edges, and who reads which column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from inferflow.app.explain.planned import dtype_text, plan_facts
from inferflow.app.explain.supply import ways_to_give
from inferflow.plan.plan import ComputeStep, FeatureStep, ModelStep, Plan, Step
from inferflow.serving.runtime import ModelRepository
from inferflow.tabular import duration_text

Facts = dict[str, Any]


def plan_document(plan: Plan, models: ModelRepository) -> Facts:
    """`models` are those of the project, for the versions there are of one that runs here."""
    readers = _readers(plan)
    planned = {each["step"]: each for each in plan_facts(plan)["steps"]}
    return {
        "id": plan.config_id,
        "digest": plan.digest,
        "target_entity": plan.id_column,
        "nodes": [_node(step, planned[step.name], readers, models) for step in plan.steps],
        "edges": [
            {"from": plan.steps[index].name, "to": step.name}
            for step in plan.steps
            for index in step.needs
        ],
        "response_columns": [name for name, _ in (*plan.response.targets, *plan.response.slates)],
        "request_columns": [each.name for each in plan.request_columns],
        "inputs": _inputs(plan),
    }


def _readers(plan: Plan) -> dict[str, list[str]]:
    """Column → steps that read it. One that a request may give per target or per slate is one."""
    readers: dict[str, dict[str, None]] = {}
    for step in plan.steps:
        for column in step.reads:
            readers.setdefault(column.name, {})[step.name] = None
    return {name: list(steps) for name, steps in readers.items()}


def _node(
    step: Step, planned: Facts, readers: Mapping[str, list[str]], models: ModelRepository
) -> Facts:
    is_slate = isinstance(step, ModelStep | ComputeStep) and step.slate
    return {
        "id": step.name,
        "kind": planned["kind"],
        "level": step.level,
        "unit": "slates" if is_slate else "targets",
        "reads": list(dict.fromkeys(column.name for column in step.reads)),
        "writes": [
            {
                "column": column.name,
                "dtype": dtype_text(column),
                "width": column.width or 1,
                "source": _source(step),
                "read_by": readers.get(column.name, []),
            }
            for column in {column.name: column for column in step.writes}.values()
        ],
        "facts": dict(_facts(step, planned, models)),
    }


def _source(step: Step) -> str:
    """Where the values of a column come from, in a few words."""
    match step:
        case FeatureStep():
            return f"feature store: {step.entity}"
        case ModelStep():
            return f"model {step.model}"
        case ComputeStep():
            return f"expression {step.compute_id}"
    return "the request"


def _facts(step: Step, planned: Facts, models: ModelRepository) -> Iterator[tuple[str, str]]:
    """What is worth knowing of a step, as people read it."""
    yield "on error", step.on_error
    if step.timeout_ms is not None:
        yield "timeout", f"{step.timeout_ms:g} ms"
    match step:
        case FeatureStep():
            yield "entity", step.entity
            keys = ", ".join(f"{key.name} = {key.column.name}" for key in step.keys)
            yield "keys", keys
            yield "groups", ", ".join(planned["groups"])
            if step.cache is not None:
                yield "cached for", duration_text(step.cache.ttl_s)
        case ModelStep():
            for arm in planned["arms"]:
                label = "model" if len(planned["arms"]) == 1 else f"{arm['percent']:g} %"
                yield label, f"{arm['model']}@{arm['version']} ({arm['endpoint']})"
            local = {arm.endpoint.model for arm in step.arms if arm.endpoint.is_local}
            for name in sorted(local & set(models.names())):
                yield "versions", ", ".join(models.versions(name))
            for calibration in planned["calibrations"]:
                yield "calibrated", f"{calibration['column']} ({calibration['kind']})"
        case ComputeStep():
            yield "expression", step.compute_id
            yield from planned["variables"].items()
            yield "across rows", "yes" if step.cross_row else "no"


def _inputs(plan: Plan) -> Facts:
    """What a request brings, by where it may be given."""
    entities: dict[str, None] = {}
    context: dict[str, None] = {}
    for requested in plan.request_columns:
        way = next(iter(ways_to_give(requested)), "")
        part, _, name = way.partition(".")
        if part == "entities":
            entities[name] = None
        elif part == "context":
            context[name] = None
    features = [
        column.name
        for step in plan.steps
        if isinstance(step, FeatureStep)
        for column in dict.fromkeys(step.writes)
        if any(column.block in blocks for blocks in step.blocks)
    ]
    return {"entities": list(entities), "context": list(context), "features": features}
