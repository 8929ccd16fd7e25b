"""Writing features over the wire."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import grpc
import pytest

from inferflow.dtypes import DTYPES
from inferflow.engine.ports import ReadState
from inferflow.featurestore import FeatureStore, MemoryBackend, parse_schema

from .calls import called, writing

FEATURES: dict[str, object] = {
    dtype.name: {"dtype": dtype.name, **({"dim": 2} if dtype.is_vector else {})}
    for dtype in DTYPES.values()
}
SCHEMA = {
    "entities": {
        "item": {
            "keys": ["id"],
            "groups": {
                "all": {"features": FEATURES},
                "pair": {"dtype": "Int32", "features": ["a", "b"]},
            },
        },
        "two": {"keys": ["x", "y"], "groups": {"g": {"features": {"f": "FP32"}}}},
    }
}
LIST = {
    "FP64": "fp64_values",
    "Int64": "int64_values",
    "Uint64": "uint64_values",
    "String": "string_values",
    "Bool": "bool_values",
    **dict.fromkeys(["FP8E5M2", "FP8E4M3", "FP16", "FP32"], "fp32_values"),
    **dict.fromkeys(["Int8", "Int16", "Int32"], "int32_values"),
    **dict.fromkeys(["Uint8", "Uint16", "Uint32"], "uint32_values"),
}
Rows = Sequence[tuple[Sequence[str], Sequence[Mapping[str, Any]]]]


@pytest.fixture
def store() -> FeatureStore:
    return FeatureStore(parse_schema(SCHEMA), MemoryBackend())


def stored(store: FeatureStore, key: str = "1") -> dict[str, object]:
    return {
        each.feature: each.value for each in store.get("item", key) if each.state is ReadState.REAL
    }


def persisted(store: FeatureStore, asked: Any) -> str:
    message: str = called(store, lambda caller: caller.persist(asked)).message
    return message


def refusal(store: FeatureStore, asked: Any) -> tuple[str, str]:
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        persisted(store, asked)
    return failed.value.code().name, failed.value.details() or ""


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_each_type_is_taken_from_its_own_list(store: FeatureStore, dtype: Any) -> None:
    one: object = "x" if dtype.is_text else True if dtype.is_bool else 3
    lists: dict[str, Any] = {LIST[dtype.element.name]: [one] * (2 if dtype.is_vector else 1)}
    values = {"vector": [lists]} if dtype.is_vector else lists
    asked = writing("item", [("all", [dtype.name])], [(["1"], [values])])
    assert persisted(store, asked) == "1 row(s) written"
    assert stored(store) == {dtype.name: [one, one] if dtype.is_vector else one}


@pytest.mark.parametrize("name", ["fp32_values", "fp64_values", "int32_values", "int64_values"])
def test_another_list_of_numbers_will_do_when_it_is_the_only_one(
    store: FeatureStore, name: str
) -> None:
    for feature in ("FP32", "FP64", "Int8", "Uint64"):
        asked = writing("item", [("all", [feature])], [(["1"], [{name: [7]}])])
        assert persisted(store, asked) == "1 row(s) written"
    assert stored(store) == {"FP32": 7.0, "FP64": 7.0, "Int8": 7, "Uint64": 7}


def test_features_that_are_not_named_keep_their_values(store: FeatureStore) -> None:
    store.put("item", "pair", [{"id": "1", "a": 1, "b": 2}])
    persisted(store, writing("item", [("pair", ["b"])], [(["1"], [{"int32_values": [5]}])]))
    assert stored(store) == {"a": 1, "b": 5}


def test_a_group_may_be_named_once_per_list(store: FeatureStore) -> None:
    groups = [("all", ["FP32", "FP16"]), ("all", ["String"]), ("all", ["FP32Vector"])]
    values = [
        {"fp32_values": [1.5, 2.5]},
        {"string_values": ["x"]},
        {"vector": [{"fp32_values": [1, 2]}]},
    ]
    persisted(store, writing("item", groups, [(["1"], values)]))
    assert stored(store) == {"FP32": 1.5, "FP16": 2.5, "String": "x", "FP32Vector": [1.0, 2.0]}


def test_of_equal_keys_the_last_counts_and_keys_come_in_any_order(store: FeatureStore) -> None:
    rows: Rows = [
        (["b", "a"], [{"fp32_values": [1]}]),
        (["b", "a"], [{"fp32_values": [2]}]),
    ]
    asked = writing("two", [("g", ["f"])], rows, names=("y", "x"))
    assert persisted(store, asked) == "1 row(s) written"
    (found,) = store.get("two", {"x": "a", "y": "b"})
    assert found.value == 2.0


def test_no_rows_are_no_error(store: FeatureStore) -> None:
    assert persisted(store, writing("item", [("pair", ["a"])], [])) == "0 row(s) written"


def test_every_row_that_does_not_fit_is_named_and_nothing_is_written(store: FeatureStore) -> None:
    rows: Rows = [
        (["1"], [{"int32_values": [1, 2]}]),
        (["2"], [{"int32_values": [1]}]),
        ([""], [{"int32_values": [1, 2]}]),
        (["4"], [{"fp64_values": [1.0, 2.5]}]),
        (["5"], [{"int64_values": [2**31, 0]}]),
        (["6", "7"], [{"int32_values": [1, 2]}]),
        (["8"], []),
        (["9"], [{"string_values": ["1", "2"]}]),
        (["10"], [{"fp32_values": [1, 2], "int64_values": [1, 2]}]),
        (["11"], [{"int32_values": [3, 4]}]),
    ]
    code, text = refusal(store, writing("item", [("pair", ["a", "b"])], rows))
    assert code == "INVALID_ARGUMENT"
    assert "8 of 10 row(s) do not fit, and nothing was written" in text
    for what in (
        "data[1]: group 'pair': 1 int32_values where 2 int32_values are wanted",
        "data[2]: a key cannot be empty",
        "data[3]: feature 'b': 2.5 has no form in Int32",
        "data[4]: feature 'a': 2147483648 has no form in Int32",
        "data[5]: 2 key value(s) where there are id",
        "data[6]: 0 feature_values for 1 groups",
        "data[7]: group 'pair': 2 string_values where",
        "data[8]: group 'pair': 2 fp32_values, 2 int64_values where",
    ):
        assert what in text
    assert stored(store) == {}
    assert stored(store, "11") == {}


@pytest.mark.parametrize(
    ("groups", "code", "what"),
    [
        ([("pair", ["c"])], "NOT_FOUND", "no feature in 'pair' 'c'"),
        ([("par", ["a"])], "NOT_FOUND", "did you mean 'pair'"),
        ([("pair", [])], "INVALID_ARGUMENT", "names no feature"),
        ([("pair", ["a", "a"])], "INVALID_ARGUMENT", "'pair:a' is named twice"),
        ([("pair", ["a"]), ("pair", ["a"])], "INVALID_ARGUMENT", "'pair:a' is named twice"),
        ([("all", ["FP32", "FP32Vector"])], "INVALID_ARGUMENT", "mixes vectors"),
        ([], "INVALID_ARGUMENT", "no group to write"),
    ],
)
def test_what_the_schema_does_not_have_is_refused(
    store: FeatureStore, groups: Sequence[tuple[str, Sequence[str]]], code: str, what: str
) -> None:
    found, text = refusal(store, writing("item", groups, [(["1"], [{"int32_values": [1]}])]))
    assert (found, what in text) == (code, True), text


def test_a_vector_of_another_length_is_refused(store: FeatureStore) -> None:
    asked = writing(
        "item", [("all", ["FP32Vector"])], [(["1"], [{"vector": [{"fp32_values": [1, 2, 3]}]}])]
    )
    code, text = refusal(store, asked)
    assert code == "INVALID_ARGUMENT"
    assert "3 fp32_values where 2 fp32_values are wanted" in text


def test_a_float_too_large_for_its_type_is_refused(store: FeatureStore) -> None:
    asked = writing("item", [("all", ["FP16"])], [(["1"], [{"fp32_values": [1e6]}])])
    assert "has no form in FP16" in refusal(store, asked)[1]
