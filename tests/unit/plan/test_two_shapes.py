"""One meaning, however it is written: two shapes, two edge directions, several spellings.

Random configs are drawn as a `Sketch`, which is then written down in each way. All of them must
compile to the same plan.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from inferflow.dtypes import DType
from inferflow.plan.plan import Plan
from inferflow.testing import World, entity, model

GROUPS = {
    "g": {"x": "FP32", "n": "INT32", "v": "FP32Vector[2]"},
    "h": {"y": "FP64", "link": "INT32"},
}
ENTITIES = [
    entity("user", "user_id", **GROUPS),
    entity("item", "item_id", **GROUPS),
    entity("cell", "user_id", "link", **GROUPS),
]
WIDTHS = {"x": 1, "n": 1, "v": 2, "y": 1, "link": 1}


@dataclass(frozen=True)
class Fetch:
    name: str
    entity: str
    prefix: str
    """What columns start with; ends with the entity's label."""
    keys: tuple[tuple[str, str], ...]
    features: tuple[tuple[str, tuple[str, ...]], ...]
    cached: bool
    composite: bool

    @property
    def columns(self) -> list[str]:
        return [f"{self.prefix}:{group}:{name}" for group, names in self.features for name in names]


@dataclass(frozen=True)
class Score:
    name: str
    reads: tuple[str, ...]
    scores: tuple[str, ...]
    shares: tuple[int, ...]
    calibration: str
    batch_size: int
    deadline: int

    @property
    def columns(self) -> list[str]:
        return [f"{self.name}:{score}" for score in self.scores]


@dataclass(frozen=True)
class Combine:
    name: str
    reads: tuple[str, ...]
    strict: bool

    @property
    def columns(self) -> list[str]:
        return [f"{self.name}:out"]


@dataclass(frozen=True)
class Sketch:
    fetches: tuple[Fetch, ...]
    models: tuple[Score, ...]
    computes: tuple[Combine, ...]
    needs: Mapping[str, tuple[str, ...]]
    response: tuple[str, ...]
    log: tuple[str, ...] | None


def last(column: str) -> str:
    return column.rpartition(":")[2]


def width(column: str) -> int:
    return WIDTHS.get(last(column), 1)


@st.composite
def sketches(draw: st.DrawFn) -> Sketch:
    available: dict[str, str] = {}
    needs: dict[str, tuple[str, ...]] = {}

    def pick(columns: list[str], least: int, most: int = 4) -> tuple[str, ...]:
        return tuple(
            draw(st.lists(st.sampled_from(columns), min_size=least, max_size=most, unique=True))
        )

    def place(name: str, reads: tuple[str, ...], writes: list[str]) -> None:
        own = {available[column] for column in reads if column in available}
        more = draw(st.sets(st.sampled_from(sorted(needs)))) if needs else set()
        needs[name] = tuple(sorted(own | more))
        available.update(dict.fromkeys(writes, name))

    fetches = []
    for i in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(ENTITIES))
        links = [column for column in available if last(column) == "link"]
        keys = []
        for key in kind.keys:
            derived = draw(st.sampled_from([None, *links]))
            keys.append((key, derived or f"context:{key.removesuffix('_id')}:{key}"))
        fetch = Fetch(
            f"fs{i}",
            kind.label,
            f"p{i}:{kind.label}" if i else draw(st.sampled_from([kind.label, f"p:{kind.label}"])),
            tuple(keys),
            tuple(
                (group, pick(list(features), 1))
                for group, features in GROUPS.items()
                if draw(st.booleans()) or group == "g"
            ),
            draw(st.booleans()),
            draw(st.booleans()),
        )
        place(fetch.name, tuple(column for _, column in keys), fetch.columns)
        fetches.append(fetch)

    models = []
    for i in range(draw(st.integers(0, 2))):
        columns = [*available, "asked_a", "asked_b"]
        step = Score(
            f"m{i}",
            pick(columns, 1),
            pick(["s", "t"], 1),
            draw(st.sampled_from([(), (80, 20), (100,), (50, 25, 25)])),
            draw(st.sampled_from(["", "", "cal"])) if i == 0 else "",
            draw(st.integers(0, 9)),
            draw(st.integers(0, 99)),
        )
        place(step.name, step.reads, step.columns)
        models.append(step)

    computes = []
    for i in range(draw(st.integers(0, 2))):
        plain = {last(column): column for column in [*available, "asked_a"] if width(column) == 1}
        step2 = Combine(f"c{i}", pick(list(plain.values()), 1), draw(st.booleans()))
        place(step2.name, step2.reads, step2.columns)
        computes.append(step2)
    return Sketch(
        tuple(fetches),
        tuple(models),
        tuple(computes),
        needs,
        pick(list(available), 1),
        draw(st.none() | st.just(pick(list(available), 1))),
    )


# --- writing it down --------------------------------------------------------------------------


def edges(sketch: Sketch, direction: str) -> dict[str, list[str]]:
    root = "feature_initializer"
    needs = {name: list(parents) or [root] for name, parents in sketch.needs.items()}
    if direction == "dependencies":
        return needs
    names = [root, *needs]
    return {name: [child for child in needs if name in needs[child]] for name in names}


def in_doc_shape(sketch: Sketch, direction: str = "children") -> dict[str, Any]:
    return {
        "dag_execution_config": {"component_dependency": edges(sketch, direction)},
        "component_config": {
            "feature_component_config": {
                fetch.name: {
                    "fs_keys": {
                        "schema": [key for key, _ in fetch.keys],
                        "col": [column for _, column in fetch.keys],
                    },
                    "fs_request": {
                        "entity_label": fetch.entity,
                        "feature_groups": [
                            {"label": group, "feature_labels": list(names)}
                            for group, names in fetch.features
                        ],
                    },
                    "col_name_prefix": fetch.prefix,
                    "comp_cache_enabled": fetch.cached,
                    "composite_id": fetch.composite,
                }
                for fetch in sketch.fetches
            },
            "predator_component_config": {
                step.name: {
                    "model_name": step.name,
                    "model_end_points": {
                        f"local:{step.name}@{i + 1}": share for i, share in enumerate(step.shares)
                    },
                    "calibration": {"enabled": bool(step.calibration), "name": step.calibration},
                    "batch_size": step.batch_size,
                    "deadline": step.deadline,
                    "inputs": {"feature_map": dict.fromkeys(step.reads, "FP32")},
                    "outputs": {"score_columns": list(step.scores)},
                }
                for step in sketch.models
            },
            "numerix_component_config": {
                step.name: {
                    "score_column": "out",
                    "data_type": "FP64",
                    "score_mapping": dict.fromkeys(step.reads, "FP64"),
                    "compute_id": step.name,
                    "domain_errors": "fail" if step.strict else "mark",
                }
                for step in sketch.computes
            },
            "cache_enabled": True,
            "cache_version": "v3",
        },
        "response_config": {
            "features": list(sketch.response),
            "model_schema_perc": 5,
            "log_features": list(sketch.log) if sketch.log else False,
        },
        "id_column": "context:item:item_id",
        "predict_value_encoding": "auto",
    }


def in_list_shape(sketch: Sketch, direction: str = "dependencies") -> dict[str, Any]:
    return {
        "dag_execution_config": {"component_dependency": edges(sketch, direction)},
        "component_config": {
            "feature_components": [
                {
                    "component": fetch.name,
                    "component_id": f"{fetch.name}:id",
                    "fs_keys": [{"schema": key, "col": column} for key, column in fetch.keys],
                    "fs_request": {
                        "label": fetch.entity,
                        "featureGroups": [
                            {"label": group, "features": list(names)}
                            for group, names in fetch.features
                        ],
                    },
                    "fs_flatten_resp_keys": ["whatever"],
                    "col_name_prefix": fetch.prefix.removesuffix(fetch.entity),
                    "comp_cache_enabled": fetch.cached,
                    "composite_id": fetch.composite,
                }
                for fetch in sketch.fetches
            ],
            "predator_components": [
                {
                    "component": step.name,
                    "component_id": "item_id",
                    "model_name": step.name,
                    "model_end_point": "",
                    "model_end_points": [
                        {"endpoint": f"local:{step.name}@{i + 1}", "percentage": share}
                        for i, share in enumerate(step.shares)
                    ],
                    "calibration": step.calibration,
                    "batch_size": step.batch_size,
                    "deadline": step.deadline,
                    "inputs": [
                        {
                            "name": "x",
                            "features": list(step.reads),
                            "shape": [sum(map(width, step.reads))],
                            "data_type": "FP32",
                        }
                    ],
                    "outputs": [
                        {
                            "name": "y",
                            "model_scores": step.columns,
                            "model_scores_dims": [[1]] * len(step.scores),
                            "data_type": "FP32",
                        }
                    ],
                }
                for step in sketch.models
            ],
            "numerix_components": [
                {
                    "component": step.name,
                    "component_id": "item_id",
                    "score_col": f"{step.name}:out",
                    "data_type": "DataTypeFP64",
                    "score_mapping": {f"{last(c)}@DataTypeFP64": c for c in step.reads},
                    "compute_id": step.name,
                    "domain_errors": "fail" if step.strict else "mark",
                }
                for step in sketch.computes
            ],
            "cache_enabled": True,
            "cache_version": 3,
        },
        "response_config": {
            "features": list(sketch.response),
            "model_schema_features_perc": 5,
            "log_features": list(sketch.log) if sketch.log else False,
        },
        "id_column": "context:item:item_id",
        "predict_value_encoding": "auto",
    }


# --- comparing --------------------------------------------------------------------------------


def world(sketch: Sketch) -> World:
    def fake(step: Score) -> Any:
        return model(
            lambda x: x,
            inputs={"x": f"FP32[N,{sum(map(width, step.reads))}]"},
            outputs={"y": f"FP32[N,{len(step.scores)}]"},
        )

    return World(
        entities=ENTITIES,
        models={
            f"{step.name}@{version}": fake(step) for step in sketch.models for version in (1, 2, 3)
        },
        expressions={
            step.name: " + ".join(last(column) for column in step.reads) for step in sketch.computes
        },
    )


def plain(value: Any) -> Any:
    """A value that compares as it should, arrays included."""
    if isinstance(value, DType):
        return value.name
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.tolist()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return type(value).__name__, {
            field.name: plain(getattr(value, field.name))
            for field in dataclasses.fields(value)
            if field.name != "wheres"
        }
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value


def meaning(plan: Plan) -> dict[str, Any]:
    """All of a plan but how it was written: places, readings, notes, bare names of scores."""
    parts = {
        field.name: plain(getattr(plan, field.name))
        for field in dataclasses.fields(plan)
        if field.name not in ("digest", "readings", "notes", "columns")
    }
    columns = {name: plain(column) for name, column in plan.columns.items() if ":" in name}
    return {**parts, "columns": columns}


@given(sketches())
@settings(max_examples=60)
def test_both_shapes_in_both_directions_are_one_plan(sketch: Sketch) -> None:
    everything = world(sketch)
    plans = [
        everything.plan({"c": write(sketch, direction)})
        for write in (in_doc_shape, in_list_shape)
        for direction in ("children", "dependencies")
    ]
    wanted = meaning(plans[0])
    for plan in plans[1:]:
        assert meaning(plan) == wanted


@given(sketches())
@settings(max_examples=40)
def test_the_direction_of_edges_is_no_part_of_a_digest(sketch: Sketch) -> None:
    everything = world(sketch)
    for write in (in_doc_shape, in_list_shape):
        digests = {
            everything.plan({"c": write(sketch, direction)}).digest
            for direction in ("children", "dependencies")
        }
        assert len(digests) == 1


@given(sketches())
@settings(max_examples=40)
def test_steps_come_after_what_they_need_and_nothing_else_runs(sketch: Sketch) -> None:
    plan = world(sketch).plan({"c": in_doc_shape(sketch)})
    assert plan.steps[0].name == "feature_initializer"
    assert {step.name for step in plan.steps} == {"feature_initializer", *sketch.needs}
    for step in plan.steps:
        assert step.index == plan.steps.index(step)
        assert all(parent < step.index for parent in step.needs)
        assert all(step.index in plan.steps[parent].feeds for parent in step.needs)
        wanted = set(sketch.needs.get(step.name, ()))
        assert {plan.steps[i].name for i in step.needs} - {"feature_initializer"} == wanted


@given(sketches())
@settings(max_examples=40)
def test_every_column_has_a_place_of_its_own(sketch: Sketch) -> None:
    plan = world(sketch).plan({"c": in_doc_shape(sketch)})
    taken: set[tuple[int, int]] = set()
    for column in {column.name: column for column in plan.columns.values()}.values():
        block = plan.blocks[column.block]
        assert block.step == column.step
        stretch = {(column.block, column.offset + i) for i in range(column.width or 1)}
        assert not stretch & taken
        taken |= stretch
        if block.width is not None:
            assert column.offset + (column.width or 1) <= block.width
