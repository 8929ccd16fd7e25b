"""Model steps: tensors from columns, batches that fail alone, scores that are checked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from inferflow.components.assemble import Ports, assemble
from inferflow.engine.limits import Limits
from inferflow.engine.scorer import Scorer
from inferflow.errors import StepFailed
from inferflow.scores import Scores

from ...robustness.scenario import StartScenario
from ..engine.worlds import RowModel, World, refusing, row_model, tensor
from ..engine.writing import compute_step, config, model_step, request


@pytest.fixture
def world() -> World:
    world = World(expressions={"twice": {"infix": "s * 2"}})
    world.models["m"] = row_model(lambda x: [[x[0]]])

    def picky(x: Any) -> Any:
        if x[0] < 0:
            raise refusing(f"{x[0]:g} is below zero")
        return [[x[0]]]

    world.models["picky"] = row_model(picky)
    return world


def score(world: World, xs: Sequence[Any], model: str = "m", **more: Any) -> Scores:
    """Scores of a model on one column, and a compute step that reads them."""
    scores = more.pop("scores", ["score"])
    dtype = more.pop("dtype", "FP32")
    step = model_step(model, {"x": dtype}, scores, **more)
    computes = {"c": compute_step("twice", {"s@FP32": f"m:{scores[0]}"})}
    written = config(
        [f"m:{name}" for name in scores] + ["c:value"], models={"m": step}, computes=computes
    )
    entities = {"product": [str(i) for i in range(len(xs))]}
    return world.scorer(written).score_now(
        request(entities=entities, features={"product": {"x": list(xs)}})
    )


def values(scores: Scores, name: str = "m:score") -> list[Any]:
    return scores.targets.columns[name].to_list()


# --- batches ------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 2, 3, 5, 99])
def test_batches_change_no_score(world: World, size: int) -> None:
    found = score(world, [1, 2, 3, 4, 5], batch_size=size)
    assert values(found) == [1, 2, 3, 4, 5]
    rows = [len(tensors[0]) for _, tensors in world.runs]
    assert sum(rows) == 5
    assert max(rows) <= (size or 5)


def test_a_failed_batch_blanks_its_own_rows_and_never_shifts_others(world: World) -> None:
    found = score(world, [1, 2, -3, 4, 5, 6, -7], "picky", batch_size=2)
    assert values(found) == [1, 2, None, None, 5, 6, None]
    assert values(found, "c:value") == [2, 4, None, None, 10, 12, None]
    third, last = "m: model 'model' failed: -3 is below zero", "-7 is below zero"
    assert found.errors[2:4] == [third, third]
    assert last in found.errors[6]
    assert [bool(e) for e in found.errors] == [False, False, True, True, False, False, True]


def test_a_single_score_that_survives_is_not_spread(world: World) -> None:
    found = score(world, [-1, -2, 3], "picky", batch_size=1)
    assert values(found) == [None, None, 3]


def test_failed_rows_take_the_default_when_the_step_says_so(world: World) -> None:
    more = {"batch_size": 2, "on_error": "default", "nan_default": 0.5}
    found = score(world, [1, 2, -3, 4, 5], "picky", **more)
    assert values(found) == [1, 2, 0.5, 0.5, 5]
    assert values(found, "c:value") == [2, 4, 1, 1, 10]
    assert [bool(e) for e in found.errors] == [False, False, True, True, False]


def test_one_failed_batch_fails_the_request_when_the_step_says_so(world: World) -> None:
    with pytest.raises(StepFailed) as failed:
        score(world, [1, -2, 3], "picky", batch_size=1, on_error="fail")
    assert (failed.value.step, failed.value.component) == ("m", "model")
    assert "-2 is below zero" in str(failed.value)


# --- defaults in every type ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "default", "stored"),
    [
        ("FP32", 0.5, 0.5),
        ("FP64", 0.1, 0.1),
        ("FP16", 0.5, 0.5),
        ("INT32", 2.9, 2),
        ("INT8", 300, 127),
        ("UINT8", -5, 0),
        ("Bool", 1, True),
        ("String", 0.5, "0.5"),
    ],
)
@pytest.mark.parametrize("whole", [True, False])
def test_a_default_takes_the_type_of_the_score(
    world: World, dtype: str, default: float, stored: Any, whole: bool
) -> None:
    def function(x: Any) -> Any:
        if x[0] < 0:
            raise refusing()
        return [[stored]]

    world.models["typed"] = RowModel(
        (tensor("x", "FP32", 1),), (tensor("score", dtype, 1),), function
    )
    step = model_step("typed", {"x": "FP32"}, batch_size=1, on_error="default", nan_default=default)
    scorer = world.scorer(config(["m:score"], models={"m": step}))
    xs = [-1.0, -2.0] if whole else [-1.0, 2.0]
    found = scorer.score_now(
        request(entities={"product": ["1", "2"]}, features={"product": {"x": xs}})
    )
    assert values(found) == [stored, stored]
    assert [type(v) for v in values(found)] == [type(stored)] * 2


# --- numbers that are none ----------------------------------------------------------------------

ODD = [1.0, math.nan, math.inf, -math.inf, 3e38]


def test_odd_numbers_pass_and_are_counted(world: World, scenario: StartScenario) -> None:
    tried = scenario("D5", "three of five scores are no numbers")
    step = model_step("m", {"x": "FP32"})
    scorer = world.scorer(config(["m:score"], models={"m": step}))
    recording = scorer.new_recording()
    entities = {"product": list("12345")}
    found = scorer.score_now(
        request(entities=entities, features={"product": {"x": ODD}}), recording
    )
    counted = recording.steps["m"].nans
    tried.holds("passed as they are: counted", counted, counted == 3)
    assert math.isnan(values(found)[1])
    assert values(found)[2:4] == [math.inf, -math.inf]
    assert found.errors == [""] * 5


def test_odd_numbers_are_replaced_when_the_step_says_so(
    world: World, scenario: StartScenario
) -> None:
    tried = scenario("D5", "three of five scores are no numbers")
    found = score(world, ODD, nan_policy="default", nan_default=7)
    assert values(found)[:4] == [1, 7, 7, 7]
    replaced = values(found).count(7)
    tried.holds("`default`: replaced", replaced, replaced == 3)


def test_odd_numbers_are_errors_when_the_step_says_so(
    world: World, scenario: StartScenario
) -> None:
    tried = scenario("D5", "three of five scores are no numbers")
    found = score(world, ODD, nan_policy="error")
    assert values(found)[:4] == [1, None, None, None]
    assert "not a finite number" in found.errors[1]
    marked = [bool(e) for e in found.errors]
    tried.holds("`error`: marked", sum(marked), marked == [False, True, True, True, False])


@pytest.mark.parametrize(
    ("policy", "expected"),
    [("pass", [1, 0, 2**31 - 1]), ("default", [1, 7, 7]), ("error", [1, None, None])],
)
def test_odd_numbers_are_judged_before_they_become_integers(
    world: World, policy: str, expected: list[Any]
) -> None:
    outputs = {"score_columns": ["score"], "data_type": "INT32"}
    found = score(world, ODD[:3], nan_policy=policy, nan_default=7, outputs=outputs)
    assert values(found) == expected


def test_the_same_trouble_in_two_outputs_is_told_once(world: World) -> None:
    outputs = (tensor("a", "FP32", 1), tensor("b", "FP32", 1))
    world.models["two"] = row_model(lambda x: [[x[0]], [x[0]]], outputs=outputs)
    step = model_step("two", {"x": "FP32"}, ["a", "b"], nan_policy="error")
    scorer = world.scorer(config(["m:a", "m:b"], models={"m": step}))
    found = scorer.score_now(request(features={"product": {"x": [math.nan]}}))
    assert found.errors == ["m: the score is not a finite number"]


@pytest.mark.parametrize(("dtype", "large"), [("FP16", 60000.0), ("FP32", 3e38), ("FP64", 1e308)])
def test_large_scores_are_finite_and_warn_nobody(world: World, dtype: str, large: float) -> None:
    world.models["large"] = RowModel(
        (tensor("x", "FP32", 1),), (tensor("score", dtype, 1),), lambda _: [[large]]
    )
    found = score(world, [1] * 300, "large", nan_policy="error")
    assert found.errors == [""] * 300


def test_a_float8_score_that_is_no_number_is_seen(world: World) -> None:
    world.models["eight"] = RowModel(
        (tensor("x", "FP32", 1),), (tensor("score", "FP8E4M3", 1),), lambda x: [[x[0]]]
    )
    step = model_step("eight", {"x": "FP32"}, nan_policy="error")
    scorer = world.scorer(config(["m:score"], models={"m": step}))
    found = scorer.score_now(
        request(entities={"product": ["1", "2"]}, features={"product": {"x": [1.5, math.nan]}})
    )
    assert values(found) == [1.5, None]


# --- models that break their promise ------------------------------------------------------------


class Liar:
    """A runner whose model answers what a test says."""

    version = "1"

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def is_local(self, endpoint: Any) -> bool:
        return True

    def prepare(self, endpoint: Any, inputs: Any, outputs: Any) -> Liar:
        self.endpoint = endpoint
        return self

    async def run(self, tensors: Any, *, deadline: Any) -> Any:
        return self._answer(len(tensors[0]))


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (lambda n: [np.ones((n - 1, 1), np.float32)], "has 1 row(s) for 2 row(s)"),
        (lambda _: [np.ones((1, 1), np.float32)], "has 1 row(s) for 2 row(s)"),
        (lambda n: [np.ones((n + 1, 1), np.float32)], "has 3 row(s) for 2 row(s)"),
        (lambda _: [np.float32(1)], "has a single value for 2 row(s)"),
        (lambda n: [np.ones((n, 2), np.float32)], "has 2 value(s) per row, not 1"),
        (lambda _: [], "gave 0 output(s) where 1 were asked for"),
        (lambda n: [np.ones((n, 1), np.float32)] * 2, "gave 2 output(s) where 1 were asked for"),
        (lambda n: [np.array([["x"]] * n, object)], "does not read as FP32"),
    ],
)
def test_an_answer_that_does_not_line_up_is_never_used(
    world: World, answer: Any, why: str, scenario: StartScenario
) -> None:
    tried = scenario("D5", "too few, too many, or other scores than rows")
    plan = world.plan(config(["m:score"], models={"m": model_step("m", {"x": "FP32"})}))
    ports = world.ports()
    parts = assemble(plan, Ports(ports.features, Liar(answer), ports.compute))
    found = Scorer(plan, parts, limits=Limits()).score_now(
        request(entities={"product": ["1", "2"]}, features={"product": {"x": [1, 2]}})
    )
    assert all(why in error for error in found.errors), found.errors
    used = [value for value in values(found) if value is not None]
    tried.none("such score is used", used, of=2)


# --- tensors ------------------------------------------------------------------------------------


def test_one_text_read_as_two_types_is_read_twice(world: World) -> None:
    """The original remembers text by text alone, and gives a float tensor the bytes of an int."""
    world.models["two"] = RowModel(
        (tensor("a", "INT32", 1), tensor("b", "FP32", 1)),
        (tensor("a_out", "INT32", 1), tensor("b_out", "FP32", 1)),
        lambda a, b: [[a[0]], [b[0]]],
    )
    step = {
        "model_name": "two",
        "inputs": {
            "tensors": [
                {"name": "a", "features": ["x"], "shape": [1], "data_type": "INT32"},
                {"name": "b", "features": ["x"], "shape": [1], "data_type": "FP32"},
            ]
        },
        "outputs": {"score_columns": ["a_out", "b_out"]},
    }
    scorer = world.scorer(config(["m:a_out", "m:b_out"], models={"m": step}))
    found = scorer.score_now(
        request(entities={"product": ["1", "2"]}, features={"product": {"x": ["1", "2"]}})
    )
    assert values(found, "m:a_out") == [1, 2]
    assert values(found, "m:b_out") == [1.0, 2.0]


def test_context_is_broadcast_and_columns_keep_their_written_order(world: World) -> None:
    world.models["three"] = row_model(lambda x: [[x[0] * 100 + x[1] * 10 + x[2]]], 3)
    step = model_step("three", {"b": "FP32", "hour": "FP32", "a": "FP32"})
    scorer = world.scorer(config(["m:score"], models={"m": step}))
    found = scorer.score_now(
        request(
            entities={"product": ["1", "2"]},
            context={"hour": 5},
            features={"product": {"a": [1, 2], "b": [3, 4]}},
        )
    )
    assert values(found) == [351, 452]


@pytest.mark.parametrize("tail", [(), (1,), (1, 1)])
def test_a_column_takes_the_rank_the_model_declares(world: World, tail: tuple[int, ...]) -> None:
    world.models["shaped"] = RowModel(
        (tensor("x", "FP32", *tail),),
        (tensor("score", "FP32", 1),),
        lambda x: [[np.ravel(x)[0]]],
    )
    found = score(world, [1, 2], "shaped")
    assert values(found) == [1, 2]
    [(_, [given])] = world.runs
    assert given.shape == (2, *tail)


def test_a_blank_input_skips_its_row_and_the_model_never_sees_it(world: World) -> None:
    """The second model is asked only for the rows the first one has scores for."""
    written = config(
        ["first:score", "second:score"],
        models={
            "first": model_step("picky", {"x": "FP32"}, batch_size=1),
            "second": model_step("m", {"first:score": "FP32"}),
        },
    )
    found = world.scorer(written).score_now(
        request(entities={"product": list("123")}, features={"product": {"x": [1, -2, 3]}})
    )
    assert values(found, "second:score") == [1, None, 3]
    assert world.runs[-1][1][0].tolist() == [[1], [3]]
    assert found.errors == ["", "first: model 'model' failed: -2 is below zero", ""]


def test_skipped_rows_stay_blank_whatever_the_policy_of_the_step_below(world: World) -> None:
    for batch_size in (0, 1):
        for xs in ([1, -2, 3], [-1, -2, -3]):
            written = config(
                ["second:score"],
                models={
                    "first": model_step("picky", {"x": "FP32"}, batch_size=1),
                    "second": model_step(
                        "m", {"first:score": "FP32"}, on_error="default", batch_size=batch_size
                    ),
                },
            )
            found = world.scorer(written).score_now(
                request(entities={"product": list("123")}, features={"product": {"x": xs}})
            )
            assert values(found, "second:score") == [x if x > 0 else None for x in xs]


@pytest.mark.parametrize(
    ("policy", "expected"), [("skip", [1, None, None, 4, 5]), ("default", [1, None, 0.5, 4, 5])]
)
def test_a_failed_batch_beside_skipped_rows_loses_its_own_rows_alone(
    world: World, policy: str, expected: list[Any]
) -> None:
    """Row 2 never reaches the second model, which then refuses row 3."""

    def no_threes(x: Any) -> Any:
        if x[0] == 3:
            raise refusing("three")
        return [[x[0]]]

    world.models["no_threes"] = row_model(no_threes)
    written = config(
        ["second:score"],
        models={
            "first": model_step("picky", {"x": "FP32"}, batch_size=1),
            "second": model_step(
                "no_threes",
                {"first:score": "FP32"},
                batch_size=1,
                on_error=policy,
                nan_default=0.5,
            ),
        },
    )
    found = world.scorer(written).score_now(
        request(entities={"product": list("12345")}, features={"product": {"x": [1, -2, 3, 4, 5]}})
    )
    assert values(found, "second:score") == expected
    assert [error.partition(":")[0] for error in found.errors] == ["", "first", "second", "", ""]
