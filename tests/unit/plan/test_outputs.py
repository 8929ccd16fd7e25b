"""How what a model gives becomes score columns."""

from __future__ import annotations

from typing import Any

import pytest

from inferflow.testing import model


def scores(shop: Any) -> dict[str, tuple[str, str, int]]:
    """column → (output, type, values per row)."""
    [arm, *_] = shop.step("ranker").arms
    return {
        column.name: (out.tensor, column.dtype.name, column.width)
        for out in arm.outputs
        for column in out.columns
    }


def gives(shop: Any, *columns: str, **outputs: str) -> None:
    shop.takes("x", "FP32[N,3]", **outputs)
    shop["ranker"]["outputs"] = {"score_columns": list(columns)}
    shop["blend"]["score_mapping"] = {"product:attributes:price": "FP32"}
    shop.expressions["mix"] = "price"
    shop.response["features"] = [f"ranker:{column}" for column in columns]


def test_score_columns_named_like_outputs_take_those(shop: Any) -> None:
    gives(shop, "p", "q", q="FP32[N]", spare="FP32[N]", p="FP64[N,1]")
    assert scores(shop) == {"ranker:p": ("p", "FP64", 1), "ranker:q": ("q", "FP32", 1)}


def test_else_there_is_one_per_output_in_order(shop: Any) -> None:
    gives(shop, "score", "confidence", y="FP32[N]", z="FP32[N,1]")
    assert scores(shop) == {
        "ranker:score": ("y", "FP32", 1),
        "ranker:confidence": ("z", "FP32", 1),
    }


def test_else_one_output_is_split(shop: Any) -> None:
    gives(shop, "score", "confidence", y="FP32[N,2]")
    assert scores(shop) == {
        "ranker:score": ("y", "FP32", 1),
        "ranker:confidence": ("y", "FP32", 1),
    }
    columns = shop.plan().columns
    assert columns["ranker:score"].block == columns["ranker:confidence"].block
    assert (columns["ranker:score"].offset, columns["ranker:confidence"].offset) == (0, 1)


def test_a_single_column_takes_the_whole_output_as_a_vector(shop: Any) -> None:
    gives(shop, "embedding", y="FP16[N,8]")
    assert scores(shop) == {"ranker:embedding": ("y", "FP16Vector", 8)}


def test_one_column_of_a_model_with_several_outputs_must_say_which(shop: Any) -> None:
    gives(shop, "score", label="INT64[N]", probabilities="FP32[N,2]")
    assert shop.errors() == [
        "ranker.outputs: 1 score columns do not fit 'label' Int64[N], 'probabilities' FP32[N, 2] "
        "(name them like the outputs, or list one per output)"
    ]


def test_too_few_values_for_the_columns_are_an_error(shop: Any) -> None:
    gives(shop, "a", "b", "c", y="FP32[N,2]")
    assert shop.errors() == [
        "ranker.outputs: 3 score column(s) take 3 value(s) of output 'y', which gives 2 per row"
    ]


def test_scores_have_the_type_the_model_gives_unless_told(shop: Any) -> None:
    gives(shop, "score", y="FP64[N]")
    assert scores(shop)["ranker:score"][1] == "FP64"
    shop["ranker"]["outputs"]["data_type"] = "FP32"
    assert scores(shop)["ranker:score"][1] == "FP32"


def test_outputs_spelled_out_name_columns_directly(shop: Any) -> None:
    gives(shop, "unused", y="FP32[N,4]", z="FP32[N]")
    shop["ranker"]["outputs"] = [
        {
            "name": "y",
            "model_scores": ["pctr", "taste"],
            "model_scores_dims": [[1], [-1, 3]],
            "data_type": "FP32",
        },
        {"name": "z", "model_scores": ["pcvr"], "data_type": "FP64"},
    ]
    shop.response["features"] = ["pctr", "taste", "pcvr"]
    assert scores(shop) == {
        "pctr": ("y", "FP32", 1),
        "taste": ("y", "FP32Vector", 3),
        "pcvr": ("z", "FP64", 1),
    }


def test_an_output_the_model_does_not_give_is_an_error(shop: Any) -> None:
    shop["ranker"]["outputs"] = [{"name": "sc0re", "model_scores": ["ranker:score"]}]
    assert shop.errors()[0] == (
        "ranker.outputs: the model has no output 'sc0re' (it gives 'score' FP32[N])"
    )


@pytest.mark.parametrize("other", ["FP64[N]", "FP32[N,2]"])
def test_the_models_of_all_arms_must_give_the_same_scores(shop: Any, other: str) -> None:
    shop.models["ranker@2"] = model(
        lambda x: x, inputs={"x": "FP32[N,3]"}, outputs={"score": other}
    )
    shop["ranker"]["model_end_points"] = {"local:ranker@1": 50, "local:ranker@2": 50}
    assert shop.errors() == [
        "ranker.outputs: the models of 'local:ranker@1' and 'local:ranker@2' give different scores"
    ]


def test_arms_whose_type_the_config_says_may_differ_in_theirs(shop: Any) -> None:
    shop.models["ranker@2"] = model(
        lambda x: x, inputs={"x": "FP32[N,3]"}, outputs={"score": "FP64[N]"}
    )
    shop["ranker"]["model_end_points"] = {"local:ranker@1": 50, "local:ranker@2": 50}
    shop["ranker"]["outputs"]["data_type"] = "FP32"
    assert shop.errors() == []


def test_the_scores_of_a_slate_step_are_per_slate(shop: Any) -> None:
    shop.takes("x", "FP32[S,n,3]", order="FP32[S,n,1]")
    shop["ranker"]["slate_component"] = True
    shop["blend"]["slate_component"] = True
    plan = shop.plan()
    assert plan.columns["ranker:score"].space == "slate"
    assert [name for name, _ in plan.response.slates] == ["ranker:score", "blend:final"]
    assert plan.response.targets == ()


# --- calibration ------------------------------------------------------------------------------


def test_a_named_calibration_adds_look_up_columns_that_features_can_be_keyed_by(
    shop: Any,
) -> None:
    shop["ranker"]["calibration"] = "pctr_calibration"
    constants = {
        column.name: column.default
        for column in shop.plan().request_columns
        if column.role == "constant"
    }
    assert constants == {"pctr_calibration_model": "ranker", "inferflow_config_id": "shop"}
    shop["fs_affinity"]["fs_keys"]["col"] = ["pctr_calibration_model", "inferflow_config_id"]
    assert [key.column.step for key in shop.step("fs_affinity").keys] == [
        "feature_initializer",
        "feature_initializer",
    ]


def test_two_models_cannot_share_a_calibrations_name(shop: Any) -> None:
    other = {**shop["ranker"], "model_name": "other", "calibration": "pctr"}
    shop.models["other"] = shop.models["ranker"]
    shop["ranker"]["calibration"] = "pctr"
    shop.components["predator_component_config"]["second"] = other
    shop.edges["fs_affinity"].append("second")
    shop.edges["fs_user"].append("second")
    assert shop.errors() == ["second.calibration: column 'pctr_model' is already 'ranker'"]


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ({"a": -1.0, "b": 0.5}, "platt"),
        ({"x": [0.0, 1.0], "y": [0.1, 0.9]}, "isotonic"),
        ({"type": "expression", "name": "halve"}, "expression"),
    ],
)
def test_a_calibration_that_changes_scores_applies_to_the_first_column(
    shop: Any, written: dict[str, Any], kind: str
) -> None:
    shop.expressions["halve"] = "s / 2"
    gives(shop, "score", "confidence", y="FP32[N,2]")
    shop.expressions["halve"] = "s / 2"
    shop["ranker"]["calibration"] = written
    [calibration] = shop.step("ranker").calibrations
    assert (calibration.kind, calibration.column.name) == (kind, "ranker:score")


def test_a_calibration_may_name_its_columns(shop: Any) -> None:
    gives(shop, "score", "confidence", y="FP32[N,2]")
    shop["ranker"]["calibration"] = {"a": -1.0, "b": 0.0, "columns": ["confidence", "score"]}
    assert [each.column.name for each in shop.step("ranker").calibrations] == [
        "ranker:confidence",
        "ranker:score",
    ]
