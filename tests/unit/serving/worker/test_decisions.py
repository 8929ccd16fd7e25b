"""Small decisions: who makes room, when to try again, how long a run takes, whose turn it is."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.errors import InvalidInput
from inferflow.serving.worker.backoff import retry_delay_s
from inferflow.serving.worker.cost import RunCost
from inferflow.serving.worker.eviction import Held, evictions
from inferflow.serving.worker.slots import RunSlots

held = st.lists(st.tuples(st.integers(1, 10), st.integers(0, 5), st.booleans()), max_size=6).map(
    lambda each: [Held(at, size, used, busy) for at, (size, used, busy) in enumerate(each)]
)


def test_without_a_budget_nothing_is_evicted() -> None:
    assert evictions([Held("a", 10**12, 0.0, False)], 10**12, None) == []


def test_the_model_used_least_recently_goes_first() -> None:
    models = [Held("new", 5, 9.0, False), Held("old", 5, 1.0, False)]
    assert evictions(models, 5, 12) == ["old"]


def test_a_model_in_use_stays_even_if_it_is_the_oldest() -> None:
    models = [Held("busy", 5, 0.0, True), Held("idle", 5, 9.0, False)]
    assert evictions(models, 5, 12) == ["idle"]


@given(held, st.integers(0, 30), st.integers(0, 40))
def test_evictions_make_room_whenever_any_choice_would(
    models: list[Held[int]], needed: int, budget: int
) -> None:
    chosen = evictions(models, needed, budget)
    idle = [each for each in models if not each.is_busy]
    total = sum(each.memory_bytes for each in models) + needed
    possible = any(
        total - sum(each.memory_bytes for each in gone) <= budget
        for size in range(len(idle) + 1)
        for gone in combinations(idle, size)
    )
    assert (chosen is not None) == possible
    if chosen:
        gone = [each for each in models if each.key in chosen]
        assert not any(each.is_busy for each in gone)
        last = max(gone, key=lambda each: chosen.index(each.key))
        before = total - sum(each.memory_bytes for each in gone) + last.memory_bytes
        assert before > budget, "nobody leaves in vain"


def test_a_failed_load_is_tried_again_after_longer_and_longer_up_to_a_minute() -> None:
    assert [retry_delay_s(n) for n in (1, 2, 3, 6, 7, 1_000_000)] == [1, 2, 4, 32, 60, 60]


def test_a_larger_run_is_expected_to_take_longer_and_a_smaller_one_not_to_be_quicker() -> None:
    cost = RunCost()
    assert cost.expected_s(10) == 0
    cost.add(10, 0.1)
    assert cost.expected_s(20) == pytest.approx(0.2)
    assert cost.expected_s(1) == pytest.approx(0.1)


def test_the_first_run_which_is_always_slow_is_forgotten_with_the_second() -> None:
    cost = RunCost()
    cost.add(1, 5.0)
    cost.add(1, 0.1)
    assert cost.expected_s(1) == pytest.approx(0.1)
    cost.add(1, 0.6)
    assert 0.1 < cost.expected_s(1) < 0.6


def test_the_wait_is_the_runs_ahead_shared_by_the_slots() -> None:
    cost = RunCost()
    cost.add(8, 0.1)
    assert cost.expected_wait_s(0, 8, 2) == 0
    assert cost.expected_wait_s(32, 8, 2) == pytest.approx(0.2)


def test_slots_are_handed_on_in_turn() -> None:
    slots = RunSlots(1)
    turns: list[str] = []

    def first() -> None:
        turns.append("first")
        assert slots.take(first)

    def second() -> None:
        turns.append("second")
        assert slots.take(second)

    assert slots.take(lambda: None)
    assert not slots.take(first)
    assert not slots.take(first)
    assert not slots.take(second)
    slots.give_back()
    assert turns == ["first"]
    slots.give_back()
    assert turns == ["first", "second"]


def test_a_worker_without_a_thread_is_refused() -> None:
    with pytest.raises(InvalidInput, match="at least one thread"):
        RunSlots(0)
