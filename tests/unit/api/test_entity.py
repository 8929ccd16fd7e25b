"""What target ids are ids of."""

from __future__ import annotations

from typing import Any

import pytest

from inferflow.api.entity import target_entity
from inferflow.errors import InvalidRequest
from inferflow.plan.plan import Plan
from inferflow.testing import World, entity, model

from .shop import config, feature_step, only_boost

INPUTS = {"item:facts:price": "FP32", "user:facts:age": "FP32"}


def plan_of(*, answer: list[str] | None = None, **more: Any) -> Plan:
    world = World(
        entities=[
            entity("item", facts={"price": "FP32", "title": "String"}),
            entity("user", facts={"age": "INT32"}),
        ],
        models={"adder": model(lambda x: x[:, 0], inputs={"x": "FP32[N,2]"})},
    )
    return world.plan(config(inputs=INPUTS, answer=answer or ["rank:score"], **more))


def test_ids_are_of_the_one_key_the_context_does_not_give() -> None:
    assert target_entity(plan_of(), ["user_id"]).name == "context:item:item_id"
    assert target_entity(plan_of(), ["item_id"]).name == "context:user:user_id"


def test_the_name_is_the_one_most_columns_understand() -> None:
    plan = plan_of(answer=["item_id", "rank:score"])
    assert target_entity(plan, ["user_id"]).name == "item_id"


def test_a_context_value_may_be_named_like_the_entity() -> None:
    found = target_entity(plan_of(), ["user", "hour"])
    assert found.name == "context:item:item_id"
    assert found.from_context == ("user",)


@pytest.mark.parametrize("name", ["item_id", "item", "context:item:item_id"])
def test_the_config_may_say_it(name: str) -> None:
    found = target_entity(plan_of(id_column=name), ["user_id"])
    assert name in found.aliases


def test_two_open_keys_are_refused_naming_id_column() -> None:
    with pytest.raises(InvalidRequest, match=r"may be 'context:item:item_id' or .*id_column"):
        target_entity(plan_of(), [])


def test_a_misspelt_entity_is_named_beside_what_it_may_mean() -> None:
    with pytest.raises(InvalidRequest, match=r"'usr' is close to 'user'"):
        target_entity(plan_of(), ["hour", "usr"])


def test_no_open_key_is_refused_naming_id_column() -> None:
    with pytest.raises(InvalidRequest, match=r"nothing is left for the target ids.*id_column"):
        target_entity(plan_of(), ["user_id", "item_id"])


def test_keys_of_one_last_name_but_other_entities_are_not_mixed_up() -> None:
    plan = _plan_keyed("context:item:id", "context:user:id")
    with pytest.raises(InvalidRequest, match="id_column"):
        target_entity(plan, [])


def test_two_spellings_of_one_key_are_one() -> None:
    plan = _plan_keyed("context:item:item_id", "item_id")
    assert target_entity(plan, []).name == "item_id"


def _plan_keyed(first: str, second: str) -> Plan:
    document = config(inputs=INPUTS, answer=["rank:score"])
    steps = document["component_config"]["feature_component_config"]
    steps["fs_item"] = feature_step("item", "price")
    steps["fs_item"]["fs_keys"]["col"] = first
    steps["fs_user"]["fs_keys"]["col"] = second
    world = World(
        entities=[entity("item", facts={"price": "FP32"}), entity("user", facts={"age": "INT32"})],
        models={"adder": model(lambda x: x[:, 0], inputs={"x": "FP32[N,2]"})},
    )
    return world.plan(document)


def test_without_any_key_the_ids_are_only_labels() -> None:
    world = World(models={"adder": model(lambda x: x[:, 0], inputs={"x": "FP32[N,1]"})})
    assert target_entity(world.plan(only_boost()), ["hour"]).name == "id"


@pytest.mark.parametrize("name", ["item", "item_id", "item:item_id", "context:item:item_id"])
def test_the_targets_may_be_called_whatever_the_project_itself_would_understand(name: str) -> None:
    target_entity(plan_of(), ["user_id"]).check(name)


def test_a_misspelt_name_of_the_targets_is_refused_with_the_closest_one() -> None:
    found = target_entity(plan_of(), ["user_id"])
    with pytest.raises(InvalidRequest, match=r"entities.itm: is not what .* \(closest: 'item'\)"):
        found.check("itm")
    with pytest.raises(InvalidRequest, match=r"entities.zzz: .*\(the targets are 'context:item"):
        found.check("zzz")


def test_any_name_will_do_where_ids_are_only_labels() -> None:
    world = World(models={"adder": model(lambda x: x[:, 0], inputs={"x": "FP32[N,1]"})})
    target_entity(world.plan(only_boost()), ["hour"]).check("anything")
