"""A store that can be looked at and not changed."""

from __future__ import annotations

import pytest

from inferflow.errors import InvalidInput
from inferflow.featurestore import FeatureStore, MemoryBackend
from inferflow.featurestore.readonly import read_only_store
from inferflow.featurestore.schema import parse_schema

SCHEMA = parse_schema(
    {"entities": {"user": {"keys": ["user_id"], "groups": {"p": {"features": {"age": "INT32"}}}}}}
)


@pytest.fixture
def store() -> FeatureStore:
    store = FeatureStore(SCHEMA, MemoryBackend())
    store.put("user", "p", [{"user_id": "7", "age": 30}])
    return store


def test_it_reads_what_the_store_holds_now(store: FeatureStore) -> None:
    view = read_only_store(store)
    store.put("user", "p", [{"user_id": "7", "age": 31}])
    assert view.get("user", "7")[0].value == 31
    assert [page.keys for page in view.scan("user", "p")] == [(["7"],)]


def test_every_write_is_refused_and_changes_nothing(store: FeatureStore) -> None:
    view, before = read_only_store(store), list(store.backend.scan(b""))
    with pytest.raises(InvalidInput, match="for reading"):
        view.put("user", "p", [{"user_id": "7", "age": 1}])
    with pytest.raises(InvalidInput, match="for reading"):
        view.put("user", "p", [{"user_id": "8", "age": None}])
    with pytest.raises(InvalidInput, match="for reading"):
        view.delete("user", "7")
    view.backend.close()
    assert list(store.backend.scan(b"")) == before


def test_under_a_schema_the_store_has_never_seen_it_is_refused(store: FeatureStore) -> None:
    grown = parse_schema(
        {"entities": {"user": {"keys": ["user_id"], "groups": {"q": {"features": {"x": "FP32"}}}}}}
    )
    with pytest.raises(InvalidInput, match="for reading"):
        read_only_store(store).with_schema(grown)
