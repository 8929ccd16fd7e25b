"""Keeping calls back, with a clock and a chance that are told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.client.throttling import WINDOW_S, Throttle
from inferflow.errors import InvalidInput, Overloaded
from inferflow.testing import ManualClock

EVENTS = st.lists(
    st.tuples(st.floats(0, 0.5), st.sampled_from(["accepted", "refused"])), max_size=60
)


class Even:
    """Chances that go evenly from 0 to 1, in turn."""

    def __init__(self) -> None:
        self._at = 0

    def __call__(self) -> float:
        self._at = (self._at + 61) % 100
        return self._at / 100


def is_sent(throttle: Throttle) -> bool:
    try:
        throttle.check()
    except Overloaded:
        return False
    return True


@given(EVENTS, st.floats(1, 5), st.floats(0, 1, exclude_max=True))
def test_a_call_is_kept_by_the_formula_of_what_the_window_holds(
    events: list[tuple[float, str]], multiple: float, chance: float
) -> None:
    clock = ManualClock()
    throttle = Throttle(multiple, clock=clock, chance=lambda: chance)
    slices: list[tuple[float, list[str]]] = []
    for pause_s, ended in events:
        clock.advance(pause_s)
        if not slices or clock() - slices[-1][0] >= WINDOW_S / 10:
            slices.append((clock(), []))
        slices[-1][1].append(ended)
        throttle.ended(None if ended == "accepted" else 70)
    seen = [each for began, all_of in slices if began >= clock() - WINDOW_S for each in all_of]
    share = (len(seen) - multiple * seen.count("accepted")) / (len(seen) + 1)
    assert is_sent(throttle) is not (len(seen) >= 10 and chance < share)


@pytest.mark.scenario("I1")
@pytest.mark.parametrize("times", [3, 10])
def test_a_server_sees_twice_what_it_takes_however_much_is_asked_for(times: int) -> None:
    clock, sent, taken = ManualClock(), 0, 0
    throttle = Throttle(2.0, clock=clock, chance=Even())
    for _ in range(times * 4000):
        clock.advance(0.001 / times)
        if not is_sent(throttle):
            continue
        sent += clock() > WINDOW_S
        if taken < clock() * 1000:  # of which the server takes so many in a second
            taken += 1
            throttle.ended()
        else:
            throttle.ended(70)
    assert taken >= 3900
    assert sent <= 2.2 * 2000


def test_what_is_kept_tells_the_servers_hint_and_that_it_was_not_sent() -> None:
    throttle = Throttle(2.0, clock=ManualClock(), chance=lambda: 0.0)
    for _ in range(10):
        throttle.ended(70)
    with pytest.raises(Overloaded, match=r"this one was not sent; try again in 70 ms") as kept:
        throttle.check()
    assert kept.value.is_local
    assert kept.value.retry_after_ms == 70


def test_a_few_refusals_keep_nothing_back() -> None:
    throttle = Throttle(2.0, clock=ManualClock(), chance=lambda: 0.0)
    for _ in range(9):
        throttle.ended(70)
        assert is_sent(throttle)


@pytest.mark.scenario("I1")
def test_when_the_load_is_over_so_is_the_keeping_within_two_seconds() -> None:
    clock = ManualClock()
    throttle = Throttle(2.0, clock=clock, chance=lambda: 0.0)
    for _ in range(1000):
        throttle.ended(70)
    assert not is_sent(throttle)
    clock.advance(2.0)
    clock.advance(0.001)
    assert is_sent(throttle)


def test_without_a_multiple_everything_is_sent() -> None:
    throttle = Throttle(None, clock=ManualClock(), chance=lambda: 0.0)
    for _ in range(100):
        throttle.ended(70)
    assert is_sent(throttle)


@pytest.mark.parametrize("multiple", [0.5, -1.0, float("nan")])
def test_a_multiple_that_would_keep_everything_is_refused(multiple: float) -> None:
    with pytest.raises(InvalidInput, match="from 1 on"):
        Throttle(multiple)
