"""The compiler answers anything: with a plan or with problems, never with an exception."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import AliasChoices

from inferflow.plan.compiler import compile_config
from inferflow.plan.schema import Doc


def all_keys() -> set[str]:
    """Every key that means something somewhere in a config."""
    keys: set[str] = set()
    pending: list[type[Doc]] = [Doc]
    while pending:
        doc = pending.pop()
        pending.extend(doc.__subclasses__())
        for name, field in doc.model_fields.items():
            alias = field.validation_alias
            keys.update(map(str, alias.choices) if isinstance(alias, AliasChoices) else [name])
    return keys


WORDS = st.sampled_from(
    [*sorted(all_keys()), "fs_user", "ranker", "feature_initializer", "user:profile:age", "FP32"]
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 300)
    | st.floats()
    | st.sampled_from(["", "a:b:c", "x@FP32", "@", "0ms", "local:", "local:@"])
    | WORDS
    | st.text(max_size=5)
)
JSONISH = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(WORDS | st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


def places(document: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place of a document, as the keys that lead there."""
    yield at
    items = (
        document.items()
        if isinstance(document, dict)
        else enumerate(document)
        if isinstance(document, list)
        else ()
    )
    for key, value in items:
        yield from places(value, (*at, key))


def put(document: Any, place: tuple[Any, ...], value: Any) -> Any:
    if not place:
        return value
    changed = copy.copy(document)
    changed[place[0]] = put(document[place[0]], place[1:], value)
    return changed


def test_there_are_keys_to_play_with() -> None:
    assert {"component_dependency", "featureGroups", "score_columns", "FSKeys"} <= all_keys()


@given(JSONISH)
def test_any_document_is_answered(shop_catalog: Any, document: Any) -> None:
    compiled = compile_config("x", document, shop_catalog)
    assert (compiled.plan is None) == bool(compiled.errors)


@given(st.data())
@settings(max_examples=300)
def test_a_good_config_with_anything_anywhere_is_answered(
    shop_document: Any, shop_catalog: Any, data: st.DataObject
) -> None:
    document = shop_document
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.sampled_from(list(places(document))))
        document = put(document, place, data.draw(JSONISH))
    compiled = compile_config("x", document, shop_catalog)
    assert (compiled.plan is None) == bool(compiled.errors)
    for problem in compiled.problems:
        assert problem.where
        assert problem.what


@given(st.data())
def test_a_good_config_with_something_left_out_is_answered(
    shop_document: Any, shop_catalog: Any, data: st.DataObject
) -> None:
    place = data.draw(st.sampled_from([place for place in places(shop_document) if place]))
    document = copy.deepcopy(shop_document)
    parent = document
    for key in place[:-1]:
        parent = parent[key]
    del parent[place[-1]]
    compiled = compile_config("x", document, shop_catalog)
    assert (compiled.plan is None) == bool(compiled.errors)


def test_nesting_beyond_reason_is_answered(shop: Any) -> None:
    deep: Any = {}
    for _ in range(100_000):
        deep = {"a": deep}
    shop["ranker"]["unheard_of"] = deep
    shop.response["features"] = deep
    assert len(shop.errors()) == 2
