"""The schema people write: read whole, or refused with everything that is wrong."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from inferflow.dtypes import BOOL, FP32, INT32, STRING
from inferflow.errors import NotFound, SchemaInvalid
from inferflow.featurestore import FeatureSchema, parse_schema
from inferflow.plan.catalog import FeatureInfo, GroupInfo


def schema_of(features: Any, **group: Any) -> dict[str, Any]:
    groups = {"g": {"features": features, **group}}
    return {"entities": {"e": {"keys": ["id"], "groups": groups}}}


def group_of(features: Any, **group: Any) -> GroupInfo:
    return parse_schema(schema_of(features, **group)).group("e", "g")


def problems(content: Any) -> list[str]:
    with pytest.raises(SchemaInvalid) as refused:
        parse_schema(content)
    return list(refused.value.problems)


def test_the_shape_of_the_documentation_is_read() -> None:
    schema = parse_schema(
        {
            "entities": {
                "product": {
                    "keys": ["product_id"],
                    "groups": {
                        "attributes": {
                            "dtype": "FP32",
                            "ttl": "30d",
                            "features": {
                                "category_id": {"dtype": "INT32"},
                                "price": {"default": 0.0},
                                "embedding": {"dtype": "FP32Vector", "dim": 16},
                            },
                        }
                    },
                }
            }
        }
    )
    product = schema.entity("product")
    attributes = schema.group("product", "attributes")
    assert product.keys == ("product_id",)
    assert attributes.ttl_s == 30 * 86400
    assert dict(attributes.features) == {
        "category_id": FeatureInfo("category_id", INT32),
        "price": FeatureInfo("price", FP32, 1, 0.0),
        "embedding": FeatureInfo("embedding", FP32.vector, 16),
    }


def test_features_may_be_a_list_or_name_only_their_type() -> None:
    as_list = group_of(["a", "b"], dtype="FP32")
    assert [(f.name, f.dtype) for f in as_list.features.values()] == [("a", FP32), ("b", FP32)]
    as_types = group_of({"a": "Bool", "b": None, "c": {}}, dtype="String")
    assert [f.dtype for f in as_types.features.values()] == [BOOL, STRING, STRING]


@pytest.mark.parametrize(
    ("ttl", "seconds"),
    [
        ("500ms", 0.5),
        ("90s", 90),
        ("15m", 900),
        ("12h", 43200),
        ("1.5d", 129600),
        ("2w", 1209600),
        (60, 60),
        (0, None),
        (None, None),
    ],
)
def test_a_time_to_live_is_a_number_with_a_unit(ttl: Any, seconds: float | None) -> None:
    assert group_of(["a"], dtype="FP32", ttl=ttl).ttl_s == seconds


@pytest.mark.parametrize(
    ("feature", "default"),
    [
        ({"dtype": "INT8", "default": 5.0}, 5),
        ({"dtype": "FP32", "default": 0.1}, 0.10000000149011612),
        ({"dtype": "FP8E4M3", "default": 0.1}, 0.1015625),
        ({"dtype": "Bool", "default": True}, True),
        ({"dtype": "String", "default": "x"}, "x"),
        ({"dtype": "FP32Vector", "dim": 2, "default": [1, 2]}, (1.0, 2.0)),
        ({"dtype": "FP32Vector", "dim": 2, "default": 3}, (3.0, 3.0)),
        ({"dtype": "StringVector", "dim": 2, "default": "x"}, ("x", "x")),
        ({"dtype": "FP32"}, None),
    ],
)
def test_a_default_is_kept_in_the_features_own_type(feature: Any, default: Any) -> None:
    found = group_of({"a": feature}).features["a"].default
    assert found == default
    assert type(found) is type(default)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ([], "the schema: expected a mapping"),
        ({}, "entities: expected a mapping"),
        ({"entities": {}}, "entities: expected a mapping"),
        ({"entitys": {}}, "unknown key 'entitys' (nearest: 'entities')"),
        ({"entities": {1: {}}}, "name 1 is not text"),
        ({"entities": {"a:b": {}}}, "name 'a:b'"),
        ({"entities": {"e": {"keys": [], "groups": {}}}}, "entities.e.keys: expected a list"),
        (schema_of({}), "entities.e.groups.g.features: expected a mapping"),
        (schema_of([]), "at least one feature"),
        (schema_of(["a"]), "features.a: neither the feature nor its group says a dtype"),
        (schema_of(["a", "a"], dtype="FP32"), "features.a: the feature is listed twice"),
        (schema_of(["id"], dtype="FP32"), "features.id: a feature cannot have the name of a key"),
        (schema_of({"a": "FP23"}), "did you mean 'FP32'"),
        (schema_of({"a": {"dtyp": "FP32"}}), "unknown key 'dtyp' (nearest: 'dtype')"),
        (schema_of({"a": 7}), "features.a: expected a mapping"),
        (schema_of({"a": "FP32Vector"}), "FP32Vector needs a dim"),
        (schema_of({"a": {"dtype": "FP32Vector", "dim": 0}}), "needs a dim of 1 or more, not 0"),
        (schema_of({"a": {"dtype": "FP32", "dim": 4}}), "did you mean FP32Vector?"),
        (schema_of({"a": {"dtype": "INT8", "default": 300}}), "a.default: 300"),
        (schema_of({"a": {"dtype": "INT8", "default": "x"}}), "a.default: 'x'"),
        (
            schema_of({"a": {"dtype": "FP32Vector", "dim": 3, "default": [1]}}),
            "a.default: 1 elements",
        ),
        (schema_of(["a"], dtype="FP32", ttl="soon"), "ttl: 'soon' is not a time to live"),
        (schema_of(["a"], dtype="FP32", ttl=-1), "ttl: -1"),
        (schema_of(["a"], dtype="FP32", ttl=True), "ttl: True"),
        (schema_of(["a"], dtype="FP32", tll="1d"), "unknown key 'tll' (nearest: 'ttl')"),
    ],
)
def test_each_mistake_is_named_with_its_place(content: Any, said: str) -> None:
    assert any(said in problem for problem in problems(content)), problems(content)


def test_all_mistakes_are_told_at_once() -> None:
    content = schema_of({"a": "FP23", "b": {"default": 1}, "c": "FP32Vector"}, ttl="x")
    content["entities"]["f"] = {"keys": ["k", "k"], "groups": {"g": {"features": ["ok"]}}}
    found = problems(content)
    assert len(found) == 6, found


def test_a_wrong_group_type_is_told_once_not_once_per_feature() -> None:
    assert len(problems(schema_of(["a", "b", "c"], dtype="FP23"))) == 1


BASE = schema_of({"a": {"dtype": "FP32", "default": 1.0}, "b": "INT32"}, ttl="1d")


def changed(*path: str, to: Any) -> FeatureSchema:
    content = copy.deepcopy(BASE)
    place = content
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to
    return parse_schema(content)


def test_the_digest_changes_with_everything_that_matters_and_nothing_else() -> None:
    group = ("entities", "e", "groups", "g")
    variants = [
        changed("entities", "e", "keys", to=["id2"]),
        changed(*group, "ttl", to="2d"),
        changed(*group, "features", "b", to="INT64"),
        changed(*group, "features", "a", to={"dtype": "FP32", "default": 2.0}),
        changed(*group, "features", "c", to="FP32"),
    ]
    digests = {schema.digest for schema in variants} | {parse_schema(BASE).digest}
    assert len(digests) == len(variants) + 1
    respelt = changed(*group, "features", "b", to={"dtype": "DataTypeInt32"})
    assert respelt.digest == parse_schema(BASE).digest


def test_a_name_that_is_not_there_comes_with_the_nearest_one() -> None:
    schema = parse_schema(schema_of(["a"], dtype="FP32"))
    with pytest.raises(NotFound):
        schema.entity("x")
    with pytest.raises(NotFound):
        schema.group("e", "x")
