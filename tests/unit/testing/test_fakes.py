"""The fakes keep the promises of the ports they stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from inferflow.dtypes import FP32, FP64, INT32, STRING
from inferflow.engine.deadline import Deadline
from inferflow.engine.ports import FeatureRead, FeatureRows, GroupRead, ReadState, RunRead
from inferflow.engine.scorer import finish
from inferflow.errors import DeadlinePassed, InvalidInput, ModelFailed, NotFound, StoreFailed
from inferflow.featurestore import FeatureSchema, FeatureStore, MemoryBackend
from inferflow.plan.catalog import Endpoint
from inferflow.testing import (
    EXPIRED,
    FakeCatalog,
    FakeFeatures,
    FakeModels,
    ManualClock,
    World,
    entity,
    failing,
    model,
    onnx_model,
    run_config,
    slow,
    tensor,
)

CELL = entity(
    "cell",
    "user_id",
    "category_id",
    taste={
        "share": ("FP32", 0.5),
        "visits": "INT32",
        "label": ("String", "none"),
        "vector": "FP32Vector[2]",
    },
)
READ = FeatureRead(
    "cell",
    ("category_id", "user_id"),
    (
        GroupRead(
            "taste",
            (
                RunRead(FP32, ("share", "vector"), (1, 2)),
                RunRead(FP64, ("visits",), (1,)),
                RunRead(STRING, ("label",), (1,)),
            ),
        ),
    ),
)


def fetch(features: Any, keys: tuple[list[str], ...], deadline: Deadline | None = None) -> Any:
    prepared = features.prepare(READ)
    return finish(prepared.fetch(keys, deadline=deadline or Deadline(None)))


# --- features ---------------------------------------------------------------------------------


def test_real_missing_expired_and_default_are_told_apart() -> None:
    features = FakeFeatures(
        [CELL],
        {
            "cell:taste": {
                ("7", "1"): {"share": 0.25, "visits": 3, "label": "a", "vector": [1, 2]},
                ("7", "2"): EXPIRED,
                ("7", "3"): {"visits": 9},
            }
        },
    )
    rows = fetch(features, (["1", "2", "3", "4"], ["7", "7", "7", "7"]))
    [group] = rows.groups
    assert [ReadState(state).name for state in group.states] == [
        "REAL",
        "EXPIRED",
        "REAL",
        "MISSING",
    ]
    assert group.absent["share"].tolist() == [False, False, True, False]
    assert "visits" not in group.absent
    numbers, visits, labels = group.runs
    assert numbers.tolist() == [[0.25, 1, 2], [0.5, 0, 0], [0.5, 0, 0], [0.5, 0, 0]]
    assert visits.dtype == np.float64
    assert visits[:, 0].tolist() == [3, 0, 9, 0]
    assert labels[:, 0].tolist() == ["a", "none", "none", "none"]


ROWS = st.dictionaries(
    st.tuples(st.sampled_from("12"), st.sampled_from("345")),
    st.fixed_dictionaries(
        {},
        optional={
            "share": st.floats(width=32, allow_nan=False),
            "visits": st.integers(-(2**31), 2**31 - 1),
            "label": st.text(max_size=4),
            "vector": st.lists(st.floats(width=32, allow_nan=False), min_size=2, max_size=2),
        },
    ).filter(bool),
)


@given(ROWS)
@settings(max_examples=50)
def test_the_fake_answers_like_the_store(rows: dict[tuple[str, str], dict[str, Any]]) -> None:
    store = FeatureStore(FeatureSchema({"cell": CELL}, "d"), MemoryBackend())
    store.put(
        "cell",
        "taste",
        [{"user_id": user, "category_id": cat, **row} for (user, cat), row in rows.items()],
    )
    asked = (["3", "4", "5", "3", "4", "5"], ["1", "1", "1", "2", "2", "2"])
    assert plain(fetch(FakeFeatures([CELL], {"cell:taste": rows}), asked)) == plain(
        fetch(store, asked)
    )


def plain(rows: FeatureRows) -> list[Any]:
    return [
        (
            [(run.dtype, run.tolist()) for run in group.runs],
            [0] * len(group.runs[0]) if group.states is None else group.states.tolist(),
            {name: mask.tolist() for name, mask in group.absent.items() if mask.any()},
        )
        for group in rows.groups
    ]


def test_a_broken_store_fails_every_read_until_it_is_mended() -> None:
    features = FakeFeatures([CELL], {})
    features.broken = "the disk is gone"
    with pytest.raises(StoreFailed, match="the disk is gone"):
        fetch(features, (["1"], ["1"]))
    features.broken = ""
    assert fetch(features, (["1"], ["1"]))


def test_a_slow_store_misses_deadlines_by_the_clock_it_was_given() -> None:
    clock = ManualClock()
    features = FakeFeatures([CELL], {}, clock=clock)
    features.takes_s = 0.2
    fetch(features, (["1"], ["1"]), Deadline(300, clock=clock))
    with pytest.raises(DeadlinePassed):
        fetch(features, (["1"], ["1"]), Deadline(100, clock=clock))


@pytest.mark.parametrize(
    "read",
    [
        FeatureRead("cel", ("user_id",), ()),
        FeatureRead("cell", ("user_id", "category_id"), (GroupRead("tast", ()),)),
        FeatureRead(
            "cell",
            ("user_id", "category_id"),
            (GroupRead("taste", (RunRead(INT32, ("visit",), (1,)),)),),
        ),
    ],
)
def test_what_the_schema_does_not_have_cannot_be_prepared(read: FeatureRead) -> None:
    with pytest.raises(NotFound):
        FakeFeatures([CELL], {}).prepare(read)


def test_rows_of_a_group_nobody_declared_are_refused() -> None:
    with pytest.raises(NotFound, match="cell:tast"):
        FakeFeatures([CELL], {"cell:tast": {}})


# --- models -----------------------------------------------------------------------------------

HERE = Endpoint("", "m", None)


def call(models: FakeModels, *tensors: Any, outputs: tuple[str, ...] = ("score",)) -> Any:
    signature = models.signature(HERE)
    assert signature is not None
    prepared = models.prepare(HERE, tuple(info.name for info in signature.inputs), outputs)
    return finish(prepared.run([np.asarray(each) for each in tensors], deadline=Deadline(None)))


def test_a_model_is_a_function_of_its_tensors_in_order() -> None:
    models = FakeModels({"m": model(lambda a, b: a - b, inputs={"a": "FP32[N]", "b": "FP32[N]"})})
    prepared = models.prepare(HERE, ("b", "a"), ("score",))
    ones, twos = np.ones(2, np.float32), np.full(2, 2, np.float32)
    [answer] = finish(prepared.run([ones, twos], deadline=Deadline(None)))
    assert answer.tolist() == [1, 1]
    assert [call.model for call in models.calls] == ["m@1"]


def test_outputs_come_in_the_order_they_were_asked_for() -> None:
    both = model(
        lambda x: (x, x + 1),
        inputs={"x": "FP32[N]"},
        outputs={"same": "FP32[N]", "next": "FP64[N]"},
    )
    next_, same = call(FakeModels({"m": both}), np.zeros(1, np.float32), outputs=("next", "same"))
    assert (next_.tolist(), next_.dtype, same.tolist()) == ([1.0], np.float64, [0.0])


@pytest.mark.parametrize(
    "values", [np.ones((2, 3), np.float64), np.ones((2, 4), np.float32), np.ones(3, np.float32)]
)
def test_a_tensor_of_another_type_or_shape_fails_the_call(values: Any) -> None:
    models = FakeModels({"m": model(lambda x: x[:, 0], inputs={"x": "FP32[N,3]"})})
    with pytest.raises(ModelFailed, match=r"input 'x' takes FP32\[N, 3\], not"):
        call(models, values)


def test_whatever_the_function_raises_is_the_models_failure() -> None:
    models = FakeModels({"m": model(lambda _: 1 / 0, inputs={"x": "FP32[N]"})})
    with pytest.raises(ModelFailed, match="ZeroDivisionError"):
        call(models, np.ones(1, np.float32))
    with pytest.raises(ModelFailed, match="tired"):
        call(
            FakeModels({"m": model(failing("tired"), inputs={"x": "FP32[N]"})}),
            np.ones(1, np.float32),
        )


def test_a_slow_model_misses_its_deadline() -> None:
    clock = ManualClock()
    models = FakeModels({"m": model(slow(lambda x: x, 0.5, clock), inputs={"x": "FP32[N]"})})
    prepared = models.prepare(HERE, ("x",), ("score",))
    with pytest.raises(DeadlinePassed, match="'m@1'"):
        finish(prepared.run([np.ones(1, np.float32)], deadline=Deadline(100, clock=clock)))


def test_the_highest_version_answers_unless_one_is_named() -> None:
    models = FakeModels(
        {
            "m@2": model(lambda x: x * 2, inputs={"x": "FP32[N]"}),
            "m@10": model(lambda x: x * 10, inputs={"x": "FP32[N]"}),
        }
    )
    assert call(models, np.ones(1, np.float32))[0].tolist() == [10]
    signature = models.signature(Endpoint("", "m", "2"))
    assert signature is not None
    assert signature.version == "2"
    assert models.signature(Endpoint("", "m", "3")) is None
    with pytest.raises(NotFound):
        models.prepare(Endpoint("", "n", None), ("x",), ("score",))


def test_an_onnx_file_stands_where_a_function_would() -> None:
    graph = helper.make_graph(
        [helper.make_node("Add", ["a", "b"], ["sum"])],
        "g",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N"]) for name in "ab"],
        [helper.make_tensor_value_info("sum", TensorProto.FLOAT, ["N"])],
    )
    opset = [helper.make_opsetid("", 19)]
    content = helper.make_model(graph, opset_imports=opset, ir_version=9).SerializeToString()
    models = FakeModels({"m": onnx_model(content)})
    ones = np.ones(2, np.float32)
    assert call(models, ones, ones, outputs=("sum",))[0].tolist() == [2, 2]


# --- together ---------------------------------------------------------------------------------

CONFIG = {
    "dag_execution_config": {"component_dependency": {"fs_user": ["ranker"], "ranker": []}},
    "component_config": {
        "feature_component_config": {
            "fs_user": {
                "fs_keys": {"schema": ["user_id"], "col": "context:user:user_id"},
                "fs_request": {
                    "entity_label": "user",
                    "feature_groups": [{"label": "profile", "feature_labels": ["age"]}],
                },
            }
        },
        "predator_component_config": {
            "ranker": {
                "model_name": "ranker",
                "inputs": {"feature_map": {"user:profile:age": "INT32"}},
                "outputs": {"score_columns": ["score"]},
            }
        },
    },
    "response_config": {"features": ["ranker:score"]},
}
SETTING: dict[str, Any] = {
    "entities": [entity("user", profile={"age": "INT32"})],
    "features": {"user:profile": {"7": {"age": 31}}},
    "models": {"ranker": model(lambda x: x[:, 0], inputs={"x": "FP32[N,1]"})},
}


@pytest.mark.parametrize("local", [True, False])
def test_a_config_runs_against_the_fakes_with_and_without_waiting(local: bool) -> None:
    scores = run_config(CONFIG, {"entities": {"user": ["7", "8"]}}, local=local, **SETTING)
    assert scores["ranker:score"].tolist() == [31, 0]


def test_a_world_keeps_what_was_asked_of_it() -> None:
    world = World(**SETTING)
    _, recording = world.record({"mine": CONFIG}, {"entities": {"user": ["7", "8", "7"]}})
    assert world.features.reads == [("user", (["7", "8"],))]
    assert [list(call.tensors) for call in world.models.calls] == [["x"]]
    assert recording.steps["fs_user"].unique_keys == 2


def test_one_config_at_a_time() -> None:
    with pytest.raises(InvalidInput, match="one config is wanted"):
        World().compile({"a": CONFIG, "b": CONFIG})


def test_a_broken_expression_is_refused_at_once() -> None:
    with pytest.raises(InvalidInput, match="expression 'mix'"):
        FakeCatalog(expressions={"mix": "a + "})


def test_a_tensor_is_written_like_problems_print_it() -> None:
    assert tensor("x", "FP32[N, 3]").shape == (None, 3)
    with pytest.raises(InvalidInput, match="write it like FP32"):
        tensor("x", "FP32")


def test_a_clock_never_runs_backwards() -> None:
    clock = ManualClock(5.0)
    clock.advance(1.5)
    assert clock() == 6.5
    with pytest.raises(ValueError, match="time cannot go back"):
        clock.advance(-1)
