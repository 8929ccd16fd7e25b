"""Repetitions are bounded, whatever happens; and a few are always there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.client.budget import FLOOR_PER_S, MOST, RATIO, RetryBudget
from inferflow.testing import ManualClock

events = st.lists(
    st.tuples(st.sampled_from(["call", "take", "wait"]), st.floats(0, 5)), max_size=300
)


@pytest.mark.scenario("B4")
@given(events)
def test_there_are_never_more_than_a_tenth_of_calls_ten_a_second_and_what_was_saved(
    happening: list[tuple[str, float]],
) -> None:
    clock = ManualClock()
    budget = RetryBudget(clock=clock)
    calls = taken = 0
    passed = 0.0
    for kind, seconds in happening:
        if kind == "wait":
            clock.advance(seconds)
            passed += seconds
        elif kind == "call":
            budget.count_call()
            calls += 1
        else:
            taken += budget.take()
    assert taken <= MOST + RATIO * calls + FLOOR_PER_S * passed + 1e-6


def test_when_all_is_spent_ten_a_second_are_left() -> None:
    clock = ManualClock()
    budget = RetryBudget(clock=clock)
    assert sum(budget.take() for _ in range(1000)) == MOST
    clock.advance(1.0)
    assert sum(budget.take() for _ in range(1000)) == FLOOR_PER_S


def test_when_all_is_spent_every_tenth_call_may_be_repeated() -> None:
    budget = RetryBudget(clock=ManualClock())
    while budget.take():
        pass
    repeated = 0
    for _ in range(1000):
        budget.count_call()
        repeated += budget.take()
    assert 95 <= repeated <= 100
