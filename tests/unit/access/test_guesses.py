"""Whoever tries keys that are not theirs is slowed down."""

from __future__ import annotations

import itertools

import pytest

from inferflow.access import Guesses
from inferflow.errors import RateLimited
from inferflow.testing import ManualClock

from ...robustness.scenario import StartScenario


def compared(guesses: Guesses, sources: list[str], times: int) -> int:
    """How many of so many wrong guesses are looked at."""
    looked_at = 0
    for source in itertools.islice(itertools.cycle(sources), times):
        try:
            guesses.check(source)
        except RateLimited:
            continue
        looked_at += 1
        guesses.was_wrong(source)
    return looked_at


def test_of_ten_thousand_guesses_few_are_looked_at(scenario: StartScenario) -> None:
    tried = scenario("G8", "ten thousand guesses")
    from_one = compared(Guesses(ManualClock()), ["a"], 10_000)
    tried.at_most("looked at, from one place", from_one, 20)
    everywhere = [f"10.0.{i // 256}.{i % 256}" for i in range(1000)]
    from_many = compared(Guesses(ManualClock()), everywhere, 10_000)
    tried.at_most("looked at, from a thousand", from_many, 100)
    assert (from_one, from_many) == (20, 80)


@pytest.mark.scenario("G8")
def test_callers_known_to_be_good_are_not_shut_out_by_a_flood() -> None:
    guesses = Guesses(ManualClock())
    guesses.check("friend")
    guesses.was_right("friend")
    compared(guesses, [f"foe {i}" for i in range(100)], 1000)
    guesses.check("friend")
    with pytest.raises(RateLimited) as refused:
        guesses.check("stranger")
    assert refused.value.retry_after_ms == 100


def test_a_good_caller_that_turns_bad_is_slowed_down_too() -> None:
    guesses = Guesses(ManualClock())
    guesses.was_right("friend")
    assert compared(guesses, ["friend"], 100) == 20


@pytest.mark.scenario("G8")
def test_who_is_known_is_not_shut_out_by_wrong_ones_from_the_same_place() -> None:
    guesses = Guesses(ManualClock())
    guesses.was_right("proxy", b"hers")
    compared(guesses, ["proxy"], 100)
    guesses.check("proxy", b"hers")
    with pytest.raises(RateLimited):
        guesses.check("proxy", b"a guess")
    guesses.was_wrong("proxy", b"hers")
    with pytest.raises(RateLimited):
        guesses.check("proxy", b"hers")


def test_time_heals() -> None:
    clock = ManualClock()
    guesses = Guesses(clock)
    compared(guesses, ["a"], 100)
    with pytest.raises(RateLimited):
        guesses.check("a")
    clock.advance(1.0)
    guesses.check("a")


def test_only_so_many_places_are_remembered() -> None:
    clock = ManualClock()
    guesses = Guesses(clock, most_sources=10)
    for number in range(100):
        guesses.was_right(f"good {number}", b"%d" % number)
        guesses.was_wrong(f"bad {number}")
    assert len(guesses._good) == len(guesses._buckets) == len(guesses._right) == 10
