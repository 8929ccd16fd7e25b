"""When a process that ended is started again."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from inferflow.app.processes.restarts import FIRST_WAIT_S, LONGEST_WAIT_S, STABLE_S, Restarts


def story(*lives_s: float) -> Restarts:
    told = Restarts()
    for lived_s in lives_s:
        told = told.after(lived_s)
    return told


def test_the_first_end_is_followed_by_a_start_at_once() -> None:
    assert story(0.1).wait_s == 0
    assert story(STABLE_S * 100).wait_s == 0


def test_a_process_that_keeps_ending_is_started_ever_more_seldom() -> None:
    waits = [story(*[0.1] * ends).wait_s for ends in range(1, 6)]
    assert waits == [0, FIRST_WAIT_S, 2 * FIRST_WAIT_S, 4 * FIRST_WAIT_S, 8 * FIRST_WAIT_S]


def test_a_loop_of_any_length_has_a_longest_wait() -> None:
    assert Restarts(10**6, 10**6).wait_s == LONGEST_WAIT_S


def test_one_that_lived_well_starts_the_story_anew_but_is_counted() -> None:
    told = story(0.1, 0.1, 0.1, STABLE_S)
    assert (told.count, told.wait_s) == (4, 0)


@settings(deadline=None)
@given(st.lists(st.floats(0, 2 * STABLE_S), max_size=50))
def test_waits_follow_from_the_ends_since_one_lived_well(lives_s: list[float]) -> None:
    quick = 0
    for lived_s in lives_s:
        quick = 1 if lived_s >= STABLE_S else quick + 1
    wait_s = 0.0
    for _ in range(quick - 1):
        wait_s = min(LONGEST_WAIT_S, wait_s * 2 or FIRST_WAIT_S)
    assert story(*lives_s).wait_s == wait_s
    assert story(*lives_s).count == len(lives_s)
