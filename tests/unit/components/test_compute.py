"""Compute steps: rows that take part, rows that have no answer, the type of the result."""

from __future__ import annotations

import math
from typing import Any

import pytest

from inferflow.errors import StepFailed
from inferflow.scores import Scores

from ...robustness.scenario import StartScenario
from ..engine.worlds import World, refusing, row_model
from ..engine.writing import compute_step, config, feature_step, model_step, request


@pytest.fixture
def world() -> World:
    world = World(
        expressions={
            "ratio": {"infix": "a / b"},
            "rank": {"infix": "rank(a)"},
            "same": {"infix": "a + 0"},
            "root": {"infix": "sqrt(a)"},
        }
    )

    def picky(x: Any) -> Any:
        if x[0] < 0:
            raise refusing()
        return [[x[0]]]

    world.models["picky"] = row_model(picky)
    return world


def computed(
    world: World, compute_id: str, mapping: dict[str, str], columns: dict[str, Any], **more: Any
) -> Scores:
    rows = len(next(iter(columns.values())))
    step = compute_step(compute_id, mapping, **more)
    first = model_step("picky", {"a": "FP32"}, batch_size=1)
    scorer = world.scorer(config(["c:value"], models={"m": first}, computes={"c": step}))
    return scorer.score_now(
        request(entities={"product": [str(i) for i in range(rows)]}, features={"product": columns})
    )


def values(scores: Scores) -> list[Any]:
    return scores.targets.columns["c:value"].to_list()


BOTH = {"a@FP32": "a", "b@FP32": "b"}


def test_a_row_without_an_answer_is_blank_and_says_why(
    world: World, scenario: StartScenario
) -> None:
    tried = scenario("D7", "a division by zero in one of three rows")
    found = computed(world, "ratio", BOTH, {"a": [1, 2, 3], "b": [2, 0, 1]})
    assert values(found) == [0.5, None, 3]
    marked = [error for error in found.errors if error]
    tried.holds("that row is marked and no other", marked, marked == [found.errors[1]])
    assert found.errors == ["", "c: division by zero", ""]


@pytest.mark.scenario("D7")
@pytest.mark.parametrize("policy", ["default", "skip", "fail"])
def test_it_fails_the_step_when_the_config_says_so(world: World, policy: str) -> None:
    more = {"domain_errors": "fail", "on_error": policy, "nan_default": 5}
    columns = {"a": [1, 2, 3], "b": [2, 0, 1]}
    if policy == "fail":
        with pytest.raises(StepFailed, match="division by zero"):
            computed(world, "ratio", BOTH, columns, **more)
        return
    found = computed(world, "ratio", BOTH, columns, **more)
    assert values(found) == ([5, 5, 5] if policy == "default" else [None] * 3)
    assert all("division by zero" in error for error in found.errors)


def test_rows_that_lack_an_input_take_no_part(world: World) -> None:
    """The failed row's placeholder is a zero, and would be ranked."""
    found = computed(world, "rank", {"a@FP32": "m:score"}, {"a": [5, -1, 3]})
    assert values(found) == [1, None, 2]
    found = computed(
        world, "ratio", {"a@FP32": "a", "b@FP32": "m:score"}, {"a": [4, -1, 3]},
        domain_errors="fail", on_error="fail",
    )  # fmt: skip
    assert values(found) == [1, None, 1]


def test_the_stand_in_of_a_skipped_row_is_not_read_as_a_number(world: World) -> None:
    world.table("product", "attrs", {"label": "String"}, {"1": {"label": "2"}})
    world.broken_keys = {("2",)}
    fs = feature_step(
        "product",
        {"product_id": "product_id"},
        {"attrs": ["label"]},
        on_error="skip",
        batch_size=1,
    )
    step = compute_step("same", {"a@FP32": "product:attrs:label"}, on_error="fail")
    scorer = world.scorer(config(["c:value"], features={"fs": fs}, computes={"c": step}))
    assert values(scorer.score_now(request(entities={"product": ["1", "2"]}))) == [2, None]


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        ("FP32", [0.5, None, 2.0]),
        ("FP64", [0.5, None, 2.0]),
        ("FP16", [0.5, None, 2.0]),
        ("FP8E4M3", [0.5, None, 2.0]),
        ("INT8", [0, None, 2]),
        ("INT64", [0, None, 2]),
        ("Bool", [True, None, True]),
    ],
)
def test_the_result_takes_the_type_the_step_declares(
    world: World, dtype: str, expected: list[Any]
) -> None:
    found = computed(world, "ratio", BOTH, {"a": [1, 1, 2], "b": [2, 0, 1]}, data_type=dtype)
    assert values(found) == expected
    assert [type(v) for v in values(found)] == [type(v) for v in expected]
    assert found.targets.columns["c:value"].dtype.name.lower() == dtype.lower()


def test_a_marked_row_is_not_an_odd_number_too(world: World) -> None:
    found = computed(world, "root", {"a@FP32": "a"}, {"a": [4, -1, 9]}, nan_policy="error")
    assert values(found) == [2, None, 3]
    assert found.errors[1] == "m: model 'model' failed: it broke; c: sqrt of a value below 0"


@pytest.mark.parametrize(("policy", "expected"), [("default", [1, 9]), ("error", [1, None])])
def test_an_odd_number_is_judged_before_it_becomes_an_integer(
    world: World, policy: str, expected: list[Any]
) -> None:
    columns = {"a": [1.0, math.inf]}
    more = {"data_type": "INT32", "nan_policy": policy, "nan_default": 9}
    assert values(computed(world, "same", {"a@FP32": "a"}, columns, **more)) == expected


def test_a_text_that_is_no_number_falls_under_the_policy_of_the_step(world: World) -> None:
    world.table("product", "attrs", {"label": "String"}, {"1": {"label": "2"}, "2": {"label": "x"}})
    fs = feature_step("product", {"product_id": "product_id"}, {"attrs": ["label"]})
    step = compute_step("same", {"a@FP32": "product:attrs:label"})
    scorer = world.scorer(config(["c:value"], features={"fs": fs}, computes={"c": step}))
    found = scorer.score_now(request(entities={"product": ["1", "2"]}))
    assert values(found) == [None, None]
    assert "product:attrs:label" in found.errors[0]
    assert "'x' does not read as FP32" in found.errors[0]
