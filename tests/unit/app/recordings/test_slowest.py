"""Which requests count as slow."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from inferflow.app.recordings.slowest import Slowest
from inferflow.testing import ManualClock

DURATIONS = st.lists(st.integers(1, 50), max_size=60)


@given(DURATIONS, st.integers(1, 5), st.integers(0, 20))
def test_the_slowest_are_kept_as_sorting_would_choose_them(
    durations: list[int], most: int, at_least: int
) -> None:
    slowest = Slowest[int](most, at_least_s=at_least, clock=ManualClock())
    for duration in durations:
        if slowest.is_slow(duration):
            slowest.offer(duration, duration)
    obvious = sorted((each for each in durations if each > at_least), reverse=True)[:most]
    assert sorted(slowest.kept(), reverse=True) == obvious


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 12)), max_size=60))
def test_what_is_older_than_two_windows_is_gone_and_what_is_in_this_one_counts(
    arrivals: list[tuple[int, int]],
) -> None:
    clock = ManualClock()
    slowest = Slowest[tuple[int, float]](2, window_s=10, clock=clock)
    for duration, pause_s in arrivals:
        clock.advance(pause_s)
        if slowest.is_slow(duration):
            slowest.offer(duration, (duration, clock()))
    kept = slowest.kept()
    assert len(kept) <= 4
    assert all(clock() - at < 20 for _, at in kept)
    if arrivals:
        assert kept


def test_a_new_window_takes_what_the_last_one_would_have_turned_away() -> None:
    clock = ManualClock()
    slowest = Slowest[str](1, window_s=10, clock=clock)
    slowest.offer(5.0, "slow")
    assert not slowest.is_slow(1.0)
    clock.advance(10)
    assert slowest.is_slow(1.0)
    slowest.offer(1.0, "slow for this window")
    assert sorted(slowest.kept()) == ["slow", "slow for this window"]
    clock.advance(10)
    assert slowest.kept() == ["slow for this window"]
    clock.advance(20)
    assert slowest.kept() == []
