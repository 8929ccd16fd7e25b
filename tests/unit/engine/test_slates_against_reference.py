"""Pairs and slates meet models in all three forms, and compute, as the slow reference says."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.engine.request import ScoreRequest
from inferflow.errors import ModelFailed, StepFailed

from ...robustness.scenario import StartScenario
from .comparing import alike, marked_by, relaxed
from .formulas import FORMULAS
from .graphs import NUMBERS, PRODUCTS, Case
from .slate_reference import SlateReference
from .worlds import EXPIRED, RowModel, World, pausing, tensor
from .writing import feature_step

REDUCES = ["first", "last", "mean", "sum", "min", "max"]
policies = st.sampled_from(["skip", "default", None, "default", "fail"])


def weighted(x: Any) -> list[Any]:
    """A sum that tells every place from every other; some inputs break it, some give NaN."""
    total = np.float32(0)
    with np.errstate(all="ignore"):
        for place, value in enumerate(np.ravel(x)):
            total = total + np.float32(place + 1) * value
    if total == 6:
        raise ModelFailed("weighted", "six")
    return [[np.nan if total < 0 else total]]


def a_world(chance: random.Random) -> World:
    world = World(expressions={name: {"infix": f.text} for name, f in FORMULAS.items()})
    rows = {}
    for product in PRODUCTS:
        row = {"price": chance.choice(NUMBERS), "stock": chance.choice([0, 1, 3])}
        rows[product] = EXPIRED if chance.random() < 0.1 else row
    world.table("product", "attrs", {"price": "FP32", "stock": ("INT32", 2)}, rows)
    score = (tensor("score", "FP32", 1),)
    world.models["item"] = RowModel((tensor("x", "FP32", 1),), score, weighted)
    for width in range(1, 16):
        world.models[f"flat{width}"] = RowModel((tensor("x", "FP32", width),), score, weighted)
    for items in (None, 2, 3):
        for width in range(1, 6):
            name = f"cube{items or 'n'}x{width}"
            world.models[name] = RowModel((tensor("x", "FP32", items, width),), score, weighted)
    return world


@st.composite
def slate_cases(draw: Any) -> Case:
    world = a_world(random.Random(draw(st.integers(0, 10_000))))
    products = draw(st.lists(st.sampled_from([*PRODUCTS, "9"]), min_size=1, max_size=6))
    world.broken_keys = {(p,) for p in draw(st.sets(st.sampled_from(PRODUCTS), max_size=1))}
    grouping = draw(st.sampled_from(["pairs", "slates"]))
    index = st.integers(0, len(products) - 1)
    size = {"min_size": 2, "max_size": 2} if grouping == "pairs" else {"min_size": 1, "max_size": 4}
    groups = draw(st.lists(st.lists(index, **size), min_size=1, max_size=5))
    gap = draw(st.lists(st.sampled_from(NUMBERS), min_size=len(groups), max_size=len(groups)))
    gap_is_per_slate = draw(st.booleans())
    boosts = st.lists(st.sampled_from(NUMBERS), min_size=len(products), max_size=len(products))
    uses = draw(
        st.lists(
            st.sampled_from(["fs:attrs:price", "fs:attrs:stock", "m:score", "gap", "context:hour"]),
            min_size=1,
            max_size=4,
            unique=True,
        )
    )
    request = ScoreRequest(
        "config",
        {"product": products},
        context={"hour": draw(st.sampled_from(NUMBERS[:6]))},
        features={} if gap_is_per_slate else {"product": {"gap": draw(boosts)}},
        **{grouping: groups},
        slate_features={"gap": gap} if gap_is_per_slate else {},
    )
    once = ("context:hour" in uses) + (gap_is_per_slate and "gap" in uses)
    items = len(uses) - once
    model = f"flat{len(uses)}"
    form = draw(st.sampled_from(["item", "cube", "free cube", "flat"]))
    if form == "cube":
        model = f"cube{draw(st.sampled_from([2, 3]))}x{len(uses)}"
    elif form == "free cube":
        model = f"cubenx{len(uses)}"
    elif form == "flat" and items:
        model = f"flat{draw(st.sampled_from([2, 3])) * items + once}"
    scores = {
        "sm": {
            "model_name": model,
            "inputs": {"feature_map": dict.fromkeys(uses, "FP32")},
            "outputs": {"score_columns": ["score"]},
            "slate_component": True,
            "slate_reduce": draw(st.sampled_from(REDUCES)),
            "batch_size": draw(st.sampled_from([0, 1, 2])),
            "nan_policy": draw(st.sampled_from(["pass", "error", "default"])),
            **draw(_policy()),
        }
    }
    compute_id = draw(st.sampled_from(sorted(FORMULAS)))
    columns = ["sm:score", "fs:attrs:price", "gap"]
    mapping = {
        f"{variable}@FP32": draw(st.sampled_from(columns))
        for variable in FORMULAS[compute_id].variables
    }
    config = {
        "dag_execution_config": {
            "component_dependency": {
                "feature_initializer": ["fs"],
                "fs": ["m", "sm", "sc"],
                "m": ["sm"],
                "sm": ["sc"],
            }
        },
        "component_config": {
            "feature_component_config": {
                "fs": feature_step(
                    "product",
                    {"product_id": "product_id"},
                    {"attrs": ["price", "stock"]},
                    col_name_prefix="fs",
                    on_error=draw(st.sampled_from(["default", "skip"])),
                    batch_size=1,
                )
            },
            "predator_component_config": {
                "m": {
                    "model_name": "item",
                    "inputs": {"feature_map": {"fs:attrs:price": "FP32"}},
                    "outputs": {"score_columns": ["score"]},
                    "nan_policy": "error",
                    "batch_size": 1,
                },
                **scores,
            },
            "numerix_component_config": {
                "sc": {
                    "compute_id": compute_id,
                    "score_mapping": mapping,
                    "score_column": "value",
                    "slate_component": True,
                    "slate_reduce": draw(st.sampled_from(REDUCES)),
                    "nan_policy": draw(st.sampled_from(["pass", "error", "default"])),
                    "domain_errors": draw(st.sampled_from(["mark", "mark", "fail"])),
                    **draw(_policy()),
                }
            },
        },
        "response_config": {"features": ["m:score", "sm:score", "sc:value"]},
    }
    return Case(world, config, request)


@st.composite
def _policy(draw: Any) -> dict[str, Any]:
    policy = draw(policies)
    return {"nan_default": 0.5, **({"on_error": policy} if policy else {})}


@given(case=slate_cases(), seed=st.none() | st.integers(0, 1000))
@relaxed(250)
def test_slate_steps_answer_as_the_reference_does(
    scenario: StartScenario, case: Case, seed: int | None
) -> None:
    tried = scenario("K3", "random graphs over slates")
    want = SlateReference(case.world, case.config, case.request).answer()
    if seed is not None:
        case.world.pause = pausing(seed)
    scorer = case.world.scorer(case.config)

    def score() -> Any:
        if seed is None:
            return scorer.score_now(case.request)
        return asyncio.run(scorer.score(case.request))

    if want.failing:
        with pytest.raises(StepFailed) as failed:
            score()
        assert failed.value.step in want.failing
        return
    groups = score().groups
    for name, values in want.columns.items():
        got = groups.columns[name].to_list()
        for number, (mine, other) in enumerate(zip(got, values, strict=True)):
            assert alike(mine, other), f"{name}[{number}] is {mine!r}, must be {other!r}"
    marks = [marked_by(error, ["sm", "sc"]) for error in groups.errors]
    tried.holds("as the naive version, bit for bit", "equal", marks == want.marks)
