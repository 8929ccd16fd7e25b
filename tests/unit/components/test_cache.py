"""The cache in front of the store: what it answers, for how long, and how much it holds."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.components.cache import FeatureCache
from inferflow.components.cache_table import CacheTable
from inferflow.dtypes import FP32
from inferflow.engine.ports import (
    FeatureRead,
    FeatureRows,
    GroupRead,
    GroupRows,
    ReadState,
    RunRead,
)
from inferflow.engine.scorer import Scorer

from ...robustness.scenario import StartScenario
from ..engine.comparing import alike
from ..engine.worlds import EXPIRED, World, pausing
from ..engine.writing import config, feature_step, request

FEATURES = {
    "category": "INT32",
    "price": ("FP32", 9.0),
    "name": "String",
    "embedding": ("FP32Vector", None, 3),
    "words": ("StringVector", None, 2),
    "small": "FP8E4M3",
    "flag": "Bool",
}
LABELS = list(FEATURES)
RESPONSE = [f"product:attrs:{label}" for label in LABELS]


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def a_row(number: int) -> dict[str, Any]:
    return {
        "category": number,
        "price": number / 2,
        "name": f"n{number}",
        "embedding": [number, number + 1, number + 2],
        "words": [f"w{number}", ""],
        "small": 1.5,
        "flag": number % 2 == 0,
    }


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cache(clock: Clock) -> FeatureCache:
    return FeatureCache(1.0, now=clock)


@pytest.fixture
def world() -> World:
    rows: dict[str, Any] = {str(n): a_row(n) for n in range(1, 5)}
    rows["7"] = EXPIRED
    rows["8"] = {"price": 4.0}
    return World().table("product", "attrs", FEATURES, rows)


def cached(
    world: World, cache: FeatureCache, labels: list[str] | None = None, **more: Any
) -> Scorer:
    shared = {"cache_enabled": True, "cache_ttl": 60, **more.pop("shared", {})}
    step = feature_step(
        "product",
        {"product_id": "product_id"},
        {"attrs": labels or LABELS},
        **{"comp_cache_enabled": True, **more},
    )
    response = [f"product:attrs:{label.partition('@')[0]}" for label in labels or LABELS]
    return world.scorer(config(response, features={"fs": step}, shared=shared), cache=cache)


def answer(scorer: Scorer, *ids: str) -> dict[str, list[Any]]:
    return scorer.score_now(request(entities={"product": list(ids)})).targets.to_dict()


def asked(world: World) -> list[list[str]]:
    """The keys the store was asked for since this was last called, read by read."""
    reads = [sorted(keys[0]) for keys in world.reads]
    world.reads.clear()
    return reads


# --- hits and misses ----------------------------------------------------------------------------


def test_what_was_read_once_is_not_read_again(world: World, cache: FeatureCache) -> None:
    scorer = cached(world, cache)
    first = answer(scorer, "1", "2")
    assert asked(world) == [["1", "2"]]
    assert answer(scorer, "2", "1") == {name: values[::-1] for name, values in first.items()}
    assert asked(world) == []


def test_only_what_is_not_there_is_asked_for(world: World, cache: FeatureCache) -> None:
    scorer = cached(world, cache)
    answer(scorer, "1", "3")
    asked(world)
    found = answer(scorer, "4", "3", "2", "1", "4")
    assert asked(world) == [["2", "4"]]
    assert found["product:attrs:category"] == [4, 3, 2, 1, 4]
    assert found["product:attrs:name"] == ["n4", "n3", "n2", "n1", "n4"]
    assert found["product:attrs:words"] == [[f"w{n}", ""] for n in (4, 3, 2, 1, 4)]


def test_what_another_request_has_just_fetched_is_not_asked_for_again(world: World) -> None:
    looks: list[str] = []

    def now() -> float:
        """Between the first look for all keys and the one for some, others fetch the rest."""
        looks.append("")
        if len(looks) == 2:
            answer(other, "1", "2")
        return 1000.0

    cache = FeatureCache(1.0, now=now)
    own, other = cached(world, cache), cached(world, cache)
    assert answer(own, "2", "1")["product:attrs:category"] == [2, 1]
    assert asked(world) == [["1", "2"]]


def test_ages_are_told_to_those_who_ask_and_states_always() -> None:
    group = GroupRead("attrs", (RunRead(FP32, ("price",), (1,)),))
    table = CacheTable(FeatureRead("product", ("product_id",), (group,)), lambda *_: True)
    prices = np.array([[1.0], [9.0]], np.float32)
    states = np.array([ReadState.REAL, ReadState.MISSING], np.uint8)
    written = np.array([5, 0])
    table.write(["a", "b"], FeatureRows((GroupRows((prices,), states, {}, written),)), 60.0)
    for with_ages in (False, True):
        rows = table.read_all(["b", "a", "b"], 0.0, with_ages=with_ages)
        assert rows is not None
        (found,) = rows.groups
        assert found.runs[0].tolist() == [[9.0], [1.0], [9.0]]
        assert found.states is not None
        assert found.states.tolist() == [ReadState.MISSING, ReadState.REAL, ReadState.MISSING]
        ages = None if found.written_ms is None else found.written_ms.tolist()
        assert ages == ([0, 5, 0] if with_ages else None)
    assert table.read_all(["a", "c"], 0.0, with_ages=False) is None
    assert table.read_all(["a"], 60.0, with_ages=False) is None


def test_every_type_comes_out_as_it_went_in(world: World, cache: FeatureCache) -> None:
    scorer = cached(world, cache)
    ids = ["1", "7", "8", "9", "2"]
    fresh = answer(scorer, *ids)
    again = answer(scorer, *ids)
    assert fresh == again
    assert fresh["product:attrs:embedding"] == [
        [1.0, 2.0, 3.0],
        [0.0] * 3,
        [0.0] * 3,
        [0.0] * 3,
        [2.0, 3.0, 4.0],
    ]
    assert fresh["product:attrs:small"] == [1.5, 0.0, 0.0, 0.0, 1.5]


def test_missing_and_expired_keys_are_remembered_as_such(world: World, cache: FeatureCache) -> None:
    scorer = cached(world, cache)
    ids = ["9", "7", "8", "1"]
    seen = []
    for _ in range(2):
        recording = scorer.new_recording()
        scorer.score_now(request(entities={"product": ids}), recording)
        matrix = recording.matrix
        assert matrix is not None
        columns = scorer.plan.columns
        states = matrix.states(columns["product:attrs:price"].block)
        absent = matrix.absent(columns["product:attrs:category"])
        assert states is not None
        assert absent is not None
        seen.append((states.tolist(), absent.tolist()))
    assert seen[0] == seen[1]
    missing, expired, real = ReadState.MISSING, ReadState.EXPIRED, ReadState.REAL
    assert seen[1] == ([missing, expired, real, real], [False, False, True, False])
    assert len(asked(world)) == 1


def test_config_defaults_are_not_what_is_cached(world: World, cache: FeatureCache) -> None:
    """Two configs may want different stand-ins for the same missing key."""
    scorer = cached(world, cache, ["price"], defaults={"attrs": {"price": 5.0}})
    assert answer(scorer, "9")["product:attrs:price"] == [5.0]
    assert answer(scorer, "9")["product:attrs:price"] == [5.0]


# --- time ---------------------------------------------------------------------------------------


def test_an_entry_lives_as_long_as_its_component_says(
    world: World, cache: FeatureCache, clock: Clock
) -> None:
    scorer = cached(world, cache, comp_cache_ttl=30)
    answer(scorer, "1")
    clock.now += 29.9
    answer(scorer, "1")
    assert asked(world) == [["1"]]
    clock.now += 0.1
    world.tables["product", "attrs"][("1",)] = {**a_row(1), "category": 77}
    assert answer(scorer, "1")["product:attrs:category"] == [77]
    assert asked(world) == [["1"]]


def test_without_a_component_limit_the_config_s_holds_and_else_a_hundred_seconds(
    world: World, clock: Clock
) -> None:
    for shared, seconds in (({"cache_ttl": 60}, 60), ({"cache_ttl": 0}, 100)):
        scorer = cached(world, FeatureCache(1.0, now=clock), shared=shared)
        answer(scorer, "1")
        clock.now += seconds - 0.5
        answer(scorer, "1")
        clock.now += 0.5
        answer(scorer, "1")
        assert len(asked(world)) == 2


def test_entries_expire_one_by_one(world: World, cache: FeatureCache, clock: Clock) -> None:
    scorer = cached(world, cache)
    answer(scorer, "1")
    clock.now += 40
    answer(scorer, "1", "2")
    asked(world)
    clock.now += 40
    assert answer(scorer, "1", "2")["product:attrs:category"] == [1, 2]
    assert asked(world) == [["1"]]


# --- what never meets ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"labels": ["category", "price"]},
        {"labels": ["price"]},
        {"labels": ["price@FP64", "category"]},
        {"shared": {"cache_version": 2}},
    ],
)
def test_a_changed_query_or_version_never_meets_old_entries(
    world: World, cache: FeatureCache, change: dict[str, Any]
) -> None:
    before = cached(world, cache, ["price", "category"])
    answer(before, "1")
    asked(world)
    scorer = cached(world, cache, **{"labels": ["price", "category"], **change})
    found = answer(scorer, "1")
    assert found["product:attrs:price"] == [0.5]
    assert asked(world) == [["1"]]
    assert answer(before, "1")["product:attrs:category"] == [1]
    assert asked(world) == []


def test_a_changed_schema_never_meets_old_entries(world: World, cache: FeatureCache) -> None:
    before = cached(world, cache, ["price"])
    answer(before, "1")
    asked(world)
    rows = world.tables["product", "attrs"]
    world.table("product", "attrs", {**FEATURES, "price": "FP64"}, {})
    world.tables["product", "attrs"] = rows
    scores = cached(world, cache, ["price"]).score_now(request())
    assert asked(world) == [["1"]]
    assert scores.targets.columns["product:attrs:price"].dtype.name == "FP64"


def test_the_same_config_loaded_again_keeps_what_is_cached(
    world: World, cache: FeatureCache
) -> None:
    before = cached(world, cache)
    answer(before, "1")
    asked(world)
    after = cached(world, cache)
    answer(after, "1")
    assert asked(world) == []


def test_composite_keys_that_read_alike_are_told_apart(cache: FeatureCache) -> None:
    world = World()
    rows = {("a", "bc"): {"w": 1.0}, ("ab", "c"): {"w": 2.0}, ("a|b", "c"): {"w": 3.0}}
    world.table("pair", "g", {"w": "FP32"}, rows, keys=("x", "y"))
    step = feature_step("pair", {"x": "x", "y": "y"}, {"g": ["w"]}, comp_cache_enabled=True)
    written = config(["pair:g:w"], features={"fs": step}, shared={"cache_enabled": True})
    scorer = world.scorer(written, cache=cache)
    for _ in range(2):
        entities = {"x": ["a", "ab", "a|b", "a"], "y": ["bc", "c", "c", "b|c"]}
        assert scorer.score_now(request(entities=entities))["pair:g:w"].tolist() == [1, 2, 3, 0]


@pytest.mark.parametrize(
    ("component", "shared"), [(False, {}), (True, {"cache_enabled": False})], ids=["step", "config"]
)
def test_both_switches_must_be_on(
    world: World, cache: FeatureCache, component: bool, shared: dict[str, Any]
) -> None:
    scorer = cached(world, cache, comp_cache_enabled=component, shared=shared)
    answer(scorer, "1")
    answer(scorer, "1")
    assert len(asked(world)) == 2
    assert len(cache) == 0


# --- failures -----------------------------------------------------------------------------------


def test_an_error_is_not_cached(world: World, cache: FeatureCache, scenario: StartScenario) -> None:
    tried = scenario("D8", "a read fails once, under a cache")
    scorer = cached(world, cache)
    world.broken_keys = {("1",)}
    assert answer(scorer, "1")["product:attrs:category"] == [0]
    tried.at_most("rows remembered of it", len(cache), 0)
    world.broken_keys = set()
    again = answer(scorer, "1")["product:attrs:category"]
    tried.holds("the next read asks the store", again, again == [1])


def test_of_a_reply_that_failed_in_part_the_rest_is_kept(world: World, cache: FeatureCache) -> None:
    scorer = cached(world, cache, batch_size=1)
    world.broken_keys = {("2",)}
    assert answer(scorer, "1", "2", "3")["product:attrs:category"] == [1, 0, 3]
    world.broken_keys = set()
    asked(world)
    assert answer(scorer, "1", "2", "3")["product:attrs:category"] == [1, 2, 3]
    assert asked(world) == [["2"]]


def test_misses_are_read_in_batches_too(world: World, cache: FeatureCache) -> None:
    scorer = cached(world, cache, batch_size=2)
    answer(scorer, "1")
    asked(world)
    answer(scorer, "1", "2", "3", "4")
    assert sorted(map(len, asked(world))) == [1, 2]


# --- size ---------------------------------------------------------------------------------------


def test_the_cache_stays_within_its_size(clock: Clock) -> None:
    features = {"embedding": ("FP32Vector", None, 64)}
    rows = {str(n): {"embedding": [n] * 64} for n in range(3000)}
    world = World().table("product", "attrs", features, rows)
    cache = FeatureCache(0.25, now=clock)
    scorer = cached(world, cache, ["embedding"])
    for start in range(0, 3000, 200):
        ids = [str(n) for n in range(start, start + 200)]
        found = answer(scorer, *ids)["product:attrs:embedding"]
        assert [row[0] for row in found] == list(range(start, start + 200))
        assert cache.used_bytes <= cache.size_bytes
    assert 0 < len(cache) < 3000


def test_long_texts_count(clock: Clock) -> None:
    rows = {str(n): {"name": str(n) * 2000} for n in range(500)}
    world = World().table("product", "attrs", {"name": "String"}, rows)
    cache = FeatureCache(0.25, now=clock)
    scorer = cached(world, cache, ["name"])
    for start in range(0, 500, 50):
        ids = [str(n) for n in range(start, start + 50)]
        assert answer(scorer, *ids)["product:attrs:name"] == [n * 2000 for n in ids]
        assert cache.used_bytes <= cache.size_bytes
    assert len(cache) > 0


def test_a_cache_too_small_for_one_row_is_no_cache_and_no_error(clock: Clock, world: World) -> None:
    scorer = cached(world, FeatureCache(0.00001, now=clock))
    for _ in range(2):
        assert answer(scorer, "1", "2")["product:attrs:category"] == [1, 2]
    assert len(asked(world)) == 2


def test_several_components_share_one_size(world: World, clock: Clock) -> None:
    rows = {str(n): {"name": "x" * 50} for n in range(2000)}
    world.table("other", "attrs", {"name": "String"}, rows, keys=("other_id",))
    cache = FeatureCache(0.25, now=clock)
    step = feature_step(
        "other", {"other_id": "other"}, {"attrs": ["name"]}, comp_cache_enabled=True
    )
    other = world.scorer(
        config(["other:attrs:name"], features={"fs": step}, shared={"cache_enabled": True}),
        cache=cache,
    )
    mine = cached(world, cache)
    for start in range(0, 2000, 100):
        other.score_now(request(entities={"other": [str(n) for n in range(start, start + 100)]}))
        answer(mine, "1", "2", "3")
        assert cache.used_bytes <= cache.size_bytes
    assert answer(mine, "1", "2", "3")["product:attrs:category"] == [1, 2, 3]


# --- against no cache ---------------------------------------------------------------------------

requests = st.lists(
    st.tuples(
        st.lists(st.sampled_from(["1", "2", "3", "4", "7", "8", "9"]), min_size=1, max_size=6),
        st.sampled_from([0.0, 10.0, 61.0]),
    ),
    min_size=1,
    max_size=6,
)


@given(requests, st.sampled_from([1.0, 0.004, 0.001]), st.booleans(), st.integers(0, 3))
def test_with_and_without_a_cache_the_answers_are_the_same(
    asked_for: list[tuple[list[str], float]], size_mb: float, waits: bool, batch_size: int
) -> None:
    rows: dict[str, Any] = {str(n): a_row(n) for n in range(1, 5)}
    world = World().table("product", "attrs", FEATURES, {**rows, "7": EXPIRED, "8": {"price": 4}})
    clock = Clock()
    if waits:
        world.pause = pausing(batch_size)
    plain = cached(world, FeatureCache(1.0), comp_cache_enabled=False)
    scorer = cached(world, FeatureCache(size_mb, now=clock), batch_size=batch_size)
    for ids, seconds in asked_for:
        clock.now += seconds
        assert answer(scorer, *ids) == answer(plain, *ids)


def test_requests_at_the_same_time_do_not_disturb_each_other(
    world: World, cache: FeatureCache
) -> None:
    chance = random.Random(7)
    world.pause = pausing(7)
    scorer = cached(world, cache)
    lists = [[str(chance.randint(1, 9)) for _ in range(4)] for _ in range(30)]

    async def one(ids: list[str]) -> list[Any]:
        scores = await scorer.score(request(entities={"product": ids}))
        return scores.targets.columns["product:attrs:name"].to_list()

    async def main() -> list[list[Any]]:
        return await asyncio.gather(*map(one, lists))

    for ids, names in zip(lists, asyncio.run(main()), strict=True):
        for key, name in zip(ids, names, strict=True):
            expected = f"n{key}" if key in "1234" else ""
            assert alike(name, expected)


def test_what_a_request_got_does_not_change_under_it(world: World, cache: FeatureCache) -> None:
    scorer = cached(world, cache, ["embedding"])
    first = scorer.score_now(request(entities={"product": ["1"]}))
    kept = first["product:attrs:embedding"].copy()
    world.tables["product", "attrs"][("1",)] = {"embedding": [9, 9, 9]}
    cache.now.now += 100  # type: ignore[attr-defined]  # the clock of this test
    scorer.score_now(request(entities={"product": ["1"]}))
    assert np.array_equal(first["product:attrs:embedding"], kept)
