"""Whom callers are sent to, checked against what should obviously hold."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.errors import InvalidInput
from inferflow.serving.manager.fleet import Fleet, Load, Patience, WorkerState, WorkerView
from inferflow.serving.manager.scheduling import (
    Chosen,
    Need,
    better_of_two,
    choose_version,
    choose_workers,
)

NOW = 1000.0
PATIENCE = Patience()
RANKER = ("ranker", "1")
models = st.frozensets(st.sampled_from([RANKER, ("ranker", "2"), ("other", "1")]))

workers = st.builds(
    WorkerView,
    worker_id=st.text("abcdef", min_size=1, max_size=3),
    address=st.just("h:1"),
    last_seen_s=st.floats(NOW - 20, NOW),
    slots=st.integers(1, 4),
    gpus=st.integers(0, 2),
    is_draining=st.booleans(),
    load=st.builds(
        Load,
        in_flight=st.integers(0, 6),
        queued=st.integers(0, 3),
        loaded=models,
        failed=models,
    ),
)
fleets = st.lists(workers, max_size=12).map(lambda all: Fleet({w.worker_id: w for w in all}))
needs = st.builds(
    Need,
    model=st.just("ranker"),
    version=st.just("1"),
    needs_gpu=st.booleans(),
    affinity_key=st.sampled_from(["", "ann", "bob"]),
    avoid=st.frozensets(st.text("abcdef", min_size=1, max_size=2), max_size=3),
    limit=st.integers(0, 5),
)
seeds = st.integers(0, 2**32)


def chosen(fleet: Fleet, need: Need, seed: int = 1) -> tuple[Chosen, ...]:
    chance = random.Random(seed).random
    return choose_workers(fleet, need, now_s=NOW, patience=PATIENCE, chance=chance)


def ids(found: tuple[Chosen, ...]) -> list[str]:
    return [each.worker.worker_id for each in found]


def online(worker_id: str, *, in_flight: int = 0, slots: int = 4, **more: object) -> WorkerView:
    loaded = frozenset([RANKER]) if more.pop("has_model", False) else frozenset()
    load = Load(in_flight=in_flight, loaded=loaded, **more)  # type: ignore[arg-type]
    return WorkerView(worker_id, "h:1", NOW, slots, load=load)


def fleet_of(*all: WorkerView) -> Fleet:
    return Fleet({worker.worker_id: worker for worker in all})


ANY = Need("ranker", "1", limit=99)


# --- who may be chosen --------------------------------------------------------------------------


@given(fleets, needs, seeds)
def test_exactly_the_workers_that_can_serve_are_chosen_up_to_the_limit(
    fleet: Fleet, need: Need, seed: int
) -> None:
    def can_serve(worker: WorkerView) -> bool:
        if NOW - worker.last_seen_s >= PATIENCE.offline_s or worker.is_draining:
            return False
        return worker.gpus > 0 if need.needs_gpu else True

    able = {each for each, worker in fleet.workers.items() if can_serve(worker)}
    found = ids(chosen(fleet, need, seed))
    assert len(found) == len(set(found)) == min(need.limit, len(able))
    assert set(found) <= able


@given(fleets, needs, seeds)
def test_workers_that_raise_doubts_come_last_in_the_order_of_the_doubts(
    fleet: Fleet, need: Need, seed: int
) -> None:
    def doubt(each: Chosen) -> int:
        worker = each.worker
        is_suspect = worker.state(NOW, PATIENCE) is WorkerState.SUSPECT
        cannot_load = RANKER in worker.load.failed
        return 4 * (worker.worker_id in need.avoid) + 2 * is_suspect + cannot_load

    doubts = [doubt(each) for each in chosen(fleet, need, seed)]
    assert doubts == sorted(doubts)


@given(fleets, needs, seeds)
def test_it_is_said_who_holds_the_model(fleet: Fleet, need: Need, seed: int) -> None:
    for each in chosen(fleet, need, seed):
        assert each.has_model == (RANKER in each.worker.load.loaded)


@given(fleets, needs, seeds)
def test_the_same_snapshot_and_the_same_chance_give_the_same_choice(
    fleet: Fleet, need: Need, seed: int
) -> None:
    assert chosen(fleet, need, seed) == chosen(fleet, need, seed)


# --- locality and load --------------------------------------------------------------------------


@given(seeds)
def test_a_worker_that_holds_the_model_comes_before_an_idle_one_that_does_not(seed: int) -> None:
    fleet = fleet_of(online("idle"), online("holds", in_flight=3, has_model=True))
    assert ids(chosen(fleet, ANY, seed)) == ["holds", "idle"]


@given(seeds)
def test_a_model_spreads_when_those_that_hold_it_are_full(seed: int) -> None:
    fleet = fleet_of(online("idle"), online("full", in_flight=4, has_model=True))
    assert ids(chosen(fleet, ANY, seed)) == ["idle", "full"]


@given(st.lists(st.integers(0, 3), min_size=2, max_size=8), seeds)
def test_the_busiest_of_equals_is_never_the_first_choice(loads: list[int], seed: int) -> None:
    fleet = fleet_of(*(online(str(n), in_flight=load) for n, load in enumerate(loads)))
    first, *_ = chosen(fleet, ANY, seed)
    if loads.count(max(loads)) == 1:
        assert first.worker.load.in_flight < max(loads)


@given(st.lists(workers, min_size=1, max_size=6), st.floats(0, 0.999), st.floats(0, 0.999))
def test_the_better_of_two_different_ones_is_taken(
    all: list[WorkerView], one: float, two: float
) -> None:
    draws = iter([one, two])
    taken = better_of_two(all, lambda: next(draws))
    pairs = [(a, b) for a in range(len(all)) for b in range(len(all)) if a != b] or [(0, 0)]
    [(a, b)] = [
        pair
        for pair in pairs
        if pair[0] == int(one * len(all))
        and (len(all) == 1 or (pair[1] - pair[0] - 1) % len(all) == int(two * (len(all) - 1)))
    ]
    assert taken in (a, b)
    assert all[taken].pressure == min(all[a].pressure, all[b].pressure)


def test_callers_between_two_reports_are_spread_over_equal_workers() -> None:
    fleet = fleet_of(*(online(str(n)) for n in range(5)))
    chance = random.Random(3).random
    firsts = Counter(
        choose_workers(fleet, ANY, now_s=NOW, patience=PATIENCE, chance=chance)[0].worker.worker_id
        for _ in range(5000)
    )
    assert set(firsts) == set("01234")
    assert all(900 < count < 1100 for count in firsts.values())


# --- affinity -----------------------------------------------------------------------------------

names_of_workers = st.text("abcdefgh", min_size=1, max_size=4)
healthy = st.lists(names_of_workers, min_size=1, max_size=10, unique=True)


def homes(names: list[str], keys: list[str], **load: int) -> dict[str, list[str]]:
    fleet = fleet_of(*(online(name, in_flight=load.get(name, 0)) for name in names))
    return {key: ids(chosen(fleet, replace(ANY, affinity_key=key))) for key in keys}


KEYS = [f"user-{n}" for n in range(60)]


@given(healthy, st.text("xyz", min_size=1, max_size=3))
def test_a_new_worker_takes_keys_and_moves_no_others(names: list[str], new: str) -> None:
    before, after = homes(names, KEYS), homes([*names, new], KEYS)
    for key in KEYS:
        assert [name for name in after[key] if name != new] == before[key]


@given(healthy, st.data())
def test_a_worker_that_is_gone_moves_only_its_own_keys(
    names: list[str], data: st.DataObject
) -> None:
    gone = data.draw(st.sampled_from(names))
    left = [name for name in names if name != gone]
    before, after = homes(names, KEYS), homes(left, KEYS)
    for key in KEYS:
        if left and before[key][0] != gone:
            assert after[key][0] == before[key][0]


@given(healthy, st.dictionaries(names_of_workers, st.integers(0, 9)))
def test_load_moves_no_key(names: list[str], load: dict[str, int]) -> None:
    assert homes(names, KEYS, **load) == homes(names, KEYS)


def test_keys_are_spread_evenly() -> None:
    names = list("abcde")
    keys = [str(n) for n in range(10_000)]
    firsts = Counter(order[0] for order in homes(names, keys).values())
    assert all(1850 < firsts[name] < 2150 for name in names)


# --- versions -----------------------------------------------------------------------------------

shares = st.dictionaries(st.integers(1, 5), st.floats(0, 100), min_size=1).filter(
    lambda given: sum(given.values()) > 0.01
)


@given(shares, st.text(), st.text())
def test_a_version_has_a_share_and_a_key_always_meets_the_same(
    given_: dict[int, float], key: str, salt: str
) -> None:
    found = choose_version(given_, key, salt=salt)
    assert given_[found] > 0
    assert choose_version(dict(reversed(given_.items())), key, salt=salt) == found


@pytest.mark.parametrize("split", [{1: 80.0, 2: 20.0}, {1: 95.0, 2: 4.0, 3: 1.0}, {7: 100.0}])
def test_shares_come_out_as_they_are_set(split: dict[int, float]) -> None:
    met = Counter(choose_version(split, str(n), salt="ranker") for n in range(10_000))
    for version, percent in split.items():
        assert abs(met[version] / 100 - percent) < 2


@given(shares, st.integers(1, 5), st.floats(0.1, 100))
def test_when_one_version_gains_keys_move_to_it_alone(
    given_: dict[int, float], version: int, more: float
) -> None:
    after = {**given_, version: given_.get(version, 0.0) + more}
    for key in KEYS:
        old = choose_version(given_, key, salt="ranker")
        new = choose_version(after, key, salt="ranker")
        assert new in (old, version)


def test_models_have_canaries_for_different_keys() -> None:
    split = {1: 50.0, 2: 50.0}
    same = sum(
        choose_version(split, key, salt="a") == choose_version(split, key, salt="b")
        for key in map(str, range(2000))
    )
    assert 900 < same < 1100


@pytest.mark.parametrize("nothing", [{}, {1: 0.0}, {1: -3.0}, {1: float("nan")}])
def test_traffic_that_goes_nowhere_is_refused(nothing: dict[int, float]) -> None:
    with pytest.raises(InvalidInput, match="traffic of 'ranker': no version has a share"):
        choose_version(nothing, "ann", salt="ranker")
