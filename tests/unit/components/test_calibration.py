"""Scores after calibration, whichever way it is written."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.components.calibration import platt
from inferflow.scores import Scores

from ..engine.worlds import World, refusing, row_model, tensor
from ..engine.writing import config, feature_step, model_step, request


@pytest.fixture
def world() -> World:
    world = World(
        expressions={
            "odds": {"infix": "1 / s"},
            "shares": {"infix": "softmax(s)"},
            "gap": {"infix": "s - max(s)"},
        }
    )
    world.models["m"] = row_model(lambda x: [[x[0]]])

    def picky(x: Any) -> Any:
        if x[0] == 3:
            raise refusing()
        return [[x[0]]]

    world.models["picky"] = row_model(picky)
    world.models["both"] = row_model(
        lambda x: [[x[0], x[0] * 10]], outputs=(tensor("all", "FP32", 2),)
    )
    return world


def scored(
    world: World, calibration: Any, xs: list[float], *, model: str = "m", **more: Any
) -> Scores:
    scores = more.pop("scores", ["score"])
    step = model_step(model, {"x": "FP32"}, scores, calibration=calibration, **more)
    scorer = world.scorer(config([f"m:{name}" for name in scores], models={"m": step}))
    entities = {"product": [str(i) for i in range(len(xs))]}
    return scorer.score_now(request(entities=entities, features={"product": {"x": xs}}))


def values(scores: Scores, name: str = "m:score") -> list[Any]:
    return scores.targets.columns[name].to_list()


# --- platt --------------------------------------------------------------------------------------


def test_platt_scaling_is_a_sigmoid_of_the_score(world: World) -> None:
    found = scored(world, {"type": "platt", "a": -2.0, "b": 0.5}, [0.0, 1.0, -3.0])
    expected = [1 / (1 + math.exp(-2.0 * x + 0.5)) for x in (0.0, 1.0, -3.0)]
    assert values(found) == pytest.approx(expected, rel=1e-6)


@given(st.floats(-1e300, 1e300), st.floats(-10, 10), st.floats(-10, 10))
def test_platt_scaling_never_overflows(score: float, a: float, b: float) -> None:
    [found] = platt(np.array([score]), a, b)
    assert 0 <= found <= 1
    z = a * score + b
    if abs(z) < 700:
        assert found == pytest.approx(1 / (1 + math.exp(z)))


def test_a_score_that_is_not_a_number_stays_one_and_warns_nobody(world: World) -> None:
    scale = {"type": "platt", "a": 0.0, "b": 0.0}
    found = values(scored(world, scale, [math.inf, math.nan, 1.0]))
    assert math.isnan(found[0])
    assert math.isnan(found[1])
    assert found[2] == 0.5


# --- isotonic -----------------------------------------------------------------------------------


def test_isotonic_steps_are_joined_by_lines_and_flat_outside(world: World) -> None:
    steps = {"type": "isotonic", "x": [0, 1, 3], "y": [0.1, 0.5, 0.6]}
    found = scored(world, steps, [-5, 0, 0.5, 1, 2, 3, 99])
    assert values(found) == pytest.approx([0.1, 0.1, 0.3, 0.5, 0.55, 0.6, 0.6])


# --- a named expression -------------------------------------------------------------------------


def expression(name: str) -> dict[str, Any]:
    return {"type": "expression", "name": name}


def test_an_expression_is_applied_to_the_score(world: World) -> None:
    found = scored(world, expression("odds"), [2.0, 4.0])
    assert values(found) == [0.5, 0.25]


def test_a_row_the_expression_has_no_answer_for_is_marked_alone(world: World) -> None:
    found = scored(world, expression("odds"), [2.0, 0.0, 4.0])
    assert values(found) == [0.5, None, 0.25]
    assert found.errors == ["", "m: division by zero", ""]


def test_such_a_row_is_not_judged_a_second_time(world: World) -> None:
    found = scored(world, expression("odds"), [0.0, 4.0], nan_policy="error")
    assert found.errors == ["m: division by zero", ""]


def test_rows_of_a_failed_batch_take_no_part(world: World) -> None:
    """Their zeros are placeholders: no divisor, and not the largest of the scores."""
    more: dict[str, Any] = {"model": "picky", "batch_size": 1}
    found = scored(world, expression("odds"), [2.0, 3.0, 4.0], **more)
    assert values(found) == [0.5, None, 0.25]
    found = scored(world, expression("gap"), [-2.0, 3.0, -4.0], **more)
    assert values(found) == [0, None, -2]


def test_skipped_rows_take_no_part_either(world: World) -> None:
    world.table("product", "attrs", {"price": "FP32"}, {"0": {"price": -2.0}, "2": {"price": -4.0}})
    world.broken_keys = {("1",)}
    fs = feature_step(
        "product",
        {"product_id": "product_id"},
        {"attrs": ["price"]},
        on_error="skip",
        batch_size=1,
    )
    step = model_step("m", {"product:attrs:price": "FP32"}, calibration=expression("gap"))
    scorer = world.scorer(config(["m:score"], features={"fs": fs}, models={"m": step}))
    found = scorer.score_now(request(entities={"product": ["0", "1", "2"]}))
    assert values(found) == [0, None, -2]


def test_an_expression_may_look_across_rows(world: World) -> None:
    found = values(scored(world, expression("shares"), [1.0, 1.0]))
    assert found == pytest.approx([0.5, 0.5])


# --- which scores -------------------------------------------------------------------------------


def test_the_first_score_is_calibrated_unless_others_are_named(world: World) -> None:
    scale: dict[str, Any] = {"type": "isotonic", "x": [0, 100], "y": [0, 1]}
    more: dict[str, Any] = {"model": "both", "scores": ["a", "b"]}
    found = scored(world, scale, [10.0], **more)
    assert values(found, "m:a") == pytest.approx([0.1])
    assert values(found, "m:b") == pytest.approx([100])
    found = scored(world, {**scale, "columns": ["b"]}, [10.0], **more)
    assert values(found, "m:a") == pytest.approx([10])
    assert values(found, "m:b") == pytest.approx([1.0])
    found = scored(world, {**scale, "columns": ["m:a", "b"]}, [10.0], **more)
    assert values(found, "m:a") == pytest.approx([0.1])
    assert values(found, "m:b") == pytest.approx([1.0])


def test_slate_scores_are_calibrated_too(world: World) -> None:
    step = model_step("m", {"x": "FP32"}, calibration=expression("odds"), slate_component=True)
    scorer = world.scorer(config(["m:score"], models={"m": step}))
    scores = scorer.score_now(
        request(
            entities={"product": ["1", "2", "3"]},
            features={"product": {"x": [2.0, 0.0, 4.0]}},
            slates=[[0, 1], [1, 2], [2]],
        )
    )
    assert scores.slates is not None
    assert scores.slates.columns["m:score"].to_list() == [0.5, None, 0.25]
    assert scores.slates.errors == ["", "m: division by zero", ""]


# --- the original's own way ---------------------------------------------------------------------


@pytest.mark.parametrize("written", ["pctr", {"enabled": True, "name": "pctr"}])
def test_a_bare_name_adds_the_columns_calibrations_are_looked_up_by(
    world: World, written: Any
) -> None:
    world.table(
        "calibration",
        "pctr",
        {"factor": "FP32"},
        {("config", "m"): {"factor": 0.25}},
        keys=("config_id", "model"),
    )
    fs = feature_step(
        "calibration",
        {"model": "pctr_model", "config_id": "inferflow_config_id"},
        {"pctr": ["factor"]},
    )
    step = model_step("m", {"x": "FP32"}, calibration=written)
    scorer = world.scorer(
        config(
            ["m:score", "calibration:pctr:factor", "pctr_model"],
            features={"fs": fs},
            models={"m": step},
        )
    )
    scores = scorer.score_now(
        request(entities={"product": ["1", "2"]}, features={"product": {"x": [1.0, 2.0]}})
    )
    assert values(scores) == [1, 2]
    assert values(scores, "calibration:pctr:factor") == [0.25, 0.25]
    assert values(scores, "pctr_model") == ["m", "m"]


@pytest.mark.parametrize("written", ["", {"enabled": False, "type": "platt", "a": 1, "b": 1}])
def test_a_calibration_that_is_off_changes_nothing(world: World, written: Any) -> None:
    assert values(scored(world, written, [5.0])) == [5]
