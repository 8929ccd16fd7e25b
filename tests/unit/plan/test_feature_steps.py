"""Feature steps: what their columns are called, where they lie, how they are cached."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from inferflow.plan.stepspecs import column_prefix
from inferflow.testing import entity


@pytest.mark.parametrize(
    ("written", "doc_shape", "list_shape"),
    [
        ("", "user", "user"),
        ("user", "user", "user"),
        ("viewer", "viewer", "viewer:user"),  # replaces the label, or stands before it
        ("parent:", "parent:user", "parent:user"),  # its own colon: always stands before
        ("a:b:", "a:b:user", "a:b:user"),
    ],
)
def test_what_columns_start_with(written: str, doc_shape: str, list_shape: str) -> None:
    assert column_prefix(written, "user", list_shaped=False) == doc_shape
    assert column_prefix(written, "user", list_shaped=True) == list_shape


def test_features_of_one_type_in_a_group_lie_side_by_side(shop: Any) -> None:
    shop.entities.append(
        entity("mix", m={"a": "FP32", "i": "INT32", "v": "FP32Vector[2]", "t": "String"})
    )
    shop["fs_user"]["fs_request"] = {
        "entity_label": "mix",
        "feature_groups": [{"label": "m", "feature_labels": ["a", "i", "v", "t"]}],
    }
    shop["fs_user"]["fs_keys"]["schema"] = ["mix_id"]
    shop["fs_user"]["col_name_prefix"] = "user"
    shop.feature_map.pop("user:profile:age")
    shop.takes("x", "FP32[N,2]")
    step = shop.step("fs_user")
    places = {column.name: (column.block, column.offset, column.width) for column in step.writes}
    floats, ints, texts = step.blocks[0]
    assert places == {
        "user:m:a": (floats, 0, 1),
        "user:m:v": (floats, 1, 2),
        "user:m:i": (ints, 0, 1),
        "user:m:t": (texts, 0, 1),
    }


def test_a_missing_row_holds_the_configs_default_then_the_schemas_then_zero(shop: Any) -> None:
    group = shop["fs_product"]["fs_request"]["feature_groups"][0]
    group["defaults"] = {"category_id": 7}
    step = shop.step("fs_product")
    rows = {
        column.name.rpartition(":")[2]: row[column.offset : column.offset + column.width].tolist()
        for row, block in zip(step.defaults[0], step.blocks[0], strict=True)
        for column in step.writes
        if column.block == block
    }
    assert rows == {
        "category_id": [7],
        "price": [9.5],
        "title": [""],
        "embedding": [0.0, 0.0, 0.0],
    }


def test_only_the_configs_own_defaults_are_filled_in_after_the_store(shop: Any) -> None:
    group = shop["fs_product"]["fs_request"]["feature_groups"][0]
    group["defaults"] = {"embedding": 0.5}
    [fill] = shop.step("fs_product").fills
    assert (fill.start, fill.stop) == (1, 4)
    np.testing.assert_array_equal(fill.value, np.full(3, 0.5, np.float32))


def test_a_feature_without_any_default_makes_no_key_when_it_is_missing(shop: Any) -> None:
    columns = shop.plan().columns
    assert columns["product:attributes:price"].has_default
    assert not columns["product:attributes:category_id"].has_default


# --- keys as columns --------------------------------------------------------------------------


def test_flattened_keys_are_columns_beside_the_features(shop: Any) -> None:
    shop["fs_affinity"]["fs_flatten_resp_keys"] = ["user_id", "category_id"]
    shop.response["features"] = ["fs_affinity:category_id", "ranker:score"]
    step = shop.step("fs_affinity")
    assert [(position, column.name) for position, column in step.kept_keys] == [
        (1, "fs_affinity:category_id")
    ], "one that nobody reads is not kept"
    assert "fs_affinity:category_id" in [column.name for column in step.writes]


def test_only_keys_can_be_flattened(shop: Any) -> None:
    shop["fs_user"]["fs_flatten_resp_keys"] = ["user"]
    assert shop.errors() == ["fs_user.fs_flatten_resp_keys: 'user' is not a key of fs_keys.schema"]


def test_a_composite_id_is_a_column_of_its_own(shop: Any) -> None:
    shop["fs_affinity"]["composite_id"] = True
    shop.response["features"] = ["fs_affinity:id", "ranker:score"]
    assert shop.step("fs_affinity").id_column.name == "fs_affinity:id"
    shop["fs_affinity"]["component_id"] = "user_category_id"
    shop.response["features"] = ["user_category_id", "ranker:score"]
    assert shop.step("fs_affinity").id_column.name == "user_category_id"


def test_a_composite_id_can_be_the_key_of_another_component(shop: Any) -> None:
    shop.entities.append(entity("cell", "cell", profile={"age": "INT32", "income": "FP32"}))
    shop["fs_affinity"].update(composite_id=True, component_id="cell_key")
    shop["fs_user"]["fs_request"]["entity_label"] = "cell"
    shop["fs_user"]["fs_keys"] = {"schema": "cell", "col": "cell_key"}
    shop.edges["fs_affinity"].append("fs_user")
    assert shop.step("fs_user").keys[0].column.step == "fs_affinity"


def test_a_composite_id_nobody_reads_is_not_made(shop: Any) -> None:
    shop["fs_affinity"]["composite_id"] = True
    assert shop.step("fs_affinity").id_column is None


def test_a_composite_id_cannot_be_a_column_its_own_key_needs(shop: Any) -> None:
    shop["fs_affinity"].update(composite_id=True, component_id="context:user:user_id")
    assert shop.errors()[0].startswith(
        "fs_user.fs_keys.col[0]: column 'context:user:user_id' is written by 'fs_affinity'"
    )


# --- cache ------------------------------------------------------------------------------------


def cached(shop: Any) -> None:
    shop.components["cache_enabled"] = True
    shop["fs_user"]["comp_cache_enabled"] = True


def test_both_switches_must_be_on(shop: Any) -> None:
    assert shop.step("fs_user").cache is None
    shop["fs_user"]["comp_cache_enabled"] = True
    assert shop.step("fs_user").cache is None
    shop.components["cache_enabled"] = True
    assert shop.step("fs_user").cache is not None


@pytest.mark.parametrize(
    ("own", "shared", "ttl_s"), [(600, 300, 600), (0, 300, 300), (0, 0, 100), (1.5, 0, 1.5)]
)
def test_a_component_has_its_own_time_to_live_or_the_shared_one(
    shop: Any, own: float, shared: float, ttl_s: float
) -> None:
    cached(shop)
    shop["fs_user"]["comp_cache_ttl"] = own
    shop.components["cache_ttl"] = shared
    assert shop.step("fs_user").cache.ttl_s == ttl_s


@pytest.mark.parametrize(
    ("written", "version"), [(3, "3"), ("v3", "3"), ("release-12", "12"), (0, "1"), ("v0", "1")]
)
def test_the_cache_version_is_the_number_in_it(shop: Any, written: Any, version: str) -> None:
    cached(shop)
    shop.components["cache_version"] = written
    assert shop.step("fs_user").cache.scope.split("|")[:3] == ["shop", version, "fs_user"]


def scope_after(shop: Any, change: Any) -> str:
    cached(shop)
    change(shop)
    scope: str = shop.step("fs_user").cache.scope
    return scope


@pytest.mark.parametrize(
    "change",
    [
        lambda shop: shop.components.update(cache_version=2),
        lambda shop: shop["fs_user"]["fs_request"]["feature_groups"][0]["feature_labels"].append(
            "city"
        ),
        lambda shop: shop["fs_user"]["fs_request"]["feature_groups"][0]["feature_labels"].reverse(),
        lambda shop: shop.entities.__setitem__(
            0, entity("user", profile={"age": "INT64", "income": "FP32", "city": "String"})
        ),
    ],
)
def test_entries_of_another_version_query_or_schema_are_never_met(shop: Any, change: Any) -> None:
    before = scope_after(shop, lambda _: None)
    assert scope_after(shop, change) != before


def test_entries_stay_when_something_else_changes(shop: Any) -> None:
    before = scope_after(shop, lambda _: None)
    assert scope_after(shop, lambda shop: shop.expressions.update(mix="score + price")) == before


def test_a_negative_time_to_live_is_an_error(shop: Any) -> None:
    shop.components["cache_ttl"] = -1
    [error] = shop.errors()
    assert error.startswith("component_config.cache_ttl: ")
