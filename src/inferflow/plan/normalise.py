"""Turns what was written, in either shape, into one `ConfigSpec`.

Every ambiguous part is read by a fixed rule, and the reading is kept for `explain`.
Nothing here looks outside the config.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from inferflow.errors import InvalidInput
from inferflow.plan.direction import WHERE as EDGES
from inferflow.plan.direction import directed, settle_direction
from inferflow.plan.problems import Problems, nearest
from inferflow.plan.schema import ComponentsDoc, ConfigDoc
from inferflow.plan.spec import (
    INIT,
    ComputeStepSpec,
    ConfigSpec,
    FeatureStepSpec,
    ModelStepSpec,
    ResponseSpec,
    StepSpec,
)
from inferflow.plan.split import is_split_alone
from inferflow.plan.stepspecs import (
    read_compute_step,
    read_feature_step,
    read_model_step,
)
from inferflow.plan.validation import validated

__all__ = ["normalise", "unwrap"]


_PARTS = ("dag_execution_config", "component_config", "response_config")


def unwrap(document: Any, config_id: str) -> dict[str, Any]:
    """Configs by id: a file holds `{id: {…}}` for one or more ids, or one inner object alone."""
    if not isinstance(document, dict):
        raise InvalidInput(f"{config_id}: a config is an object, not {type(document).__name__}")
    if not document:
        raise InvalidInput(f"{config_id}: holds no config")
    if any(part in document for part in _PARTS) or is_split_alone(document):
        return {config_id: document}
    return {str(key): value for key, value in document.items()}


def normalise(config_id: str, written: Any) -> tuple[ConfigSpec | None, Problems]:
    """The config's one meaning, and everything that is wrong with how it is written. A spec
    that comes with errors is good for finding more of them, and for nothing else."""
    problems = Problems()
    doc = validated(written, problems)
    if doc is None:
        return None, problems
    components = doc.component_config
    list_shaped = _is_list_shaped(components)
    steps = _steps(components, problems, list_shaped=list_shaped)
    feeds, readings = _feeds(doc, steps, problems, list_shaped=list_shaped)
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

    for name, feature in _named(components, "feature", problems):
        add(read_feature_step(name, feature, components, problems, list_shaped=list_shaped))
    for name, model in _named(components, "predator", problems):
        add(read_model_step(name, model, problems, list_shaped=list_shaped))
    for name, compute in _named(components, "numerix", problems):
        add(read_compute_step(name, compute, problems, list_shaped=list_shaped))
    if not any(isinstance(step, FeatureStepSpec | ModelStepSpec) for step in steps.values()):
        problems.error(where, "needs at least one feature or model component")
    return steps


def _named(components: ComponentsDoc, kind: str, problems: Problems) -> list[tuple[str, Any]]:
    """(name, component) of one kind, in either shape or both."""
    mapped = getattr(components, f"{kind}_component_config") or {}
    listed = getattr(components, f"{kind}_components") or []
    for name, doc in mapped.items():
        if doc.component not in ("", name):
            problems.error(
                f"component_config.{name}.component",
                f"{doc.component!r} is not the name this component has as a key",
            )
    return [*mapped.items(), *((doc.component, doc) for doc in listed)]


def _feeds(
    doc: ConfigDoc, steps: Mapping[str, StepSpec], problems: Problems, *, list_shaped: bool
) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    dag = doc.dag_execution_config
    edges = dag.component_dependency
    named = dict.fromkeys([*edges, *(other for listed in edges.values() for other in listed)])
    for name in named:
        if name not in steps and name != INIT:
            meant = nearest(name, [*steps, INIT])
            problems.error(
                f"{EDGES}[{name!r}]",
                "no component has this name",
                f"closest: {meant!r}" if meant else "",
            )
    for name in steps:
        if name not in named:
            problems.error(
                f"component_config.{name}",
                "is not in the graph and would never run",
                f"add it to {EDGES}",
            )
    rank = {name: i for i, name in enumerate([INIT, *steps])}
    known: dict[str, list[str]] = {
        name: [other for other in edges.get(name, ()) if other in rank]
        for name in [*(name for name in edges if name in rank), *steps]
    }
    direction, why = settle_direction(
        known,
        dag.direction,
        lambda reader, writer: _reads_from(steps.get(reader), steps.get(writer)),
        tie="dependencies" if list_shaped else "children",
    )
    feeds = directed(known, direction)
    # One order, whichever way the edges were written: components as configured, root first.
    place = rank.__getitem__
    ordered = {step: tuple(sorted(feeds[step], key=place)) for step in sorted(feeds, key=place)}
    return ordered, [why]


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


def _cache_version(written: str, problems: Problems) -> int:
    digits = re.search(r"[0-9]+", written)
    if digits is None or len(digits.group()) > _VERSION_DIGITS:
        problems.error(
            "component_config.cache_version", f"{written!r} is no version", "write 1 or v1"
        )
        return 1
    return int(digits.group()) or 1


_VERSION_DIGITS = 9
