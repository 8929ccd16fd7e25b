"""The feature store as people look at it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

from inferflow.api.gateway.management.feature_shapes import FeatureSchemaDocument, FoundRows
from inferflow.app.backoffice.features import ShelfFeatures
from inferflow.engine.ports import FeatureReader
from inferflow.errors import InvalidInput, InvalidRequest, NotFound, RowRejected
from inferflow.featurestore import FeatureStore, MemoryBackend
from inferflow.featurestore.schema import parse_schema

T = TypeVar("T")
SCHEMA = parse_schema(
    {
        "entities": {
            "pair": {
                "keys": ["user_id", "item_id"],
                "groups": {
                    "fresh": {
                        "ttl": "10s",
                        "features": {
                            "n": {"dtype": "INT32", "default": 5},
                            "v": {"dtype": "FP16Vector", "dim": 2},
                            "name": {"dtype": "String"},
                            "price": {"dtype": "FP32"},
                        },
                    },
                    "slow": {"features": {"is": {"dtype": "Bool"}}},
                },
            }
        }
    }
)


class Shelf:
    kind = "memory"

    def __init__(self) -> None:
        self.now_s = 1000.0
        self.refuses = ""
        self._store = FeatureStore(SCHEMA, MemoryBackend(), now=lambda: self.now_s)

    def store(self) -> FeatureStore:
        return self._store

    def reader(self, store: FeatureStore) -> FeatureReader:
        return store

    def refuse_writing(self) -> None:
        if self.refuses:
            raise InvalidInput(self.refuses)


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
def features(shelf: Shelf) -> ShelfFeatures:
    return ShelfFeatures(shelf)


def done(asking: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asking)


def put(features: ShelfFeatures, *key: str, **values: Any) -> int:
    return done(features.put("pair", "fresh", [{"key": list(key), "values": values}]))


def found(features: ShelfFeatures, *key: Any, groups: tuple[str, ...] = ("fresh",)) -> Any:
    (row,) = done(features.lookup("pair", [list(key)], groups))
    return row["groups"]


def test_the_schema_has_everything_that_was_declared(features: ShelfFeatures) -> None:
    told = done(features.schema())
    FeatureSchemaDocument.model_validate(told)
    (entity,) = told["entities"]
    assert (entity["name"], entity["keys"], told["backend"]) == (
        "pair",
        ["user_id", "item_id"],
        "memory",
    )
    fresh = entity["groups"][0]
    assert (fresh["name"], fresh["ttl_s"]) == ("fresh", 10.0)
    assert fresh["features"][:2] == [
        {"name": "n", "dtype": "Int32", "default": 5, "dim": None},
        {"name": "v", "dtype": "FP16Vector", "default": None, "dim": 2},
    ]


def test_a_key_is_told_with_values_states_and_times(features: ShelfFeatures) -> None:
    assert put(features, "1", "2", n=7, v=[0.5, 1.5], name="ann", price=41.02) == 1
    rows = done(features.lookup("pair", [["1", "2"], [1, 2], ["1", "3"]], []))
    FoundRows.model_validate({"rows": rows})
    assert [row["key"] for row in rows] == [["1", "2"], ["1", "2"], ["1", "3"]]
    assert rows[0] == rows[1]
    assert rows[0]["groups"]["fresh"] == {
        "state": "real",
        "written_ms": 1_000_000,
        "expires_ms": 1_010_000,
        "values": {
            "n": {"value": 7, "state": "real"},
            "v": {"value": [0.5, 1.5], "state": "real"},
            "name": {"value": "ann", "state": "real"},
            "price": {"value": 41.02, "state": "real"},
        },
    }
    missing = rows[2]["groups"]
    assert (missing["fresh"]["state"], missing["slow"]["state"]) == ("missing", "missing")
    assert missing["fresh"]["written_ms"] is None
    assert missing["fresh"]["values"]["n"] == {"value": 5, "state": "missing"}
    assert missing["fresh"]["values"]["name"] == {"value": None, "state": "missing"}


def test_a_row_that_lacks_something_is_partial_and_one_past_its_time_expired(
    shelf: Shelf, features: ShelfFeatures
) -> None:
    put(features, "1", "2", n=7)
    told = found(features, "1", "2")["fresh"]
    assert (told["state"], told["values"]["name"]) == (
        "partial",
        {"value": None, "state": "default"},
    )
    shelf.now_s += 11
    told = found(features, "1", "2")["fresh"]
    assert (told["state"], told["written_ms"]) == ("expired", 1_000_000)
    assert told["values"]["n"] == {"value": 5, "state": "expired"}


def test_rows_are_written_all_or_none(features: ShelfFeatures) -> None:
    good, bad = {"key": ["1", "2"], "values": {"n": 1}}, {"key": ["1", "3"], "values": {"n": "x"}}
    with pytest.raises(RowRejected, match="row 2"):
        done(features.put("pair", "fresh", [good, bad]))
    assert found(features, "1", "2")["fresh"]["state"] == "missing"


def test_what_does_not_fit_names_its_place(features: ShelfFeatures) -> None:
    with pytest.raises(InvalidRequest, match=r"keys\[1\]: a key of 'pair' has user_id, item_id"):
        done(features.lookup("pair", [["1", "2"], ["1"]], []))
    with pytest.raises(InvalidRequest, match=r"keys\[0\]"):
        done(features.lookup("pair", [["1", None]], []))
    with pytest.raises(InvalidRequest, match=r"rows\[0\].values.user_id: is part of the key"):
        put(features, "1", "2", user_id="3")
    with pytest.raises(NotFound, match="did you mean 'fresh'"):
        done(features.lookup("pair", [["1", "2"]], ["fres"]))
    with pytest.raises(NotFound):
        done(features.put("pair", "fast", [{"key": ["1", "2"], "values": {"n": 1}}]))
    with pytest.raises(NotFound):
        done(features.lookup("pear", [["1"]], []))


def test_a_store_that_is_somebody_elses_is_not_written(
    shelf: Shelf, features: ShelfFeatures
) -> None:
    shelf.refuses = "features are kept by 127.0.0.1:1; write them there"
    with pytest.raises(InvalidInput, match="write them there"):
        put(features, "1", "2", n=1)
