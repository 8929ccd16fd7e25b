"""Pairs and slates: how they meet a model, and that their own features count."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from inferflow.errors import InvalidRequest, StepFailed
from inferflow.scores import Scores

from ..engine.worlds import RowModel, World, refusing, tensor
from ..engine.writing import compute_step, config, feature_step, model_step, request

SCORE = (tensor("score", "FP32", 1),)
PRICES = {"1": 1.0, "2": 2.0, "3": 3.0, "4": 4.0}
PRICE = "product:attrs:price"


def digits(x: Any) -> list[Any]:
    """The values one after another as digits of a number: every place tells."""
    number = 0.0
    for value in np.ravel(x):
        number = number * 10 + float(value)
    return [[number]]


def picky(x: Any) -> list[Any]:
    if np.ravel(x)[0] == 2:
        raise refusing("two comes first")
    return digits(x)


@pytest.fixture
def world() -> World:
    world = World(
        expressions={
            "gap": {"infix": "p - q"},
            "rank": {"infix": "rank(p)"},
            "ratio": {"infix": "p / q"},
            "scaled": {"infix": "p * w"},
        }
    )
    rows = {key: {"price": price} for key, price in PRICES.items()}
    world.table("product", "attrs", {"price": "FP32"}, rows)
    for name, function in (("", digits), ("_picky", picky)):
        for width in range(1, 6):
            world.models[f"flat{width}{name}"] = RowModel(
                (tensor("x", "FP32", width),), SCORE, function
            )
            world.models[f"cube{width}{name}"] = RowModel(
                (tensor("x", "FP32", None, width),), SCORE, function
            )
    world.models["cube2of2"] = RowModel((tensor("x", "FP32", 2, 2),), SCORE, digits)
    world.models["items"] = RowModel(
        (tensor("x", "FP32", None, 1),),
        (tensor("score", "FP32", None, 1),),
        lambda x: [[[v * 10] for v in np.ravel(x)]],
    )
    world.models["mixed"] = RowModel(
        (tensor("price", "FP32", None, 1), tensor("mood", "FP32", 1)),
        SCORE,
        lambda price, mood: digits([*np.ravel(price), *np.ravel(mood)]),
    )
    return world


FEATURES = {
    "fs": feature_step("product", {"product_id": "product_id"}, {"attrs": ["price"]}),
}


def score(
    world: World,
    model: str,
    uses: list[str],
    *,
    ids: str = "1234",
    step: dict[str, Any] | None = None,
    features: dict[str, Any] | None = None,
    inline: dict[str, Any] | None = None,
    **parts: Any,
) -> Scores:
    slate_step = model_step(model, dict.fromkeys(uses, "FP32"), slate_component=True, **step or {})
    written = config(["sm:score"], features=features or FEATURES, models={"sm": slate_step})
    return world.scorer(written).score_now(
        request(entities={"product": list(ids)}, features=inline or {}, **parts)
    )


def found(scores: Scores, name: str = "sm:score") -> list[Any]:
    assert scores.groups is not None
    return scores.groups.columns[name].to_list()


# --- the three forms ----------------------------------------------------------------------------


def test_a_rank_3_model_takes_slates_of_one_size_together(world: World) -> None:
    slates = [[0, 1], [3, 2, 1], [2, 0], [0, 1, 2]]
    scores = score(world, "cube1", [PRICE], slates=slates)
    assert found(scores) == [12, 432, 31, 123]
    shapes = [tensors[0].shape for _, tensors in world.runs]
    assert shapes == [(2, 2, 1), (2, 3, 1)]


def test_slate_level_columns_are_on_every_item_of_a_rank_3_model(world: World) -> None:
    scores = score(
        world,
        "cube2",
        [PRICE, "mood"],
        slates=[[0, 1], [1, 2]],
        slate_features={"mood": [7, 8]},
    )
    assert found(scores) == [1727, 2838]


def test_items_side_by_side_then_what_the_slate_has(world: World) -> None:
    """n·F + G: two prices and the pair's own value."""
    scores = score(
        world,
        "flat3",
        ["mood", PRICE],
        pairs=[[0, 1], [3, 2]],
        slate_features={"mood": [7, 8]},
    )
    assert found(scores) == [127, 438]
    [(_, [given])] = world.runs
    assert given.tolist() == [[1, 2, 7], [4, 3, 8]]


def test_context_goes_with_the_slate(world: World) -> None:
    scores = score(world, "flat3", [PRICE, "hour"], pairs=[[0, 1]], context={"hour": 9})
    assert found(scores) == [129]


def test_several_columns_per_item_stay_together(world: World) -> None:
    scores = score(
        world,
        "flat5",
        [PRICE, "boost", "mood"],
        pairs=[[0, 1]],
        slate_features={"mood": [9]},
        inline={"product": {"boost": [5, 6, 7, 8]}},
    )
    assert found(scores) == [15269]


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("first", [3, 4]),
        ("last", [1, 2]),
        ("mean", [2, 3]),
        ("sum", [6, 6]),
        ("min", [1, 2]),
        ("max", [3, 4]),
    ],
)
def test_a_model_of_items_sees_a_slate_as_a_batch(
    world: World, how: str, expected: list[float]
) -> None:
    scores = score(world, "flat1", [PRICE], slates=[[2, 1, 0], [3, 1]], step={"slate_reduce": how})
    assert found(scores) == expected
    batches = [tensors[0].ravel().tolist() for _, tensors in world.runs]
    assert batches == [[3, 2, 1], [4, 2]]


def test_scores_of_items_from_a_rank_3_model_are_reduced_too(world: World) -> None:
    for how, expected in (("first", [10, 40]), ("mean", [15, 25]), ("max", [20, 40])):
        scores = score(world, "items", [PRICE], slates=[[0, 1], [3, 0]], step={"slate_reduce": how})
        assert found(scores) == expected


def test_a_model_may_take_items_and_the_slate_s_own_values_apart(world: World) -> None:
    scores = score(
        world,
        "mixed",
        [PRICE, "mood"],
        slates=[[0, 1], [2, 3]],
        slate_features={"mood": [7, 8]},
    )
    assert found(scores) == [127, 348]


# --- every feature counts -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "grouping"),
    [("flat3", "pairs"), ("cube2", "slates"), ("flat2", "slates"), ("flat3", "slates")],
)
def test_changing_one_pair_or_slate_feature_changes_that_answer_alone(
    world: World, model: str, grouping: str
) -> None:
    answers = []
    for mood in ([5, 6, 7], [5, 9, 7]):
        parts: dict[str, Any] = {grouping: [[0, 1], [1, 2], [2, 3]]}
        scores = score(world, model, [PRICE, "mood"], slate_features={"mood": mood}, **parts)
        answers.append(found(scores))
    before, after = answers
    assert before[1] != after[1]
    assert (before[0], before[2]) == (after[0], after[2])


@pytest.mark.parametrize("model", ["flat2", "cube1", "flat1"])
def test_the_order_of_a_slate_counts(world: World, model: str) -> None:
    scores = score(world, model, [PRICE], slates=[[0, 1], [1, 0]])
    there, back = found(scores)
    assert there != back


# --- what goes wrong ----------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["cube2of2", "flat4"])
def test_a_slate_of_a_size_the_model_does_not_take_is_marked_not_failed(
    world: World, model: str
) -> None:
    uses = [PRICE, "boost"]
    scores = score(
        world,
        model,
        uses,
        slates=[[0, 1], [0, 1, 2], [3], [2, 3]],
        inline={"product": {"boost": [5, 6, 7, 8]}},
        step={"on_error": "fail"},
    )
    assert found(scores) == [1526, None, None, 3748]
    assert scores.groups is not None
    assert scores.groups.errors == ["", *["sm: the model takes 2 items at a time"] * 2, ""]
    assert scores.errors == [""] * 4


def test_when_no_slate_fits_the_model_is_not_asked(world: World) -> None:
    scores = score(world, "flat2", [PRICE], slates=[[0, 1, 2]])
    assert found(scores) == [None]
    assert world.runs == []
    more = {"on_error": "default", "nan_default": 5}
    assert found(score(world, "flat2", [PRICE], slates=[[0, 1, 2]], step=more)) == [5]


@pytest.mark.parametrize("model", ["cube1_picky", "flat2_picky", "flat1_picky"])
def test_a_failing_slate_is_blank_alone(world: World, model: str) -> None:
    slates = [[0, 1], [1, 0], [2, 3]]
    scores = score(world, model, [PRICE], slates=slates, step={"batch_size": 1})
    # A model of items meets each item first in its own row.
    hit = [1] if model != "flat1_picky" else [0, 1]
    assert [value is None for value in found(scores)] == [n in hit for n in range(3)]
    assert scores.groups is not None
    errors = scores.groups.errors
    assert ["two comes first" in error for error in errors] == [n in hit for n in range(3)]
    filled = score(
        world,
        model,
        [PRICE],
        slates=slates,
        step={"batch_size": 1, "on_error": "default", "nan_default": 0.5},
    )
    assert [value == 0.5 for value in found(filled)] == [n in hit for n in range(3)]
    with pytest.raises(StepFailed):
        score(world, model, [PRICE], slates=slates, step={"batch_size": 1, "on_error": "fail"})


def test_a_slate_with_a_blank_target_is_skipped_alone(world: World) -> None:
    world.broken_keys = {("2",)}
    features = {
        "fs": feature_step(
            "product",
            {"product_id": "product_id"},
            {"attrs": ["price"]},
            on_error="skip",
            batch_size=1,
        )
    }
    scores = score(
        world,
        "cube1",
        [PRICE],
        features=features,
        slates=[[0, 1], [0, 2], [3, 1]],
        step={"on_error": "default", "nan_default": 9},
    )
    assert found(scores) == [None, 13, None]
    assert scores.groups is not None
    assert scores.groups.errors == ["", "", ""]
    assert scores.errors == ["", "fs: the store is down", "", ""]


def test_a_split_that_no_number_of_items_fills_is_refused(world: World) -> None:
    """The model takes two prices and one value of the pair; the value came per target."""
    with pytest.raises(InvalidRequest) as refused:
        score(
            world,
            "flat3",
            [PRICE, "mood"],
            pairs=[[0, 1]],
            inline={"product": {"mood": [5, 6, 7, 8]}},
        )
    assert refused.value.field == "pairs"
    assert "2 value(s) per target and 0 per slate" in refused.value.what
    assert "'mood'" in refused.value.hint


def test_without_slates_a_slate_step_does_nothing(world: World) -> None:
    step = model_step("flat1", {PRICE: "FP32"}, slate_component=True)
    written = config([PRICE, "sm:score"], features=FEATURES, models={"sm": step})
    scorer = world.scorer(written)
    recording = scorer.new_recording()
    scores = scorer.score_now(request(entities={"product": ["1", "2"]}), recording)
    assert scores.groups is None
    assert list(scores.targets.columns) == [PRICE]
    assert recording.steps["sm"].skipped == "the request has no pairs or slates"
    assert world.runs == []


# --- compute ------------------------------------------------------------------------------------


def computed(
    world: World, compute_id: str, mapping: dict[str, str], step: dict[str, Any], **parts: Any
) -> Scores:
    inline = parts.pop("inline", {})
    compute = compute_step(compute_id, mapping, slate_component=True, **step)
    written = config(["sc:value"], features=FEATURES, computes={"sc": compute})
    return world.scorer(written).score_now(
        request(entities={"product": list("1234")}, features=inline, **parts)
    )


def test_cross_row_functions_see_exactly_the_items_of_one_slate(world: World) -> None:
    """Product 2 is second best of the first slate, best of the second, worst of the third."""
    slates = [[1, 2], [1, 0], [1, 2, 3]]
    scores = computed(world, "rank", {"p@FP32": PRICE}, {}, slates=slates)
    assert found(scores, "sc:value") == [2, 1, 3]


def test_slate_level_values_meet_every_item(world: World) -> None:
    mapping = {"p@FP32": PRICE, "w@FP32": "weight"}
    for how, expected in (("first", [10, 300]), ("sum", [30, 700]), ("max", [20, 400])):
        scores = computed(
            world,
            "scaled",
            mapping,
            {"slate_reduce": how},
            slates=[[0, 1], [2, 3]],
            slate_features={"weight": [10, 100]},
        )
        assert found(scores, "sc:value") == expected


def test_a_slate_with_an_item_that_has_no_answer_is_marked_if_its_value_rests_on_it(
    world: World,
) -> None:
    mapping = {"p@FP32": PRICE, "q@FP32": "boost"}
    parts: dict[str, Any] = {
        "slates": [[0, 1], [1, 0], [2, 3]],
        "inline": {"product": {"boost": [0, 1, 1, 1]}},
    }
    first = computed(world, "ratio", mapping, {}, **parts)
    assert found(first, "sc:value") == [None, 2, 3]
    total = computed(world, "ratio", mapping, {"slate_reduce": "sum"}, **parts)
    assert found(total, "sc:value") == [None, None, 7]
    assert total.groups is not None
    assert total.groups.errors == [*["sc: division by zero"] * 2, ""]
    with pytest.raises(StepFailed, match="division by zero"):
        computed(world, "ratio", mapping, {"domain_errors": "fail", "on_error": "fail"}, **parts)


def test_a_slate_step_reads_what_another_slate_step_wrote(world: World) -> None:
    written = config(
        ["sc:value"],
        features=FEATURES,
        models={"sm": model_step("cube1", {PRICE: "FP32"}, slate_component=True)},
        computes={
            "sc": compute_step(
                "gap", {"p@FP32": "sm:score", "q@FP32": "base"}, slate_component=True
            )
        },
    )
    scores = world.scorer(written).score_now(
        request(
            entities={"product": list("1234")},
            pairs=[[0, 1], [2, 3]],
            slate_features={"base": [2, 4]},
        )
    )
    assert found(scores, "sc:value") == [10, 30]
    assert scores.pairs is scores.groups
    assert scores.members == [[0, 1], [2, 3]]
