"""Turns what was written, in either shape, into one `ConfigSpec`.

Every ambiguous part is read by a fixed rule, and the reading is kept for `explain`.
Nothing here looks outside the config.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from inferflow.errors import InvalidInput
from inferflow.plan.direction import WHERE as EDGES
from inferflow.plan.direction import directed, settle_direction
from inferflow.plan.problems import Problems, nearest
from inferflow.plan.schema import (
    TOLERATED_KEYS,
    ComponentsDoc,
    ConfigDoc,
    known_keys,
)
from inferflow.plan.spec import (
    INIT,
    ComputeStepSpec,
    ConfigSpec,
    FeatureStepSpec,
    ModelStepSpec,
    ResponseSpec,
    StepSpec,
)
from inferflow.plan.stepspecs import (
    read_compute_step,
    read_feature_step,
    read_model_step,
)

__all__ = ["normalise", "unwrap"]


def unwrap(document: Any, config_id: str) -> dict[str, Any]:
    """Configs by id: a file holds `{id: {…}}` for one or more ids, or one inner object alone."""
    if not isinstance(document, dict):
        raise InvalidInput(f"{config_id}: a config is an object, not {type(document).__name__}")
    if "dag_execution_config" in document or "component_config" in document:
        return {config_id: document}
    return {str(key): value for key, value in document.items()}


def normalise(config_id: str, written: Any) -> tuple[ConfigSpec | None, Problems]:
    """The config's one meaning, and everything that is wrong with how it is written."""
    problems = Problems()
    doc = _validated(written, problems)
    if doc is None:
        return None, problems
    components = doc.component_config
    list_shaped = _is_list_shaped(components)
    steps = _steps(components, problems, list_shaped=list_shaped)
    feeds, readings = _feeds(doc, steps, problems, list_shaped=list_shaped)
    if problems.errors:
        return None, problems
    response = doc.response_config
    log = response.log_features
    written_columns = {name for step in steps.values() for name in columns_of(step)}
    id_column = doc.id_column
    if not id_column and list_shaped and response.features[0] not in written_columns:
        id_column = response.features[0]
        readings.append(f"targets are {id_column!r}, the first response feature of a list config")
    return (
        ConfigSpec(
            id=config_id,
            steps=steps,
            feeds=feeds,
            response=ResponseSpec(
                features=tuple(response.features),
                model_schema_perc=response.model_schema_perc,
                logging_perc=response.logging_perc,
                log_features=(
                    tuple(log)
                    if isinstance(log, list)
                    else (tuple(response.features) if log else None)
                ),
                log_batch_size=response.log_batch_size if response.log_batch_size > 0 else 500,
            ),
            cache_version=_cache_version(components.cache_version, problems),
            error_logging_percent=components.error_logging_percent or 10,
            id_column=id_column,
            value_encoding=doc.predict_value_encoding or ("auto" if list_shaped else "typed"),
            readings=tuple(readings),
        ),
        problems,
    )


def _validated(written: Any, problems: Problems) -> ConfigDoc | None:
    cleaned = _without_tolerated(written, "", problems)
    try:
        return ConfigDoc.model_validate(cleaned)
    except ValidationError as invalid:
        for error in invalid.errors(include_url=False):
            where = _path(error["loc"])
            if error["type"] == "extra_forbidden":
                key = str(error["loc"][-1])
                meant = nearest(key, known_keys() - {key})
                problems.error(where, "unknown key", f"closest: {meant!r}" if meant else "")
            elif error["type"] == "missing":
                problems.error(where, "is required")
            else:
                problems.error(where, error["msg"].removeprefix("Value error, "))
        return None


def _without_tolerated(written: Any, where: str, problems: Problems) -> Any:
    if isinstance(written, Mapping):
        for key in written:
            if key in TOLERATED_KEYS:
                problems.note(f"{where}{key}", "has no effect here and is ignored")
        return {
            key: _without_tolerated(value, f"{where}{key}.", problems)
            for key, value in written.items()
            if key not in TOLERATED_KEYS
        }
    return written


def _path(location: tuple[int | str, ...]) -> str:
    path = ""
    for part in location:
        if isinstance(part, int):
            path += f"[{part}]"
        elif re.fullmatch(r"[A-Za-z_][\w-]*", part):
            path += f".{part}" if path else part
        else:
            path += f"[{part!r}]"
    return path or "config"


def _is_list_shaped(components: ComponentsDoc) -> bool:
    return any(
        part is not None
        for part in (
            components.feature_components,
            components.predator_components,
            components.numerix_components,
        )
    )


def _steps(
    components: ComponentsDoc, problems: Problems, *, list_shaped: bool
) -> dict[str, StepSpec]:
    """Every component by name. Kinds come in a fixed order; within a kind, as written."""
    where = "component_config"
    steps: dict[str, StepSpec] = {}

    def add(step: StepSpec) -> None:
        if step.name in steps:
            problems.error(f"{where}.{step.name}", "two components have this name")
        elif step.name == INIT:
            problems.error(f"{where}.{step.name}", "this name is kept for the root of every graph")
        elif not step.name:
            problems.error(where, "a component has no name", "set `component`")
        else:
            steps[step.name] = step

    for name, feature in _named(components, "feature_component_config", "feature_components"):
        add(read_feature_step(name, feature, components, problems, list_shaped=list_shaped))
    for name, model in _named(components, "predator_component_config", "predator_components"):
        add(read_model_step(name, model, problems, list_shaped=list_shaped))
    for name, compute in _named(components, "numerix_component_config", "numerix_components"):
        add(read_compute_step(name, compute, problems, list_shaped=list_shaped))
    if not any(isinstance(step, FeatureStepSpec | ModelStepSpec) for step in steps.values()):
        problems.error(where, "needs at least one feature or model component")
    return steps


def _named(components: ComponentsDoc, as_map: str, as_list: str) -> list[tuple[str, Any]]:
    mapped = getattr(components, as_map) or {}
    listed = getattr(components, as_list) or []
    return [*mapped.items(), *((doc.component, doc) for doc in listed)]


def _feeds(
    doc: ConfigDoc, steps: Mapping[str, StepSpec], problems: Problems, *, list_shaped: bool
) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    dag = doc.dag_execution_config
    edges = dag.component_dependency
    for name in dict.fromkeys([*edges, *(other for listed in edges.values() for other in listed)]):
        if name not in steps and name != INIT:
            meant = nearest(name, [*steps, INIT])
            problems.error(
                f"{EDGES}[{name!r}]",
                "no component has this name",
                f"closest: {meant!r}" if meant else "",
            )
    for name in steps:
        if name not in edges and not any(name in listed for listed in edges.values()):
            problems.error(
                f"component_config.{name}",
                "is not in the graph and would never run",
                f"add it to {EDGES}",
            )
    direction, why = settle_direction(
        edges,
        dag.direction,
        lambda reader, writer: _reads_from(steps.get(reader), steps.get(writer)),
        tie="dependencies" if list_shaped else "children",
        problems=problems,
    )
    feeds = directed(edges, direction)
    # One order, whichever way the edges were written: components as configured, root first.
    rank = {name: i for i, name in enumerate([INIT, *steps])}
    return (
        {
            step: tuple(sorted(feeds[step], key=lambda child: rank.get(child, len(rank))))
            for step in sorted(feeds, key=lambda name: rank.get(name, len(rank)))
        },
        [why],
    )


def _reads_from(reader: StepSpec | None, writer: StepSpec | None) -> bool:
    if reader is None or writer is None:
        return False
    read = {use.column for use in uses_of(reader)}
    return not read.isdisjoint(columns_of(writer))


def uses_of(step: StepSpec) -> list[Any]:
    """Every column a step reads."""
    if isinstance(step, FeatureStepSpec):
        return [key.use for key in step.keys]
    if isinstance(step, ModelStepSpec):
        return [*step.uses, *(use for tensor in step.tensors for use in tensor.uses)]
    return list(step.uses) if isinstance(step, ComputeStepSpec) else []


def columns_of(step: StepSpec) -> list[str]:
    """Every name a step's columns may be called by."""
    if isinstance(step, FeatureStepSpec):
        names = [
            f"{prefix}:{group.label}:{feature.label}"
            for prefix in dict.fromkeys((step.prefix, step.name))
            for group in step.groups
            for feature in group.features
        ]
        names += [f"{step.name}:{key}" for key in step.kept_keys]
        return [*names, step.id_column] if step.id_column else names
    if isinstance(step, ModelStepSpec):
        return [
            name
            for out in step.outputs
            for score in out.scores
            for name in (score.column, score.bare)
        ]
    return [step.column, step.bare] if isinstance(step, ComputeStepSpec) else []


def _cache_version(written: int | str, problems: Problems) -> int:
    digits = re.search(r"\d+", str(written))
    if not digits:
        problems.error(
            "component_config.cache_version", f"{written!r} holds no number", "write 1 or v1"
        )
        return 1
    return int(digits.group()) or 1
