"""Feature steps: keys asked for once, defaults, values the request brings, replies that lie."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from inferflow.components.assemble import Ports, assemble
from inferflow.engine.limits import Limits
from inferflow.engine.ports import FeatureRows, GroupRows, ReadState
from inferflow.engine.scorer import Scorer
from inferflow.errors import InvalidRequest, StepFailed, StoreFailed

from ..engine.worlds import EXPIRED, World
from ..engine.writing import config, feature_step, request

PRICE = "product:attrs:price"


@pytest.fixture
def world() -> World:
    world = World()
    world.table(
        "product",
        "attrs",
        {"category": "INT32", "price": ("FP32", 9.0), "name": "String"},
        {
            "1": {"category": 1, "price": 1.0, "name": "one"},
            "2": {"category": 2, "price": 2.0, "name": "two"},
            "3": {"category": 1, "price": 3.0, "name": "three"},
            "4": EXPIRED,
            "5": {"price": 5.0, "name": "five"},
        },
    )
    world.table(
        "affinity",
        "pair",
        {"weight": "FP32"},
        {("u", "1"): {"weight": 0.5}, ("u", "2"): {"weight": 0.75}, ("u", "0"): {"weight": 99.0}},
        keys=("user_id", "category_id"),
    )
    return world


def products(*features: str, **more: Any) -> dict[str, Any]:
    labels = list(features) or ["price"]
    return feature_step("product", {"product_id": "product_id"}, {"attrs": labels}, **more)


def affinities(**more: Any) -> dict[str, Any]:
    keys = {"category_id": "product:attrs:category", "user_id": "user_id"}
    return feature_step("affinity", keys, {"pair": ["weight"]}, **more)


def scorer(world: World, response: list[str], **steps: Any) -> Scorer:
    return world.scorer(config(response, features=steps))


def column(world: World, name: str, ids: list[str], steps: dict[str, Any], **parts: Any) -> Any:
    entities = {"user": "u", "product": ids}
    scores = scorer(world, [name], **steps).score_now(request(entities=entities, **parts))
    return scores.targets.columns[name].to_list(), list(scores.errors)


# --- keys ---------------------------------------------------------------------------------------


def test_each_distinct_key_is_read_once(world: World) -> None:
    values, _ = column(world, PRICE, ["2", "1", "2", "2"], {"fs": products()})
    assert values == [2, 1, 2, 2]
    [keys] = world.reads
    assert sorted(keys[0]) == ["1", "2"]


def test_a_key_derived_from_another_step_s_feature_is_looked_up(world: World) -> None:
    steps = {"fs": products("category"), "aff": affinities()}
    values, errors = column(world, "affinity:pair:weight", ["1", "2", "3"], steps)
    assert values == [0.5, 0.75, 0.5]
    assert errors == ["", "", ""]
    categories, users = world.reads[1]
    assert (sorted(categories), set(users)) == (["1", "2"], {"u"})


def test_a_stand_in_is_never_looked_up(world: World) -> None:
    """Category 0 exists, but a product without a category is not in it."""
    steps = {"fs": products("category"), "aff": affinities()}
    values, errors = column(world, "affinity:pair:weight", ["1", "9", "4", "5"], steps)
    assert values == [0.5, 0, 0, 0]
    assert errors == ["", "", "", ""]
    assert world.reads[1] == (["1"], ["u"])


def test_rows_without_a_key_are_blank_and_marked_unless_defaults_are_wanted(world: World) -> None:
    for policy in ("skip", "fail"):
        steps = {"fs": products("category"), "aff": affinities(on_error=policy)}
        values, errors = column(world, "affinity:pair:weight", ["1", "9"], steps)
        assert values == [0.5, None]
        assert errors == ["", "aff: there is no key to look up"]
        values, errors = column(world, "affinity:pair:weight", ["9", "4"], steps)
        assert values == [None, None]
        assert errors == ["aff: there is no key to look up"] * 2


def test_without_any_key_the_store_is_not_asked(world: World) -> None:
    steps = {"fs": products("category"), "aff": affinities()}
    values, errors = column(world, "affinity:pair:weight", ["9", "4"], steps)
    assert (values, errors) == ([0, 0], ["", ""])
    assert len(world.reads) == 1


def test_a_declared_default_is_a_key_like_any_other(world: World) -> None:
    steps = {
        "fs": products("category", defaults={"attrs": {"category": 2}}),
        "aff": affinities(on_error="skip"),
    }
    values, _ = column(world, "affinity:pair:weight", ["1", "9", "5"], steps)
    assert values == [0.5, 0.75, 0.75]


def test_key_columns_are_kept_on_request(world: World) -> None:
    steps = {
        "fs": products("category"),
        "aff": affinities(fs_flatten_resp_keys=["category_id"], composite_id=True),
    }
    values, _ = column(world, "aff:category_id", ["1", "9", "2"], steps)
    assert values == ["1", None, "2"]
    values, _ = column(world, "aff:id", ["1", "9", "2"], steps)
    assert values == ["1|u", None, "2|u"]


# --- defaults and where a value came from -------------------------------------------------------


def test_config_defaults_stand_where_the_store_has_nothing(world: World) -> None:
    step = products(defaults={"attrs": {"price": 7.0}})
    values, _ = column(world, PRICE, ["1", "9", "4"], {"fs": step})
    assert values == [1, 7, 7]


def test_a_row_older_than_a_feature_takes_the_default_for_it_alone(world: World) -> None:
    step = products("category", "price", defaults={"attrs": {"category": 7}})
    ids, steps = ["5", "1"], {"fs": step}
    assert column(world, "product:attrs:category", ids, steps)[0] == [7, 1]
    assert column(world, PRICE, ids, steps)[0] == [5, 1]


def states(world: World, ids: list[str], step: dict[str, Any], **parts: Any) -> list[int]:
    plan = scorer(world, [PRICE], fs=step)
    recording = plan.new_recording()
    plan.score_now(request(entities={"user": "u", "product": ids}, **parts), recording)
    assert recording.matrix is not None
    found = recording.matrix.states(plan.plan.columns[PRICE].block)
    count = len(ids)
    return [0] * count if found is None else np.broadcast_to(found, (count,)).tolist()


def test_real_missing_expired_and_failed_are_told_apart(world: World) -> None:
    assert states(world, ["1", "2"], products()) == [ReadState.REAL] * 2
    assert states(world, ["1", "9", "4"], products()) == [
        ReadState.REAL,
        ReadState.MISSING,
        ReadState.EXPIRED,
    ]
    world.broken_keys = {("2",)}
    assert states(world, ["1", "2"], products(batch_size=1)) == [ReadState.REAL, ReadState.FAILED]
    assert states(world, ["1", "2"], products()) == [ReadState.FAILED] * 2


# --- a store that fails -------------------------------------------------------------------------


def test_a_failed_batch_loses_its_own_rows_and_no_others(world: World) -> None:
    world.broken_keys = {("2",)}
    ids = ["1", "2", "3", "2", "9"]
    values, errors = column(world, PRICE, ids, {"fs": products(batch_size=1)})
    assert values == [1, 9, 3, 9, 9]
    assert [bool(error) for error in errors] == [False, True, False, True, False]
    values, errors = column(world, PRICE, ids, {"fs": products(batch_size=1, on_error="skip")})
    assert values == [1, None, 3, None, 9]
    assert errors[1] == "fs: the store is down"
    with pytest.raises(StepFailed, match="the store is down"):
        column(world, PRICE, ids, {"fs": products(batch_size=1, on_error="fail")})


def test_a_store_that_is_down_marks_every_row(world: World) -> None:
    world.broken_keys = {("1",), ("2",)}
    values, errors = column(world, PRICE, ["1", "2"], {"fs": products(batch_size=1)})
    assert values == [9, 9]
    assert errors == ["fs: the store is down"] * 2


class Reader:
    """A store that answers whatever a test says."""

    is_local = True

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def prepare(self, read: Any) -> Reader:
        return self

    async def fetch(self, keys: Any, *, deadline: Any) -> FeatureRows:
        answered = self.answer(len(keys[0]))
        assert isinstance(answered, FeatureRows)
        return answered


def answered_by(world: World, answer: Any, ids: list[str], **more: Any) -> Any:
    plan = world.plan(config([PRICE], features={"fs": products(**more)}))
    ports = world.ports()
    parts = assemble(plan, Ports(Reader(answer), ports.models, ports.compute))
    scores = Scorer(plan, parts, limits=Limits()).score_now(request(entities={"product": ids}))
    return scores.targets.columns[PRICE].to_list(), list(scores.errors)


@pytest.mark.parametrize("short_by", [1, 2, -1])
def test_a_reply_that_does_not_line_up_is_a_failure_not_an_answer(
    world: World, short_by: int
) -> None:
    """Half a reply would give one product the price of another."""

    def answer(keys: int) -> FeatureRows:
        return FeatureRows((GroupRows((np.ones((keys - short_by, 1), np.float32),)),))

    values, errors = answered_by(world, answer, ["1", "2", "3"])
    assert values == [9, 9, 9]
    expected = f"fs: the store answered {3 - short_by} row(s) for 3 key(s)"
    assert errors == [expected] * 3


def test_a_reader_may_say_itself_which_keys_it_could_not_ask_for(world: World) -> None:
    def answer(keys: int) -> FeatureRows:
        rows = np.arange(keys, dtype=np.float32).reshape(-1, 1)
        failed = np.array([0, ReadState.FAILED, 0], np.uint8)
        return FeatureRows((GroupRows((rows,), failed),), failure="shard 2 is down")

    values, errors = answered_by(world, answer, ["1", "2", "3"], on_error="skip")
    assert values == [0, None, 2]
    assert errors == ["", "fs: shard 2 is down", ""]


def test_an_error_the_port_does_not_promise_falls_under_the_policy_too(world: World) -> None:
    def answer(keys: int) -> FeatureRows:
        raise RuntimeError("surprise")

    values, errors = answered_by(world, answer, ["1", "2"])
    assert values == [9, 9]
    assert errors == ["fs: RuntimeError: surprise"] * 2


def test_store_errors_keep_their_text(world: World) -> None:
    def answer(keys: int) -> FeatureRows:
        raise StoreFailed("no route to host")

    assert answered_by(world, answer, ["1"])[1] == ["fs: no route to host"]


# --- values the request brings ------------------------------------------------------------------


def pinned(values: Any) -> dict[str, Any]:
    return {"features": {"product": {"attrs:price": values}}}


def test_a_value_the_request_brings_wins_over_the_store(world: World) -> None:
    values, _ = column(world, PRICE, ["1", "2", "9"], {"fs": products()}, **pinned([10, 20, 30]))
    assert values == [10, 20, 30]
    values, _ = column(world, PRICE, ["1", "2", "9"], {"fs": products()}, **pinned(40))
    assert values == [40, 40, 40]


def test_its_siblings_still_come_from_the_store(world: World) -> None:
    steps = {"fs": products("price", "category", "name")}
    values, _ = column(world, "product:attrs:name", ["1", "2"], steps, **pinned([10, 20]))
    assert values == ["one", "two"]


@pytest.mark.parametrize("policy", ["default", "skip"])
def test_it_is_there_even_when_the_store_is_not(world: World, policy: str) -> None:
    world.broken_keys = {("1",)}
    step = products("price", "category", on_error=policy)
    values, errors = column(world, PRICE, ["1", "2"], {"fs": step}, **pinned([10, 20]))
    assert values == [10, 20]
    assert errors == ["fs: the store is down"] * 2
    values, _ = column(world, "product:attrs:category", ["1", "2"], {"fs": step}, **pinned(10))
    assert values == ([0, 0] if policy == "default" else [None, None])


@pytest.mark.parametrize("policy", ["default", "skip"])
def test_it_is_there_even_for_rows_without_a_key(world: World, policy: str) -> None:
    steps = {"fs": products("category"), "aff": affinities(on_error=policy)}
    brought = {"features": {"product": {"affinity:pair:weight": [0.1, 0.2]}}}
    for ids in (["1", "9"], ["9", "4"]):
        values, _ = column(world, "affinity:pair:weight", ids, steps, **brought)
        assert values == pytest.approx([0.1, 0.2])


def test_it_is_a_key_even_where_the_store_has_none(world: World) -> None:
    steps = {"fs": products("category"), "aff": affinities(on_error="skip")}
    brought = {"features": {"product": {"attrs:category": [2, 1]}}}
    values, _ = column(world, "affinity:pair:weight", ["9", "4"], steps, **brought)
    assert values == [0.75, 0.5]


@pytest.mark.parametrize("ids", [["1", "2"], ["9"], ["9", "9"]])
def test_it_has_a_value_for_every_target(world: World, ids: list[str]) -> None:
    with pytest.raises(InvalidRequest) as refused:
        column(world, PRICE, ids, {"fs": products()}, **pinned([1, 2, 3]))
    assert refused.value.field == "features.product.attrs:price"
    assert f"3 value(s) for {len(ids)} target(s)" in refused.value.what


def test_it_takes_the_feature_s_own_type(world: World) -> None:
    steps = {"fs": products("category")}
    values, _ = column(
        world,
        "product:attrs:category",
        ["1", "2"],
        steps,
        features={"product": {"attrs:category": ["7", "8"]}},
    )
    assert values == [7, 8]
    with pytest.raises(InvalidRequest) as refused:
        column(
            world,
            "product:attrs:category",
            ["1", "2"],
            steps,
            features={"product": {"attrs:category": ["7", "x"]}},
        )
    assert refused.value.field == "features.product.attrs:category[1]"
