"""What a recording holds, and that asking for one changes no answer."""

from __future__ import annotations

from typing import Any

import pytest

from inferflow.components.cache import FeatureCache
from inferflow.engine.ports import ReadState
from inferflow.engine.recording import Recording, StepRecord
from inferflow.engine.scorer import Scorer
from inferflow.scores import Scores

from .worlds import EXPIRED, World, refusing, row_model
from .writing import compute_step, config, feature_step, model_step, request


@pytest.fixture
def world() -> World:
    world = World(expressions={"half": {"infix": "s / 2"}})
    rows = {"1": {"price": 1.0}, "2": {"price": 2.0}, "4": EXPIRED, "5": {}}
    world.table("product", "attrs", {"price": ("FP32", 9.0)}, rows)
    world.models["m"] = row_model(lambda x: [[float("nan") if x[0] == 9 else x[0]]])
    return world


def scorer_of(world: World, **step: Any) -> Scorer:
    fs = feature_step(
        "product", {"product_id": "product_id"}, {"attrs": ["price"]}, comp_cache_enabled=True
    )
    written = config(
        ["c:value"],
        features={"fs": fs},
        models={"m": model_step("m", {"product:attrs:price": "FP32"}, batch_size=2, **step)},
        computes={"c": compute_step("half", {"s@FP32": "m:score"})},
        shared={"cache_enabled": True, "cache_ttl": 60},
    )
    return world.scorer(written, cache=FeatureCache(1.0, now=lambda: 0.0))


def recorded(scorer: Scorer, *products: str, **parts: Any) -> tuple[Scores, Recording]:
    recording = scorer.new_recording()
    scores = scorer.score_now(request(entities={"product": list(products)}, **parts), recording)
    return scores, recording


def test_every_step_of_the_plan_has_a_record(world: World) -> None:
    _, recording = recorded(scorer_of(world), "1", "2", "2")
    kinds = {name: record.kind for name, record in recording.steps.items()}
    assert kinds == {"feature_initializer": "init", "fs": "feature", "m": "model", "c": "compute"}
    assert [record.rows for record in recording.steps.values()] == [3, 3, 3, 3]
    starts = [record.start_us for record in recording.steps.values()]
    assert starts == sorted(starts)
    assert all(record.duration_us > 0 for record in recording.steps.values())
    assert recording.total_us >= max(starts)


def test_a_feature_step_notes_keys_and_cache_hits(world: World) -> None:
    scorer = scorer_of(world)
    _, first = recorded(scorer, "1", "2", "2")
    assert (first.steps["fs"].unique_keys, first.steps["fs"].cache_hits) == (2, 0)
    _, second = recorded(scorer, "1", "2", "4")
    assert (second.steps["fs"].unique_keys, second.steps["fs"].cache_hits) == (3, 2)


def test_a_feature_step_notes_which_key_each_row_asked_with(world: World) -> None:
    _, recording = recorded(scorer_of(world), "2", "1", "2")
    read = recording.steps["fs"].read
    assert read is not None
    positions = [read.position(row) for row in range(3)]
    assert [read.keys[0][at] for at in positions if at is not None] == ["2", "1", "2"]


def test_the_matrix_tells_real_missing_expired_and_default_apart(world: World) -> None:
    scorer = scorer_of(world)
    _, recording = recorded(scorer, "1", "3", "4", "5")
    matrix, plan = recording.matrix, scorer.plan
    assert matrix is not None
    column = plan.columns["product:attrs:price"]
    states = matrix.states(column.block)
    absent = matrix.absent(column)
    assert states is not None
    assert absent is not None
    assert states.tolist() == [
        ReadState.REAL,
        ReadState.MISSING,
        ReadState.EXPIRED,
        ReadState.REAL,
    ]
    assert absent.tolist() == [False, False, False, True]
    assert matrix.column(column).tolist() == [1, 9, 9, 9]
    assert recording.ids == ("1", "3", "4", "5")


def test_a_model_step_notes_arm_version_batches_and_odd_numbers(world: World) -> None:
    _, recording = recorded(scorer_of(world), "1", "3", "2")
    record = recording.steps["m"]
    assert (record.endpoint, record.version, record.batches) == ("local", "1", 2)
    assert record.nans == 1
    assert recording.arms == {"m": "m@1"}


def test_a_failure_is_noted_with_the_step(world: World) -> None:
    def broken(x: Any) -> Any:
        raise refusing("broke")

    world.models["m"] = row_model(broken)
    scores, recording = recorded(scorer_of(world), "1")
    assert "broke" in recording.steps["m"].error
    assert recording.steps["c"].skipped == "no row has all inputs"
    assert scores.targets.columns["c:value"].to_list() == [None]


def test_what_nobody_asked_for_is_in_the_binding(world: World) -> None:
    _, recording = recorded(scorer_of(world), "1", context={"huor": 1})
    assert recording.binding is not None
    assert recording.binding.unused == ("context.huor",)


def test_recording_changes_no_answer(world: World) -> None:
    products = ["1", "3", "2", "4", "5"]
    watched, _ = recorded(scorer_of(world), *products)
    alone = scorer_of(world).score_now(request(entities={"product": products}))
    assert repr(watched.to_dict()) == repr(alone.to_dict())


def test_records_are_made_anew_for_every_recording(world: World) -> None:
    scorer = scorer_of(world)
    _, first = recorded(scorer, "1")
    _, second = recorded(scorer, "1", "2")
    assert isinstance(first.steps["fs"], StepRecord)
    assert (first.steps["fs"].rows, second.steps["fs"].rows) == (1, 2)
