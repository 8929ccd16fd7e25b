"""The shape the original parses: lists of components, direct column names, its own spellings."""

from __future__ import annotations

from typing import Any

import pytest

from inferflow.testing import World, entity, model


def config() -> dict[str, Any]:
    return {
        "dag_execution_config": {
            "component_dependency": {
                "catalog": ["feature_initializer"],
                "composite_key_gen_1": ["catalog"],
                "user_category": ["composite_key_gen_1"],
                "p1": ["catalog", "user_category"],
                "i1": ["p1"],
            }
        },
        "component_config": {
            "cache_enabled": True,
            "cache_version": 1,
            "cache_ttl": 300,
            "error_logging_percent": 0,
            "feature_components": [
                {
                    "component": "catalog",
                    "component_id": "catalog_id",
                    "composite_id": False,
                    "fs_keys": [{"schema": "catalog_id", "col": "catalog_id"}],
                    "fs_request": {
                        "label": "catalog",
                        "featureGroups": [
                            {
                                "label": "derived",
                                "data_type": "DataTypeFP32",
                                "features": ["ctr", "clicks@DataTypeInt32"],
                            },
                            {"label": "facts", "data_type": "INT32", "features": ["category"]},
                        ],
                    },
                    "fs_flatten_resp_keys": ["catalog_id"],
                    "col_name_prefix": "parent:",
                    "comp_cache_enabled": True,
                },
                {
                    "component": "composite_key_gen_1",
                    "component_id": "user_id:category",
                    "composite_id": True,
                    "fs_keys": [
                        {"schema": "user_id", "col": "user_id"},
                        {"schema": "category", "col": "parent:catalog:facts:category"},
                    ],
                    "fs_request": {
                        "label": "dummy",
                        "featureGroups": [{"label": "", "features": []}],
                    },
                    "fs_flatten_resp_keys": ["dummy"],
                },
                {
                    "component": "user_category",
                    "component_id": "user_category_id",
                    "fs_keys": [{"schema": "user_category_id", "col": "user_id:category"}],
                    "fs_request": {
                        "label": "user_category",
                        "featureGroups": [{"label": "taste", "features": ["share"]}],
                    },
                    "fs_flatten_resp_keys": ["user_category_id"],
                },
            ],
            "predator_components": [
                {
                    "component": "p1",
                    "component_id": "catalog_id",
                    "model_name": "ctr_model",
                    "model_end_point": "predator.example",
                    "deadline": 200,
                    "batch_size": 100,
                    "calibration": "pctr_calibration",
                    "inputs": [
                        {
                            "name": "input__0",
                            "features": [
                                "parent:catalog:derived:ctr",
                                "parent:catalog:derived:clicks",
                                "user_category:taste:share",
                            ],
                            "shape": [3],
                            "data_type": "FP32",
                        }
                    ],
                    "outputs": [
                        {
                            "name": "output__0",
                            "model_scores": ["pctr"],
                            "model_scores_dims": [[1]],
                            "data_type": "FP32",
                        }
                    ],
                    "slate_component": False,
                }
            ],
            "numerix_components": [
                {
                    "component": "i1",
                    "component_id": "catalog_id",
                    "score_col": "final_score",
                    "data_type": "FP32",
                    "score_mapping": {"p@DataTypeFP32": "pctr", "b@DataTypeString": "bid"},
                    "compute_id": "17",
                }
            ],
        },
        "response_config": {
            "features": ["catalog_id", "pctr", "final_score"],
            "model_schema_features_perc": 5,
            "logging_perc": 10,
            "log_features": True,
            "log_batch_size": 0,
        },
    }


@pytest.fixture
def world() -> World:
    return World(
        entities=[
            entity(
                "catalog",
                derived={"ctr": "FP32", "clicks": "FP32"},
                facts={"category": "INT32"},
            ),
            entity("user_category", taste={"share": "FP32"}),
        ],
        features={
            "catalog:derived": {1: {"ctr": 0.5, "clicks": 3.9}, 2: {"ctr": 0.25, "clicks": 8.0}},
            "catalog:facts": {1: {"category": 40}, 2: {"category": 41}},
            "user_category:taste": {"7|40": {"share": 0.125}},
        },
        models={
            "ctr_model": model(
                lambda x: x.sum(axis=1, keepdims=True),
                inputs={"input__0": "FP32[N,3]"},
                outputs={"output__0": "FP32[N,1]"},
            )
        },
        expressions={"17": "p b *"},
        endpoints={"predator.example": "local"},
    )


REQUEST = {
    "entities": {"catalog_id": ["1", "2"], "user_id": "7"},
    "features": {"catalog_id": {"bid": ["2", "10"]}},
}


def test_it_scores(world: World) -> None:
    scores = world.score(config(), REQUEST)
    # clicks are read as Int32, which cuts 3.9 to 3; the second pair of user and category is unknown
    assert scores["pctr"].tolist() == [0.5 + 3 + 0.125, 0.25 + 8 + 0]
    assert scores["final_score"].tolist() == [3.625 * 2, 8.25 * 10]
    assert scores["catalog_id"].tolist() == ["1", "2"]


def test_it_compiles_without_an_error_and_says_how_it_was_read(world: World) -> None:
    plan = world.plan(config())
    assert [step.name for step in plan.steps] == [
        "feature_initializer",
        "catalog",
        "composite_key_gen_1",
        "user_category",
        "p1",
        "i1",
    ]
    assert plan.readings[:2] == (
        "edges list dependencies, because 'feature_initializer' is listed as one",
        "targets are 'catalog_id', the first response feature of a list config",
    )
    notes = [f"{note.where}: {note.what}" for note in plan.notes]
    assert (
        "composite_key_gen_1.fs_flatten_resp_keys: 'dummy' is not a key of fs_keys.schema" in notes
    )


def test_the_first_response_feature_names_the_targets_unless_it_is_a_score(world: World) -> None:
    written = config()
    assert world.plan(written).id_column == "catalog_id"
    written["response_config"]["features"] = ["pctr"]
    assert world.plan(written).id_column == ""
    written["id_column"] = "user_id"
    written["response_config"]["features"] = ["catalog_id"]
    assert world.plan(written).id_column == "user_id"


def test_columns_have_the_names_written_and_no_other(world: World) -> None:
    plan = world.plan(config())
    assert plan.columns["pctr"].step == "p1"
    assert plan.columns["final_score"].step == "i1"
    assert "p1:pctr" not in plan.columns


def test_values_on_the_wire_may_be_text_or_typed(world: World) -> None:
    assert world.plan(config()).value_encoding == "auto"


def test_an_error_logging_percent_of_zero_means_ten(world: World) -> None:
    assert world.plan(config()).error_logging_percent == 10


def test_log_features_true_is_the_response(world: World) -> None:
    assert [name for name, _ in world.plan(config()).log.columns] == [
        "catalog_id",
        "pctr",
        "final_score",
    ]


def test_a_calibration_is_a_pair_of_look_up_columns(world: World) -> None:
    constants = {
        column.name: column.default
        for column in world.plan(config()).request_columns
        if column.role == "constant"
    }
    assert constants == {"pctr_calibration_model": "ctr_model", "inferflow_config_id": "config"}


def test_a_component_without_a_name_is_an_error(world: World) -> None:
    written = config()
    del written["component_config"]["numerix_components"][0]["component"]
    errors = [str(error) for error in world.compile(written).errors]
    assert "error: component_config: a component has no name — set `component`" in errors
