"""Random configs with the data and the request to score them on."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pprint import pformat
from typing import Any

import numpy as np
from hypothesis import strategies as st

from inferflow.dtypes import parse_dtype
from inferflow.engine.request import ScoreRequest
from inferflow.errors import ModelFailed

from .formulas import FORMULAS
from .reference import ROOT
from .worlds import EXPIRED, RowModel, World, tensor
from .writing import feature_step

USERS = ("u1", "u2", "u3")
PRODUCTS = ("1", "2", "3", "4", "5")
CATEGORIES = ("1", "2", "3", "7.5", "x")
NUMBERS = (0.0, 1.0, 2.0, 3.0, 7.5, -1.0, 0.25, math.nan, math.inf)

SCHEMA: dict[str, Any] = {
    "user": {
        "profile": {
            "age": ("INT32", 30),
            "mood": "FP32",
            "name": "String",
            "taste": ("FP32Vector", None, 2),
        },
    },
    "product": {
        "attrs": {
            "category": "INT32",
            "price": ("FP32", 9.5),
            "ratio": "FP64",
            "flag": "Bool",
            "label": ("String", "2"),
        },
        "live": {"stock": ("INT64", 4), "clicks": "FP16", "shape": ("INT8Vector", None, 2)},
    },
    "category": {"stats": {"ctr": "FP32", "depth": ("INT8", 3)}},
    "affinity": {"pair": {"weight": ("FP32", 0.25), "count": "INT32"}},
}
KEYS = {"affinity": ("user_id", "category_id")}

VALUES: dict[str, Sequence[Any]] = {
    "INT32": (1, 2, 3, 300),
    "INT64": (0, 1, 2**40),
    "INT8": (1, 2, -3),
    "FP16": (0.5, 1.0, 2.0),
    "FP32": NUMBERS,
    "FP64": NUMBERS,
    "Bool": (True, False),
    "String": ("1", "2", "x", ""),
}


class Case:
    def __init__(self, world: World, config: dict[str, Any], request: ScoreRequest) -> None:
        self.world = world
        self.config = config
        self.request = request

    def __repr__(self) -> str:
        tables = {f"{e}.{g}": rows for (e, g), rows in self.world.tables.items()}
        return (
            f"\nconfig = {json.dumps(self.config)}\ntables = {pformat(tables)}\n"
            f"broken = {self.world.broken_keys}\nrequest = {self.request}"
        )


@dataclass(frozen=True)
class Known:
    """A column later steps may read."""

    name: str
    dtype: str
    width: int
    step: str
    """Who writes it; the root for what the request brings."""

    @property
    def is_number(self) -> bool:
        return not parse_dtype(self.dtype).is_text


# --- the world ---------------------------------------------------------------------------------


def random_world(chance: random.Random) -> World:
    world = World(expressions={name: {"infix": f.text} for name, f in FORMULAS.items()})
    for entity, groups in SCHEMA.items():
        for group, features in groups.items():
            rows = {
                key: _random_row(features, chance)
                for key in _all_keys(entity)
                if chance.random() < 0.75
            }
            world.table(entity, group, features, rows, keys=KEYS.get(entity, ()))
    world.models = {f"sum{width}": _sums(width) for width in range(1, 6)}
    world.models |= {"pair": _PAIR, "split": _SPLIT, "worded": _WORDED}
    return world


def _all_keys(entity: str) -> list[tuple[str, ...]]:
    if entity == "affinity":
        return [(user, category) for user in USERS for category in CATEGORIES]
    ids = {"user": USERS, "product": PRODUCTS, "category": CATEGORIES}[entity]
    return [(key,) for key in ids]


def _random_row(features: dict[str, Any], chance: random.Random) -> Any:
    if chance.random() < 0.15:
        return EXPIRED
    row = {}
    for name, told in features.items():
        spelled = told[0] if isinstance(told, tuple) else told
        dim = told[2] if isinstance(told, tuple) and len(told) == 3 else 1
        pool = VALUES[spelled.removesuffix("Vector")]
        if chance.random() < 0.85:
            picked = [chance.choice(pool) for _ in range(dim)]
            row[name] = picked if dim > 1 else picked[0]
    return row


def _sums(width: int) -> RowModel:
    """Adds its inputs up. Refuses a batch in which they come to 2 or 3, gives NaN below zero."""

    def function(x: Any) -> list[Any]:
        total = np.float32(0)
        for value in x:
            with np.errstate(all="ignore"):
                total = total + value
        if 2 <= total <= 3:
            raise ModelFailed("sum", f"{total} is too many")
        return [[math.nan if total < 0 else total]]

    return RowModel((tensor("x", "FP32", width),), (tensor("score", "FP32", 1),), function)


def _pair(a: Any, b: Any) -> list[Any]:
    if b[0] == 300:
        raise ModelFailed("pair", "three hundred")
    with np.errstate(all="ignore"):
        return [[a[0] * np.float32(2)], [a[0], a[0] - np.float32(b[0])], [int(b[0]) % 1000]]


_PAIR = RowModel(
    (tensor("a", "FP32", 1), tensor("b", "INT64")),
    (tensor("score", "FP32", 1), tensor("both", "FP32", 2), tensor("count", "INT32", 1)),
    _pair,
)
_SPLIT = RowModel(
    (tensor("x", "FP32", 1),),
    (tensor("all", "FP64", 3),),
    lambda x: [[float(x[0]), float(x[0]) / 4, 1.0]],
)
_WORDED = RowModel(
    (tensor("word", "String", 1),),
    (tensor("length", "INT64", 1), tensor("echo", "String", 1)),
    lambda word: [[len(word[0])], [f"<{word[0]}>"]],
)


# --- steps -------------------------------------------------------------------------------------

Draw = Any
policies = st.sampled_from(["skip", None, "default", "skip", None, "default", "fail"])
nan_policies = st.sampled_from(["pass", "error", "default"])


class _Builder:
    """Grows a config step by step; each reads only what earlier steps and the request give."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self.features: dict[str, Any] = {}
        self.models: dict[str, Any] = {}
        self.computes: dict[str, Any] = {}
        self.parents: dict[str, set[str]] = {}
        self.known = [
            Known("context:hour", "FP32", 1, ROOT),
            Known("boost", "FP32", 1, ROOT),
        ]
        self.keys = [Known("category", "String", 1, ROOT)]

    def add(self, name: str, kind: str = "") -> None:
        kind = kind or self._draw(st.sampled_from(["feature", "feature", "model", "compute"]))
        read = {"feature": self._feature, "model": self._model, "compute": self._compute}[kind](
            name
        )
        earlier = sorted(self.parents)
        extra = self._draw(st.sets(st.sampled_from(earlier), max_size=1)) if earlier else set()
        self.parents[name] = ({column.step for column in read} - {ROOT}) | extra

    def _options(self, **strategies: st.SearchStrategy[Any]) -> dict[str, Any]:
        drawn = {name: self._draw(strategy) for name, strategy in strategies.items()}
        return {name: value for name, value in drawn.items() if value is not None}

    def _feature(self, name: str) -> list[Known]:
        draw = self._draw
        entity = draw(st.sampled_from(sorted(SCHEMA)))
        derived = draw(st.sampled_from(self.keys))
        keys = {
            "user": {"user_id": "user_id"},
            "product": {"product_id": "product_id"},
            "category": {"category_id": derived.name},
            "affinity": {"category_id": derived.name, "user_id": "user_id"},
        }[entity]
        groups: dict[str, list[str]] = {}
        defaults: dict[str, dict[str, Any]] = {}
        wanted = draw(st.sets(st.sampled_from(sorted(SCHEMA[entity])), min_size=1))
        for group in sorted(wanted):
            features = SCHEMA[entity][group]
            labels = draw(st.sets(st.sampled_from(sorted(features)), min_size=1, max_size=3))
            groups[group] = []
            for label in sorted(labels):
                told = features[label]
                spelled = told[0] if isinstance(told, tuple) else told
                dim = told[2] if isinstance(told, tuple) and len(told) == 3 else 1
                as_other = spelled in ("INT32", "FP16", "Bool") and draw(st.booleans())
                kind = "FP64" if as_other else spelled
                groups[group].append(f"{label}@FP64" if as_other else label)
                if draw(st.integers(0, 3)) == 0:
                    default: Any = "3" if spelled == "String" else 1
                    defaults.setdefault(group, {})[label] = default
                column = Known(f"{name}:{group}:{label}", kind, dim, name)
                self.known.append(column)
                if dim == 1:
                    self.keys.append(column)
        kept = ["category_id"] if "category_id" in keys and draw(st.booleans()) else []
        if kept:
            column = Known(f"{name}:category_id", "String", 1, name)
            self.keys.append(column)
            self.known.append(column)
        self.features[name] = feature_step(
            entity,
            keys,
            groups,
            defaults=defaults,
            col_name_prefix=name,
            fs_flatten_resp_keys=kept,
            **self._options(
                on_error=policies,
                batch_size=st.sampled_from([0, 1]),
                composite_id=st.sampled_from([None, True]),
            ),
        )
        return [derived] if "category_id" in keys else []

    def _latest_first(self) -> list[Known]:
        """What is drawn first is drawn most, and long chains are where blanks meet failures."""
        return self.known[::-1]

    def _numbers(self, count: int) -> list[Known]:
        numbers = [column for column in self._latest_first() if column.is_number]
        return self._draw(
            st.lists(
                st.sampled_from(numbers), min_size=1, max_size=count, unique_by=lambda c: c.name
            )
        )

    def _scalar(self, *, or_text: bool = False) -> Known:
        scalars = [
            column
            for column in self._latest_first()
            if column.width == 1 and (column.is_number or or_text)
        ]
        found: Known = self._draw(st.sampled_from(scalars))
        return found

    def _model(self, name: str) -> list[Known]:
        draw = self._draw
        texts = [c for c in self.known if not c.is_number]
        form = draw(st.sampled_from(["sum", "pair", "split", *(["worded"] if texts else [])]))
        more = self._options(
            on_error=policies,
            batch_size=st.sampled_from([0, 0, 1, 2, 3]),
            nan_policy=nan_policies,
            nan_default=st.sampled_from([None, 0.5]),
        )
        if form == "sum":
            read = self._numbers(3)
            if sum(column.width for column in read) > 5:
                read = read[:2]
            width = sum(column.width for column in read)
            uses = {c.name: self._use(c, draw(st.sampled_from([None, "FP32", "FP64"])))
                    for c in read}  # fmt: skip
            spec: dict[str, Any] = {
                "model_name": f"sum{width}",
                "inputs": {"feature_map": uses},
                "outputs": {"score_columns": ["score"]},
            }
            self._wrote(name, f"{name}:score", "FP32", 1)
        elif form == "pair":
            read = [self._scalar(), self._scalar()]
            kind = draw(st.sampled_from([None, "INT32", "INT8"]))
            spec = {
                "model_name": "pair",
                "inputs": {
                    "tensors": [
                        {"name": "a", "features": [read[0].name], "shape": [1]},
                        {
                            "name": "b",
                            "features": [read[1].name],
                            "shape": [1],
                            **({"data_type": kind} if kind else {}),
                        },
                    ]
                },
                "outputs": {
                    "tensors": [
                        {
                            "name": "both",
                            "model_scores": [f"{name}_first", f"{name}_second"],
                            "model_scores_dims": [[1], [1]],
                        },
                        {
                            "name": "count",
                            "model_scores": [f"{name}_count"],
                            "model_scores_dims": [[1]],
                        },
                    ]
                },
            }
            self._wrote(name, f"{name}_first", "FP32", 1)
            self._wrote(name, f"{name}_second", "FP32", 1)
            self._wrote(name, f"{name}_count", "INT32", 1)
        elif form == "split":
            read = [self._scalar()]
            spec = {
                "model_name": "split",
                "inputs": {"feature_map": {read[0].name: self._use(read[0], "FP32")}},
                "outputs": {
                    "tensors": [
                        {
                            "name": "all",
                            "model_scores": [f"{name}_vector", f"{name}_one"],
                            "model_scores_dims": [[2], [1]],
                        }
                    ]
                },
            }
            self._wrote(name, f"{name}_vector", "FP64", 2)
            self._wrote(name, f"{name}_one", "FP64", 1)
        else:
            read = [draw(st.sampled_from(texts))]
            spec = {
                "model_name": "worded",
                "inputs": {"feature_map": {read[0].name: "String"}},
                "outputs": {"score_columns": ["length", "echo"]},
            }
            self._wrote(name, f"{name}:length", "INT64", 1)
            self._wrote(name, f"{name}:echo", "String", 1)
            more.pop("nan_default", None)
        self.models[name] = {**spec, **more}
        return read

    def _use(self, column: Known, declared: str | None) -> Any:
        """`boost` may be left out by the request when every model that reads it says so."""
        if column.name == "boost":
            return {"dtype": declared or "FP32", "default": 1.5}
        return declared

    def _wrote(self, step: str, column: str, dtype: str, width: int) -> None:
        known = Known(column, dtype, width, step)
        self.known.append(known)
        if width == 1:
            self.keys.append(known)

    def _compute(self, name: str) -> list[Known]:
        draw = self._draw
        compute_id = draw(st.sampled_from(sorted(FORMULAS)))
        read = [self._scalar(or_text=True) for _ in FORMULAS[compute_id].variables]
        mapping = {
            f"{variable}@{draw(st.sampled_from(['FP32', 'FP64', 'INT32']))}": column.name
            for variable, column in zip(FORMULAS[compute_id].variables, read, strict=True)
        }
        dtype = draw(st.sampled_from(["FP32", "FP64", "INT32", "Bool", "FP16"]))
        self.computes[name] = {
            "compute_id": compute_id,
            "score_mapping": mapping,
            "score_column": "value",
            "data_type": dtype,
            **self._options(
                on_error=policies,
                nan_policy=nan_policies,
                nan_default=st.sampled_from([None, 1.0]),
                domain_errors=st.sampled_from(["mark", "mark", "fail"]),
            ),
        }
        self._wrote(name, f"{name}:value", dtype, 1)
        return read

    def config(self) -> dict[str, Any]:
        feeds: dict[str, list[str]] = {ROOT: []}
        for step, parents in self.parents.items():
            for parent in sorted(parents) or [ROOT]:
                feeds.setdefault(parent, []).append(step)
        written = [column.name for column in self.known if column.step != ROOT]
        written += [f"{step}:id" for step, spec in self.features.items()
                    if spec.get("composite_id")]  # fmt: skip
        return {
            "dag_execution_config": {"component_dependency": feeds},
            "component_config": {
                "feature_component_config": self.features,
                "predator_component_config": self.models,
                "numerix_component_config": self.computes,
            },
            "response_config": {"features": ["product_id", *written]},
            "id_column": "product",
        }


@st.composite
def cases(draw: Draw) -> Case:
    builder = _Builder(draw)
    first = draw(st.booleans())
    if first:
        builder.add("s0", "feature")
    for number in range(1, draw(st.integers(1, 6 - first)) + 1):
        builder.add(f"s{number}")
    if not builder.features and not builder.models:
        builder.add("last", "feature")
    world = random_world(random.Random(draw(st.integers(0, 10_000))))
    everything = [key for entity in SCHEMA for key in _all_keys(entity)]
    likely = [(PRODUCTS[0],), (USERS[0],), (PRODUCTS[1],), (USERS[0], CATEGORIES[0])]
    world.broken_keys = draw(st.sets(st.sampled_from([*likely, *everything]), max_size=4))
    return Case(world, builder.config(), _request(draw, builder))


def _request(draw: Draw, builder: _Builder) -> ScoreRequest:
    products = draw(st.lists(st.sampled_from([*PRODUCTS, "9"]), min_size=1, max_size=6))
    rows = len(products)
    inline: dict[str, Any] = {}
    if draw(st.integers(0, 7)) < 7:
        inline["boost"] = draw(st.lists(st.sampled_from(NUMBERS), min_size=rows, max_size=rows))
    pinnable = [
        column
        for column in builder.known
        if column.step in builder.features and column.name.count(":") == 2
    ]
    for column in draw(st.sets(st.sampled_from(pinnable), max_size=2)) if pinnable else ():
        pool = VALUES[column.dtype.removesuffix("Vector")]
        size = rows * column.width
        flat = draw(st.lists(st.sampled_from(pool), min_size=size, max_size=size))
        inline[column.name] = flat if column.width == 1 else _in_rows(flat, column.width)
    users = draw(st.sampled_from(["u1", "u2", "nobody", [USERS[i % 3] for i in range(rows)]]))
    return ScoreRequest(
        "config",
        {
            "user": users,
            "product": products,
            "category": draw(st.sampled_from([["1"], ["x"], ["2"] * rows])),
        },
        context={"hour": draw(st.sampled_from(NUMBERS))} if draw(st.integers(0, 15)) < 15 else {},
        features={"product": inline},
    )


def _in_rows(flat: list[Any], width: int) -> list[list[Any]]:
    return [flat[i : i + width] for i in range(0, len(flat), width)]
