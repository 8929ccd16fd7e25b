"""What a config asks of the world and the world does not have: features, models, expressions."""

from __future__ import annotations

from typing import Any

import pytest

from inferflow.errors import ModelUnreadable
from inferflow.plan.catalog import Endpoint, ModelSignature
from inferflow.plan.compiler import compile_config
from inferflow.testing import FakeCatalog

REQUEST = "fs_user.fs_request"


def test_an_unknown_entity_is_named_with_the_nearest(shop: Any) -> None:
    shop["fs_user"]["fs_request"]["entity_label"] = "usr"
    errors = shop.errors()
    assert errors[0] == (
        f"{REQUEST}.entity_label: the feature store has no entity 'usr' (closest: 'user')"
    )


def test_an_unknown_group_is_named_with_the_nearest(shop: Any) -> None:
    shop["fs_user"]["fs_request"]["feature_groups"][0]["label"] = "profil"
    assert shop.errors()[0] == (
        f"{REQUEST}.feature_groups[0]: entity 'user' has no feature group 'profil' "
        "(closest: 'profile')"
    )


def test_an_unknown_feature_is_named_with_the_nearest(shop: Any) -> None:
    shop["fs_user"]["fs_request"]["feature_groups"][0]["feature_labels"] = ["age", "incom"]
    assert shop.errors() == [
        f"{REQUEST}.feature_groups[0].feature_labels: group 'profile' has no feature 'incom' "
        "(closest: 'income')"
    ]


def test_the_keys_must_be_those_of_the_entity(shop: Any) -> None:
    shop["fs_user"]["fs_keys"]["schema"] = ["uid"]
    assert shop.errors() == [
        "fs_user.fs_keys.schema: entity 'user' has keys ['user_id'], not ['uid']"
    ]


def test_the_keys_may_come_in_any_order(shop: Any) -> None:
    shop["fs_affinity"]["fs_keys"] = {
        "schema": ["category_id", "user_id"],
        "col": ["product:attributes:category_id", "user_id"],
    }
    assert shop.step("fs_affinity").read.keys == ("category_id", "user_id")


@pytest.mark.parametrize(
    ("label", "error"),
    [
        ("city@FP32", "feature 'city' is String in the store and cannot be read as FP32"),
        ("age@String", "feature 'age' is Int32 in the store and cannot be read as String"),
    ],
)
def test_a_feature_is_not_read_across_text_and_numbers(shop: Any, label: str, error: str) -> None:
    shop["fs_user"]["fs_request"]["feature_groups"][0]["feature_labels"] = [label]
    shop.feature_map.pop("user:profile:age")
    shop.takes("x", "FP32[N,2]")
    assert shop.errors() == [f"{REQUEST}.feature_groups[0]: {error}"]


def test_a_feature_may_be_read_as_another_number(shop: Any) -> None:
    shop["fs_user"]["fs_request"]["feature_groups"][0]["feature_labels"] = ["age@FP16", "income"]
    columns = {column.name: column.dtype.name for column in shop.step("fs_user").writes}
    assert columns == {"user:profile:age": "FP16", "user:profile:income": "FP32"}


def test_a_groups_type_holds_for_the_features_that_say_none(shop: Any) -> None:
    group = shop["fs_user"]["fs_request"]["feature_groups"][0]
    group["data_type"] = "DataTypeFP64"
    group["feature_labels"] = ["age@Int64", "income"]
    columns = {column.name: column.dtype.name for column in shop.step("fs_user").writes}
    assert columns == {"user:profile:age": "Int64", "user:profile:income": "FP64"}


def test_a_default_for_a_feature_that_is_not_asked_for_is_an_error(shop: Any) -> None:
    shop["fs_user"]["fs_request"]["feature_groups"][0]["defaults"] = {"city": "Pune"}
    assert shop.errors() == [
        f"{REQUEST}.feature_groups[0].defaults: 'city' is not among the group's features"
    ]


def test_a_default_must_fit_its_feature(shop: Any) -> None:
    group = shop["fs_user"]["fs_request"]["feature_groups"][0]
    group["defaults"] = {"age": 3_000_000_000, "income": "much"}
    assert shop.errors() == [
        f"{REQUEST}.feature_groups[0].defaults['age']: 3000000000 does not fit Int32",
        f"{REQUEST}.feature_groups[0].defaults['income']: 'much' is not a FP32",
    ]


def test_a_group_that_asks_for_nothing_is_not_looked_up(shop: Any) -> None:
    shop["fs_user"]["fs_request"]["entity_label"] = "dummy"
    shop["fs_user"]["fs_request"]["feature_groups"] = [{"label": "", "feature_labels": []}]
    shop["fs_user"]["composite_id"] = True
    shop.feature_map.pop("user:profile:age")
    shop.takes("x", "FP32[N,2]")
    assert shop.step("fs_user").read is None


def test_an_unknown_model_is_named_with_the_nearest(shop: Any) -> None:
    shop["ranker"]["model_name"] = "rankr"
    assert shop.errors()[0] == ("ranker.model_name: there is no model 'rankr' (closest: 'ranker')")


def test_a_model_unlike_any_other_gets_the_place_it_should_be_at(shop: Any) -> None:
    shop["ranker"]["model_name"] = "zebra"
    assert shop.errors()[0] == (
        "ranker.model_name: there is no model 'zebra' (expected models/zebra/<version>/model.onnx)"
    )


def test_an_unknown_version_is_named(shop: Any) -> None:
    shop["ranker"]["model_version"] = 7
    assert shop.errors()[0] == (
        "ranker.model_name: there is no model 'ranker' version 7 (the highest version there is: 1)"
    )


@pytest.mark.parametrize(
    ("field", "written"),
    [
        ("model_endpoint", "local:ranker@7"),
        ("model_end_points", {"local": 50, "local:ranker@7": 50}),
    ],
)
def test_a_model_that_an_endpoint_names_is_missed_at_the_endpoint(
    shop: Any, field: str, written: Any
) -> None:
    shop["ranker"][field] = written
    assert shop.errors()[0].startswith(f"ranker.{field}: there is no model 'ranker' version 7")


def test_a_broken_model_says_why_and_the_rest_is_still_checked(shop: Any) -> None:
    class Broken(FakeCatalog):
        def signature(self, endpoint: Endpoint) -> ModelSignature | None:
            raise ModelUnreadable(endpoint.model, "it is not ONNX, or damaged")

    shop["blend"]["compute_id"] = "mux"
    catalog = Broken(entities=shop.entities, expressions=shop.expressions)
    errors = [str(error) for error in compile_config("shop", shop.config, catalog).errors]
    assert (
        "error: ranker.model_name: model 'ranker' cannot be loaded: it is not ONNX, or damaged"
        in errors
    )
    assert any("there is no expression 'mux'" in error for error in errors)


def test_an_endpoint_that_is_none_says_how_to_write_one_and_how_to_run_it_here(shop: Any) -> None:
    shop["ranker"]["model_endpoint"] = "predator:http"
    assert shop.errors()[0] == (
        "ranker.model_endpoint: 'predator:http': 'http' is no port (write local, local:<model>, "
        'host:port, or manager://host:port; or set [endpoints] "predator:http" = "local:ranker" in '
        "inferflow.toml to run it here)"
    )


def test_an_alias_of_an_endpoint_is_followed_and_said(shop: Any) -> None:
    shop.models["ranker@2"] = shop.models["ranker"]
    shop["ranker"]["model_endpoint"] = "predator:8080"
    shop.endpoints = {"predator:8080": "local:ranker@1"}
    plan = shop.plan()
    [arm] = next(step for step in plan.steps if step.name == "ranker").arms
    assert (arm.endpoint.model, arm.endpoint.version) == ("ranker", "1")
    assert "ranker: endpoint 'predator:8080' stands for 'local:ranker@1' here" in plan.readings


def test_an_unknown_expression_is_named_with_the_nearest(shop: Any) -> None:
    shop["blend"]["compute_id"] = "mixx"
    assert shop.errors() == ["blend.compute_id: there is no expression 'mixx' (closest: 'mix')"]


def test_a_compute_id_may_be_a_number(shop: Any) -> None:
    shop.expressions["42"] = "score + price"
    shop["blend"]["compute_id"] = 42
    assert shop.step("blend").compute_id == "42"


def test_a_variable_that_is_not_mapped_is_an_error(shop: Any) -> None:
    shop.expressions["mix"] = "score + pryce"
    errors = shop.errors()
    assert errors == [
        "blend.score_mapping: expression 'mix' reads 'pryce', which is not mapped "
        "(closest: 'price')"
    ]


def test_a_variable_that_two_columns_end_in_is_ambiguous(shop: Any) -> None:
    shop["blend"]["score_mapping"]["price"] = "FP32"
    shop["blend"]["score_mapping"]["old:price"] = "FP32"
    shop["blend"]["score_mapping"].pop("product:attributes:price")
    shop["blend"]["score_mapping"]["product:attributes:price"] = "FP32"
    shop.expressions["mix"] = "score + price"
    assert shop.step("blend").variables == ("score", "price"), "a full name is never ambiguous"
    del shop["blend"]["score_mapping"]["price"]
    assert shop.errors() == [
        "blend.score_mapping: variable 'price' may mean `old:price` or `product:attributes:price` "
        "(write the full name in backquotes in the expression)"
    ]


def test_a_full_column_name_is_always_a_variable(shop: Any) -> None:
    shop.expressions["mix"] = "score + `product:attributes:price`"
    assert shop.step("blend").variables == ("score", "product:attributes:price")


def test_a_mapped_column_the_expression_does_not_read_is_noted(shop: Any) -> None:
    shop["blend"]["score_mapping"]["user:profile:income"] = "FP32"
    assert shop.notes() == [
        "blend.score_mapping['user:profile:income']: expression 'mix' does not read this column"
    ]


@pytest.mark.parametrize(("column", "dtype"), [("title", "String"), ("embedding", "FP32Vector")])
def test_arithmetic_wants_numbers(shop: Any, column: str, dtype: str) -> None:
    shop["blend"]["score_mapping"] = {
        "ranker:score": "FP32",
        f"product:attributes:{column}": dtype,
    }
    shop.expressions["mix"] = f"score + {column}"
    assert shop.errors() == [
        f"blend.score_mapping: expression 'mix' needs a number for {column!r}, "
        f"and column 'product:attributes:{column}' is {dtype}"
    ]


@pytest.mark.parametrize("column", ["title", "embedding", "category_id"])
def test_a_function_that_takes_categories_takes_text_and_vectors(shop: Any, column: str) -> None:
    shop["blend"]["score_mapping"] = {"ranker:score": "FP32", f"product:attributes:{column}": None}
    shop.expressions["mix"] = f"diversity(score, {column}, 0.3)"
    assert shop.step("blend").cross_row


@pytest.mark.parametrize("dtype", ["String", "FP32Vector"])
def test_a_computed_score_is_a_number(shop: Any, dtype: str) -> None:
    shop["blend"]["data_type"] = dtype
    assert shop.errors() == [f"blend.data_type: a computed score is a number, not {dtype}"]
