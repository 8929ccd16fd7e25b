"""Requests in their JSON form, and the ids of their entities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.engine.limits import Limits
from inferflow.engine.request import KeyTexts, entity_ids, request_from
from inferflow.errors import InvalidRequest

from .worlds import World
from .writing import config, feature_step, request

LIMITS = Limits(targets=5, id_bytes=8)


def ids(given_ids: Any) -> list[str]:
    return entity_ids("product", given_ids, LIMITS)


def refused_ids(given_ids: Any) -> InvalidRequest:
    with pytest.raises(InvalidRequest) as refused:
        ids(given_ids)
    return refused.value


# --- ids ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given_ids", "texts"),
    [
        ("7", ["7"]),
        (7, ["7"]),
        (7.0, ["7"]),
        (np.int64(7), ["7"]),
        (np.array(7), ["7"]),
        (b"7", ["7"]),
        (True, ["true"]),
        (["1", 2, 3.0, b"4"], ["1", "2", "3", "4"]),
        (("1", "2"), ["1", "2"]),
        (np.array([1, 2], np.int32), ["1", "2"]),
        (np.array(["a", "b"]), ["a", "b"]),
        (["é", "日本"], ["é", "日本"]),
        (["same", "same"], ["same", "same"]),
        (["a\x00b"], ["a\x00b"]),
    ],
)
def test_every_spelling_of_an_id_has_one_text(given_ids: Any, texts: list[str]) -> None:
    found = ids(given_ids)
    assert found == texts
    assert {type(each) for each in found} == {str}


@pytest.mark.parametrize(
    ("given_ids", "field"),
    [
        ([], "entities.product"),
        (np.array([]), "entities.product"),
        ({"id": "7"}, "entities.product"),
        ("", "entities.product[0]"),
        (None, "entities.product[0]"),
        ({"1", "2"}, "entities.product[0]"),
        (["1", ""], "entities.product[1]"),
        (["1", None], "entities.product[1]"),
        (["1", "2", float("nan")], "entities.product[2]"),
        (["1", float("inf")], "entities.product[1]"),
        (["1", ["2"]], "entities.product[1]"),
        (["1", "\ud800"], "entities.product[1]"),
        (["1", b"\xff"], "entities.product[1]"),
        (["1", "123456789"], "entities.product[1]"),
        (["1", "ééééé"], "entities.product[1]"),
        (["1"] * 6, "entities.product"),
    ],
)
def test_an_id_that_cannot_be_names_its_place(given_ids: Any, field: str) -> None:
    assert refused_ids(given_ids).field == field


def test_limits_are_named_when_they_are_exceeded() -> None:
    assert "max_targets=5" in refused_ids(["1"] * 6).what
    assert "max_id_bytes=8" in refused_ids(["123456789"]).what


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=2), min_size=1))
def test_texts_are_their_own_keys(texts: list[str]) -> None:
    assert ids(texts[:5]) == texts[:5]


def test_an_answer_does_not_change_with_the_list_it_was_asked_for() -> None:
    given_ids = ["1", "2"]
    found = ids(given_ids)
    given_ids.append("3")
    assert found == ["1", "2"]


@pytest.fixture
def world() -> World:
    return World().table("product", "attrs", {"price": "FP32"}, {"1": {"price": 1.0}})


@pytest.fixture
def plain() -> dict[str, Any]:
    step = feature_step("product", {"product_id": "product_id"}, {"attrs": ["price"]})
    return config(["product:attrs:price"], features={"fs": step})


def test_every_entity_has_one_id_or_as_many_as_there_are_targets(
    world: World, plain: dict[str, Any]
) -> None:
    scorer = world.scorer(plain)
    for entities in (
        {"user": "u", "product": ["1", "2", "3"]},
        {"product": ["1", "2", "3"], "user": ["u"]},
        {"user": ["a", "b", "c"], "product": "1"},
    ):
        assert len(scorer.score_now(request(entities=entities))) == 3
    with pytest.raises(InvalidRequest) as refused:
        scorer.score_now(request(entities={"product": ["1", "2", "3"], "user": ["a", "b"]}))
    assert refused.value.field == "entities.user"
    assert "has 2 ids while 'product' has 3" in refused.value.what


def test_a_request_names_an_entity(world: World, plain: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest, match="names no entity"):
        world.scorer(plain).score_now(request(entities={}))


@pytest.mark.parametrize(
    ("parts", "field"),
    [
        ({"entities": ["1"]}, "entities"),
        ({"context": [1]}, "context"),
        ({"features": [1]}, "features"),
        ({"features": {"product": [1, 2]}}, "features.product"),
        ({"features": {"product": None}}, "features.product"),
        ({"slate_features": 5}, "slate_features"),
        ({"context": {1: 2}}, "1"),
        ({"deadline_ms": "soon"}, "deadline_ms"),
        ({"deadline_ms": True}, "deadline_ms"),
        ({"deadline_ms": float("nan")}, "deadline_ms"),
        ({"slate_features": {"gap": [1]}}, "slate_features"),
        ({"pairs": [[0, 0]], "slates": [[0]]}, "slates"),
        ({"pairs": [[0, 0]]}, "pairs"),
    ],
)
def test_a_part_of_the_wrong_shape_is_refused_by_name(
    world: World, plain: dict[str, Any], parts: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        world.scorer(plain).score_now(request(**parts))
    assert refused.value.field == field


def test_too_many_features_name_the_limit(world: World, plain: dict[str, Any]) -> None:
    scorer = world.scorer(plain, limits=Limits(features=3))
    with pytest.raises(InvalidRequest, match="features=3"):
        scorer.score_now(request(context={"a": 1, "b": 2}, features={"product": {"c": 1, "d": 1}}))


# --- the JSON form ------------------------------------------------------------------------------

WHOLE: dict[str, Any] = {
    "model_config_id": "ranker",
    "tracking_id": "t-1",
    "user_id": "u-1",
    "entities": {"user": "7", "product": ["1", "2"]},
    "context": {"hour": 13},
    "features": {"product": {"boost": [1, 2]}},
    "pairs": [[0, 1]],
    "pair_features": {"gap": [1.0]},
    "deadline_ms": 50,
}


def test_the_json_form_says_everything_a_request_can_say() -> None:
    found = request_from({**WHOLE, "expect": {}, "tolerance": 1e-5})
    assert found.config_id == "ranker"
    assert (found.tracking_id, found.user_id) == ("t-1", "u-1")
    assert found.entities == WHOLE["entities"]
    assert found.context == {"hour": 13}
    assert found.features == WHOLE["features"]
    assert (found.pairs, found.slates) == ([[0, 1]], None)
    assert found.slate_features == {"gap": [1.0]}
    assert found.deadline_ms == 50


def test_a_number_may_be_a_tracking_id() -> None:
    assert request_from({**WHOLE, "tracking_id": 5}).tracking_id == "5"


def test_the_config_may_be_named_by_the_caller() -> None:
    rest = {key: value for key, value in WHOLE.items() if key != "model_config_id"}
    assert request_from(rest, config_id="other").config_id == "other"
    with pytest.raises(InvalidRequest) as refused:
        request_from(rest)
    assert refused.value.field == "model_config_id"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"entitys": {}}, "entitys"),
        ({"entities": []}, "entities"),
        ({"context": None}, "context"),
        ({"features": 5}, "features"),
        ({"pairs": "0,1"}, "pairs"),
        ({"slates": {}}, "slates"),
        ({"slate_features": {}}, "slate_features"),
        ({"tracking_id": None}, "tracking_id"),
        ({"user_id": ["u"]}, "user_id"),
        ({"model_config_id": {}}, "model_config_id"),
    ],
)
def test_a_document_that_is_no_request_names_the_field(change: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        request_from({**WHOLE, **change})
    assert refused.value.field == field


def test_an_unknown_field_is_answered_with_the_nearest() -> None:
    with pytest.raises(InvalidRequest) as refused:
        request_from({**WHOLE, "entitys": {}})
    assert "'entities'" in refused.value.hint


@pytest.mark.parametrize("document", [None, [], "ranker", 5])
def test_a_request_is_an_object(document: Any) -> None:
    with pytest.raises(InvalidRequest, match="an object is wanted"):
        request_from(document)


def test_a_request_for_another_config_than_the_one_asked_for_is_refused() -> None:
    document = {"model_config_id": "ranker", "entities": {"product": ["1"]}}
    assert request_from(document, config_id="ranker").config_id == "ranker"
    with pytest.raises(InvalidRequest, match="model_config_id: is 'ranker', and 'home' was asked"):
        request_from(document, config_id="home")


def test_ids_that_were_checked_are_taken_as_they_are() -> None:
    ids = KeyTexts(["1", "ü"])
    assert entity_ids("product", ids, Limits()) is ids
