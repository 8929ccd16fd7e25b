"""Which column a name means, who may read it, and what the request must bring."""

from __future__ import annotations

from typing import Any

import pytest


def names(columns: Any) -> list[str]:
    return [column.name for column in columns]


# --- names that mean nothing ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("user:profile:agee", " (closest: 'user:profile:age')"),
        ("user:profil:age", " (closest: 'user:profile:age')"),
        ("fs_user:profile:agee", " (closest: 'fs_user:profile:age')"),
        ("product:nothing:like:it", ""),
    ],
)
def test_a_name_of_a_family_the_config_writes_must_be_one_it_writes(
    shop: Any, name: str, hint: str
) -> None:
    shop.feature_map[name] = "FP32"
    assert shop.errors() == [
        f"ranker.inputs.feature_map[{name!r}]: no step writes column {name!r}{hint}"
    ]


def test_the_response_and_the_log_name_their_wrong_columns_too(shop: Any) -> None:
    shop.response["features"] = ["ranker:scor"]
    shop.response["log_features"] = ["blend:finale"]
    assert shop.errors() == [
        "response_config.features[0]: no step writes column 'ranker:scor' "
        "(closest: 'ranker:score')",
        "response_config.log_features[0]: no step writes column 'blend:finale' "
        "(closest: 'blend:final')",
    ]


def test_a_wrong_column_in_an_explicit_tensor_is_one_problem(shop: Any) -> None:
    shop["ranker"]["inputs"] = [
        {"name": "x", "features": ["user:profile:agee", "user:profile:age"], "shape": [2]}
    ]
    [error] = shop.errors()
    assert error.startswith("ranker.inputs['x'].features[0]: no step writes column")


@pytest.mark.parametrize("col", ["product:attributes:categry_id", "product:attribute:category_id"])
def test_a_misspelt_derived_key_is_never_taken_for_an_id_of_the_request(
    shop: Any, col: str
) -> None:
    shop["fs_affinity"]["fs_keys"]["col"][1] = col
    assert shop.errors() == [
        f"fs_affinity.fs_keys.col[1]: no step writes column {col!r} "
        "(closest: 'product:attributes:category_id')"
    ]


@pytest.mark.parametrize("col", ["user:profile:user_id", "user:user_id", "user_id", "context:u"])
def test_a_key_that_names_an_id_of_the_request_is_one(shop: Any, col: str) -> None:
    shop["fs_affinity"]["fs_keys"]["col"][0] = col
    column = shop.step("fs_affinity").keys[0].column
    assert (column.name, column.step) == (col, "feature_initializer")


def test_a_key_of_a_components_own_family_comes_with_the_request(shop: Any) -> None:
    shop["fs_user"]["fs_keys"]["col"] = "user:profile:number"
    assert shop.step("fs_user").keys[0].column.step == "feature_initializer"


# --- names that mean a column -----------------------------------------------------------------


def test_a_column_may_be_called_by_its_components_name(shop: Any) -> None:
    shop.response["features"] = ["fs_user:profile:age"]
    [(name, column)] = shop.plan().response.targets
    assert (name, column.name) == ("fs_user:profile:age", "user:profile:age")


def test_a_score_may_be_called_by_its_bare_name_while_only_one_has_it(shop: Any) -> None:
    shop.response["features"] = ["score", "final"]
    assert names(column for _, column in shop.plan().response.targets) == [
        "ranker:score",
        "blend:final",
    ]


def test_a_bare_name_of_two_scores_is_ambiguous(shop: Any) -> None:
    shop["blend"]["score_column"] = "score"
    shop.response["features"] = ["score"]
    assert shop.errors() == [
        "response_config.features[0]: 'score' may mean 'ranker:score' or 'blend:score' "
        "(write the full name)"
    ]


# --- writers and readers ----------------------------------------------------------------------


@pytest.mark.scenario("C4")
def test_two_writers_of_one_column_are_an_error(shop: Any) -> None:
    shop["fs_affinity"]["col_name_prefix"] = "product"
    group = shop["fs_affinity"]["fs_request"]["feature_groups"][0]
    group["label"], group["feature_labels"] = "attributes", ["price"]
    shop["fs_affinity"]["fs_request"]["entity_label"] = "product"
    shop["fs_affinity"]["fs_keys"] = {"schema": "product_id", "col": "product:product_id"}
    errors = shop.errors()
    assert (
        "fs_affinity.fs_request: column 'product:attributes:price' is already written by "
        "'fs_product' (give one of them another col_name_prefix or column name)"
    ) in errors


def test_a_score_written_twice_by_one_step_is_an_error_too(shop: Any) -> None:
    shop.takes("x", "FP32[N,3]", y="FP32[N,2]")
    shop["ranker"]["outputs"] = {"score_columns": ["score", "score"]}
    [error] = shop.errors()
    assert "column 'ranker:score' is already written by 'ranker'" in error


def test_a_step_may_not_read_from_one_it_does_not_wait_for(shop: Any) -> None:
    shop.edges["feature_initializer"].append("fs_affinity")
    shop.edges["fs_product"] = ["ranker"]
    assert shop.errors() == [
        "fs_affinity.fs_keys.col[1]: column 'product:attributes:category_id' is written by "
        "'fs_product', which 'fs_affinity' does not wait for "
        "(let 'fs_product' feed 'fs_affinity' in component_dependency)"
    ]


def test_waiting_for_a_step_that_waits_for_the_writer_is_enough(shop: Any) -> None:
    assert shop.edges["fs_product"] == ["fs_affinity"]
    assert "product:attributes:price" in names(shop.step("ranker").reads)


def test_a_step_may_not_read_its_own_column(shop: Any) -> None:
    shop["blend"]["score_mapping"]["blend:final"] = "FP32"
    assert shop.errors() == [
        "blend.score_mapping['blend:final']: column 'blend:final' is what this step writes"
    ]


def test_a_slate_column_cannot_be_read_per_target(shop: Any) -> None:
    shop["ranker"]["slate_component"] = True
    assert shop.errors() == [
        "blend.score_mapping['ranker:score']: column 'ranker:score' has one value per slate, "
        "but this step works per target (set slate_component on this step too)"
    ]


def test_a_vector_is_no_key(shop: Any) -> None:
    shop["fs_affinity"]["fs_keys"]["col"][1] = "product:attributes:embedding"
    assert shop.errors() == [
        "fs_affinity.fs_keys.col[1]: 'product:attributes:embedding' is a vector, not a key"
    ]


def test_a_default_for_a_column_that_a_step_writes_belongs_to_its_group(shop: Any) -> None:
    shop.feature_map["user:profile:age"] = {"dtype": "INT32", "default": 18}
    [error] = shop.errors()
    assert error.startswith(
        "ranker.inputs.feature_map['user:profile:age']: a default here is for columns of the "
        "request, but a step writes this one"
    )


# --- what the request brings ------------------------------------------------------------------


def test_any_other_unwritten_name_is_a_column_of_the_request_and_noted(shop: Any) -> None:
    shop.takes("x", "FP32[N,4]")
    shop.feature_map["hour"] = "INT32"
    assert shop.notes() == [
        "ranker.inputs.feature_map['hour']: column 'hour' is written by no step: "
        "the request must bring it"
    ]
    [hour] = [column for column in shop.plan().request_columns if column.role == "value"]
    assert (hour.name, hour.dtype.name, hour.width, hour.per_target) == ("hour", "Int32", 1, True)


def test_what_a_step_with_an_error_would_write_is_not_asked_of_the_request(shop: Any) -> None:
    shop["fs_user"]["fs_request"]["entity_label"] = "usr"
    assert [problem.is_error for problem in shop.compile().problems] == [True]


def test_a_request_column_with_a_default_need_not_be_brought(shop: Any) -> None:
    shop.takes("x", "FP32[N,4]")
    shop.feature_map["hour"] = {"dtype": "INT32", "default": 12}
    assert shop.notes() == [
        "ranker.inputs.feature_map['hour']: column 'hour' is written by no step: "
        "the request must bring it, else 12 is used"
    ]


@pytest.mark.parametrize(
    ("use", "error"),
    [
        ({"dtype": "INT32", "default": "noon"}, "'noon' is not a Int32"),
        ({"dtype": "INT8", "default": 300}, "300 does not fit Int8"),
        ({"dtype": "String", "default": 12}, "12 is not text; put it in quotes"),
        (
            {"dtype": "FP32Vector", "dim": 2, "default": [1, 2, 3]},
            "[1, 2, 3] has 3 element(s), 2 wanted",
        ),
    ],
)
def test_a_default_that_its_type_cannot_hold_is_found_before_any_request(
    shop: Any, use: dict[str, Any], error: str
) -> None:
    shop["blend"]["score_mapping"]["hour"] = use
    assert shop.errors() == [f"blend.score_mapping['hour']: {error}"]


def test_one_value_stands_for_every_element_of_a_default_vector(shop: Any) -> None:
    shop.takes("x", "FP32[N,5]")
    shop.feature_map["taste"] = {"dtype": "FP32Vector", "dim": 2, "default": 0.5}
    [taste] = [column for column in shop.plan().request_columns if column.role == "value"]
    assert taste.default == [0.5, 0.5]


def test_readers_that_want_different_types_each_convert_for_themselves(shop: Any) -> None:
    shop.takes("x", "FP32[N,4]")
    shop.feature_map["hour"] = "INT32"
    shop["blend"]["score_mapping"]["hour"] = "FP64"
    shop.expressions["mix"] = "score + price * hour"
    [hour] = [column for column in shop.plan().request_columns if column.role == "value"]
    assert hour.dtype is None
    vias = {source.name: source.via for source in shop.step("blend").sources}
    assert vias["hour"].name == "FP64"


def test_two_defaults_for_one_column_are_an_error(shop: Any) -> None:
    shop.takes("x", "FP32[N,4]")
    shop.feature_map["hour"] = {"dtype": "INT32", "default": 12}
    shop["blend"]["score_mapping"]["hour"] = {"dtype": "INT32", "default": 13}
    assert shop.errors() == ["ranker.inputs.feature_map['hour']: 'hour' is given several defaults"]


def test_two_lengths_for_one_column_are_an_error(shop: Any) -> None:
    shop.takes("x", "FP32[N,4]")
    shop.feature_map["taste"] = {"dtype": "FP32Vector", "dim": 1}
    shop["blend"]["score_mapping"]["taste"] = {"dtype": "FP32Vector", "dim": 2}
    errors = shop.errors()
    assert "ranker.inputs.feature_map['taste']: 'taste' is given several lengths" in errors


def test_a_name_only_the_response_asks_for_is_not_noted(shop: Any) -> None:
    shop.response["features"] = ["product_id", "ranker:score"]
    assert shop.notes() == []


def test_a_response_feature_listed_twice_is_an_error(shop: Any) -> None:
    shop.response["features"] = ["ranker:score", "ranker:score"]
    assert shop.errors() == ["response_config.features: 'ranker:score' is listed twice"]


def test_an_id_column_that_nothing_knows_is_noted_with_the_closest_key(shop: Any) -> None:
    before = shop.notes()
    keys = [column.name for column in shop.plan().request_columns if column.role == "key"]
    shop.config["id_column"] = keys[-1]
    assert shop.notes() == before
    shop.config["id_column"] = "productt_id"
    assert [note for note in shop.notes() if note not in before] == [
        "id_column: no step looks anything up by 'productt_id' (closest: 'product_id')"
    ]
