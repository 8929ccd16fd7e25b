"""Which part of a request fills which column, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from inferflow.engine.binding import CACHE_SIZE, Binder, Binding
from inferflow.errors import InvalidRequest

from .worlds import World, row_model
from .writing import compute_step, config, feature_step, model_step, request


@pytest.fixture
def world() -> World:
    world = World(expressions={"echo": {"infix": "x + 0"}})
    world.table("user", "profile", {"age": "INT32"}, {"7": {"age": 30}})
    world.models["one"] = row_model(lambda x: [[x[0]]])
    world.models["slates"] = row_model(lambda x: [[x[0]]], width=None)
    return world


def keyed_by(column: str) -> dict[str, Any]:
    step = feature_step("user", {"user_id": column}, {"profile": ["age"]})
    return config(["user:profile:age"], features={"fs": step})


def reading(column: str, **use: Any) -> dict[str, Any]:
    step = model_step("one", {column: {"dtype": "FP32", **use}})
    return config(["m:score"], models={"m": step})


def bound(world: World, written: dict[str, Any], **parts: Any) -> Binding:
    return Binder(world.plan(written)).bind(request(**parts))


def refusal(world: World, written: dict[str, Any], **parts: Any) -> InvalidRequest:
    with pytest.raises(InvalidRequest) as refused:
        bound(world, written, **parts)
    return refused.value


def origin(world: World, written: dict[str, Any], **parts: Any) -> tuple[str, str]:
    """Where the one request column comes from, and by which rule."""
    [(_, found)] = bound(world, written, **parts).targets
    return str(found), found.rule


# --- key columns --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "parts", "where", "rule"),
    [
        ("user_id", {"entities": {"user_id": "7"}}, "entities.user_id", "exact name"),
        ("user", {"entities": {"user": "7"}}, "entities.user", "exact name"),
        ("context:user", {"entities": {"user": "7"}}, "entities.user", "name without context:"),
        (
            "context:user_id",
            {"entities": {"product": "1"}, "context": {"user_id": "7"}},
            "context.user_id",
            "name without context:",
        ),
        (
            "context:user:user_id",
            {"entities": {"user": "7"}},
            "entities.user",
            "entity of its first segment",
        ),
        (
            "context:customer:user_id",
            {"entities": {"user_id": "7"}},
            "entities.user_id",
            "last segment",
        ),
        (
            "context:customer:user_id",
            {"entities": {"product": "1"}, "context": {"user_id": "7"}},
            "context.user_id",
            "last segment",
        ),
        ("user_id", {"entities": {"user": "7"}}, "entities.user", "entity of its _id name"),
        (
            "buyer",
            {"entities": {"product": "1"}, "features": {"product": {"buyer": ["7"]}}},
            "features.product.buyer",
            "exact name",
        ),
    ],
)
def test_a_key_column_is_found_by_its_name_or_a_reading_of_it(
    world: World, column: str, parts: dict[str, Any], where: str, rule: str
) -> None:
    assert origin(world, keyed_by(column), **parts) == (where, rule)


def test_the_exact_name_wins_over_every_other_reading(world: World) -> None:
    entities = {"context:user:user_id": "7", "user": "8", "user_id": "9"}
    found, rule = origin(world, keyed_by("context:user:user_id"), entities=entities)
    assert (found, rule) == ("entities.context:user:user_id", "exact name")


@pytest.mark.parametrize(
    "entities",
    [
        {"customer": "1", "user_id": "2"},
        {"customer": "1", "user": "2"},
        {"user_id": "1", "user": "2", "x": "3"},
    ],
)
def test_two_readings_that_disagree_are_refused(world: World, entities: dict[str, str]) -> None:
    refused = refusal(world, keyed_by("context:customer:user_id"), entities=entities)
    assert refused.field == "context:customer:user_id"
    assert "both fit this key column" in refused.what
    assert "name one of them" in refused.hint


def test_two_readings_that_agree_are_one(world: World) -> None:
    entities = {"user": "7"}
    found, _ = origin(world, keyed_by("context:user:user_id"), entities=entities)
    assert found == "entities.user"


def test_a_missing_key_names_the_nearest_entity(world: World) -> None:
    refused = refusal(world, keyed_by("user_id"), entities={"user_idd": "7"})
    assert refused.field == "entities"
    assert "'user_id'" in refused.what
    assert "fs.fs_keys" in refused.what
    assert "'user_idd'" in refused.hint


def test_a_missing_key_with_nothing_near_lists_what_there_is(world: World) -> None:
    refused = refusal(world, keyed_by("user_id"), entities={"product": "7", "basket": "8"})
    assert "['basket', 'product']" in refused.hint


# --- values -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "parts", "where"),
    [
        ("hour", {"context": {"hour": 1}}, "context.hour"),
        ("context:hour", {"context": {"hour": 1}}, "context.hour"),
        ("context:hour", {"context": {"context:hour": 1}}, "context.context:hour"),
        ("context:shop:hour", {"context": {"hour": 1}}, "context.hour"),
        ("boost", {"features": {"product": {"boost": [1]}}}, "features.product.boost"),
        ("product:boost", {"features": {"product": {"boost": [1]}}}, "features.product.boost"),
        ("context:boost", {"features": {"product": {"boost": [1]}}}, "features.product.boost"),
        ("product", {"entities": {"product": ["1"]}}, "entities.product"),
    ],
)
def test_a_value_is_found_in_context_features_or_ids(
    world: World, column: str, parts: dict[str, Any], where: str
) -> None:
    found, _ = origin(world, reading(column), **parts)
    assert found == where


def test_a_value_nobody_gives_names_the_nearest_and_its_reader(world: World) -> None:
    refused = refusal(world, reading("hour"), context={"huor": 1})
    assert refused.field == "context"
    assert "'hour' is not given" in refused.what
    assert "m.inputs.feature_map" in refused.what
    assert "'huor'" in refused.hint


def test_a_default_of_the_config_stands_in(world: World) -> None:
    written = reading("hour", default=12)
    assert origin(world, written)[1] == "default of the config"
    assert world.scorer(written).score_now(request())["m:score"].tolist() == [12]
    given = world.scorer(written).score_now(request(context={"hour": 3}))
    assert given["m:score"].tolist() == [3]


@pytest.mark.parametrize(
    "parts",
    [
        {"context": {"hour": 1}, "features": {"product": {"hour": [1]}}},
        {"features": {"product": {"hour": [1]}, "user": {"hour": [2]}}},
        {"features": {"a": {"b:hour": [1]}, "a:b": {"hour": [2]}}},
        {"features": {"x": {"a:hour": [1]}, "a": {"hour": [2]}}},
        {"entities": {"hour": "1"}, "context": {"hour": 2}},
        {"entities": {"hour": "1"}, "features": {"hour": {"hour": [2]}}},
    ],
)
def test_one_name_given_twice_is_refused(world: World, parts: dict[str, Any]) -> None:
    refused = refusal(world, reading("hour"), **parts)
    assert "given as" in refused.what or "has the name of entity" in refused.what


def test_what_no_column_asks_for_is_recorded(world: World) -> None:
    found = bound(
        world,
        reading("hour"),
        entities={"product": "1", "basket": "2"},
        context={"hour": 1, "day": 2},
        features={"product": {"boost": [1]}},
    )
    assert set(found.unused) == {
        "entities.product",
        "entities.basket",
        "context.day",
        "features.product.boost",
    }


def test_an_unused_feature_of_an_entity_the_request_does_not_have_is_refused(world: World) -> None:
    refused = refusal(
        world,
        reading("hour"),
        entities={"product": "1"},
        context={"hour": 1},
        features={"prodct": {"boost": [1]}},
    )
    assert refused.field == "features.prodct.boost"
    assert "'product'" in refused.hint


def test_a_score_cannot_be_given(world: World) -> None:
    refused = refusal(world, reading("hour"), context={"hour": 1, "m:score": 2})
    assert refused.field == "context.m:score"
    assert "computed by 'm'" in refused.what


def test_the_bare_name_of_a_score_is_free_for_the_request(world: World) -> None:
    found = bound(world, reading("hour"), context={"hour": 1, "score": 2})
    assert "context.score" in found.unused


# --- features the request brings ----------------------------------------------------------------


@pytest.mark.parametrize(
    "parts",
    [
        {"context": {"user:profile:age": 40}},
        {"context": {"fs:profile:age": 40}},
        {"features": {"user": {"profile:age": [40]}}},
        {"features": {"product": {"user:profile:age": [40]}}},
    ],
)
def test_a_feature_may_be_given_by_any_of_its_names(world: World, parts: dict[str, Any]) -> None:
    found = bound(world, keyed_by("user_id"), entities={"user": "7"}, **parts)
    [(column, _)] = found.pins["fs"]
    assert column.name == "user:profile:age"
    assert found.unused == ()
    scores = world.scorer(keyed_by("user_id")).score_now(request(entities={"user": "7"}, **parts))
    assert scores["user:profile:age"].tolist() == [40]


# --- pairs and slates ---------------------------------------------------------------------------


@pytest.fixture
def paired() -> dict[str, Any]:
    step = model_step("slates", {"price": "FP32", "gap": "FP32"}, slate_component=True)
    return config(["pm:score"], models={"pm": step})


def test_a_slate_column_is_looked_for_at_the_slate_first(
    world: World, paired: dict[str, Any]
) -> None:
    found = bound(
        world,
        paired,
        entities={"product": ["1", "2"]},
        features={"product": {"price": [1, 2]}},
        context={"gap": 5},
        pairs=[[0, 1]],
        slate_features={"gap": [7]},
    )
    assert [str(o) for _, o in found.slates] == ["pair_features.gap"]
    assert {str(o) for _, o in found.targets} == {"features.product.price", "context.gap"}


def test_context_holds_for_a_slate_too(world: World, paired: dict[str, Any]) -> None:
    found = bound(
        world,
        paired,
        features={"product": {"price": [1]}},
        context={"gap": 5},
        slates=[[0]],
    )
    assert [str(o) for _, o in found.slates] == ["context.gap"]


def test_a_slate_column_given_nowhere_is_refused(world: World, paired: dict[str, Any]) -> None:
    refused = refusal(world, paired, features={"product": {"price": [1]}}, pairs=[[0, 0]])
    assert "'gap' is not given" in refused.what
    assert "pair_features" in refused.hint


def test_a_misspelt_slate_column_is_named(world: World, paired: dict[str, Any]) -> None:
    refused = refusal(
        world,
        paired,
        features={"product": {"price": [1]}},
        pairs=[[0, 0]],
        slate_features={"gpa": [1]},
    )
    assert "'gpa'" in refused.hint


def test_without_slates_nothing_is_asked_for_their_sake(
    world: World, paired: dict[str, Any]
) -> None:
    assert bound(world, paired).targets == ()
    scores = world.scorer(paired).score_now(request())
    assert scores.groups is None


def test_a_column_the_response_lists_must_be_given_per_target(world: World) -> None:
    step = model_step("slates", {"price": "FP32", "gap": "FP32"}, slate_component=True)
    written = config(["gap", "pm:score"], models={"pm": step})
    refused = refusal(
        world,
        written,
        features={"product": {"price": [1]}},
        pairs=[[0, 0]],
        slate_features={"gap": [7]},
    )
    assert "'gap' is not given" in refused.what


def test_per_target_steps_do_not_take_slate_values(world: World) -> None:
    written = config(
        ["m:score", "pm:score"],
        models={
            "m": model_step("one", {"gap": "FP32"}),
            "pm": model_step("slates", {"gap": "FP32"}, slate_component=True),
        },
    )
    refused = refusal(world, written, pairs=[[0, 0]], slate_features={"gap": [7]})
    assert "'gap' is not given" in refused.what


# --- the cache of signatures --------------------------------------------------------------------


def test_the_same_names_are_bound_once(world: World) -> None:
    binder = Binder(world.plan(reading("hour")))
    first = binder.bind(request(context={"hour": 1}))
    assert binder.bind(request(context={"hour": 2})) is first
    assert binder.bind(request(context={"hour": 2, "day": 1})) is not first


def test_misbehaving_clients_cannot_fill_the_memory(world: World) -> None:
    binder = Binder(world.plan(reading("hour")))
    first = binder.bind(request(context={"hour": 1}))
    for number in range(CACHE_SIZE):
        binder.bind(request(context={"hour": 1, f"name{number}": 1}))
    assert binder.bind(request(context={"hour": 1})) is not first


# --- which entity the targets are ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("entities", "ids"),
    [
        ({"user": "7", "product": ["1", "2"]}, ["1", "2"]),
        ({"product": ["1", "2"], "user": "7"}, ["1", "2"]),
        ({"user": "7", "product": ["1"]}, ["1"]),
        ({"product": ["1"], "user": "7"}, ["1"]),
        ({"user": "7", "product": "1"}, ["1"]),
        ({"user": ["7"], "product": ["1"]}, ["1"]),
        ({"user": ["7", "8"], "product": ["1", "2"]}, ["1", "2"]),
    ],
)
def test_targets_are_the_entity_with_many_ids_or_the_list(
    world: World, entities: dict[str, Any], ids: list[str]
) -> None:
    scores = world.scorer(keyed_by("user_id")).score_now(request(entities=entities))
    assert list(scores.ids) == ids


def test_id_column_says_which_entity_the_targets_are(world: World) -> None:
    written = {**keyed_by("user_id"), "id_column": "user_id"}
    entities = {"user": "7", "product": ["1", "2"]}
    assert list(world.scorer(written).score_now(request(entities=entities)).ids) == ["7", "7"]
    refused = refusal(world, {**keyed_by("user_id"), "id_column": "basket"}, entities=entities)
    assert refused.field == "entities"
    assert "id_column 'basket'" in refused.what


# --- one column, several readers ----------------------------------------------------------------


def test_a_type_one_step_declares_does_not_change_what_another_reads(world: World) -> None:
    written = config(
        ["m:score", "c:value"],
        models={"m": model_step("one", {"hour": None})},
        computes={"c": compute_step("echo", {"x@INT32": "hour"})},
        edges={"feature_initializer": ["m", "c"]},
    )
    scores = world.scorer(written).score_now(request(context={"hour": 7.5}))
    assert scores["m:score"].tolist() == [7.5]
    assert scores["c:value"].tolist() == [7]
