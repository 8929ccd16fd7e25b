"""How often a key may ask."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.access import KeyRates, RateLimit, TokenBucket
from inferflow.errors import InvalidInput, RateLimited
from inferflow.testing import ManualClock

from ...robustness.scenario import StartScenario


def test_a_burst_goes_through_and_then_the_steady_rate_holds() -> None:
    bucket = TokenBucket(RateLimit(per_second=2, burst=3), now=0.0)
    assert [bucket.take(0.0) for _ in range(3)] == [0, 0, 0]
    assert bucket.take(0.0) == pytest.approx(0.5)
    assert bucket.take(0.5) == 0
    assert bucket.take(0.5) == pytest.approx(0.5)


@given(
    st.floats(0.5, 50),
    st.integers(1, 10),
    st.lists(st.floats(0, 2, allow_nan=False), min_size=1, max_size=60),
)
def test_no_stretch_of_time_lets_more_through_than_the_limit(
    per_second: float, burst: int, gaps: list[float]
) -> None:
    bucket = TokenBucket(RateLimit(per_second, burst), now=0.0)
    now, let_through = 0.0, []
    for gap in gaps:
        now += gap
        if bucket.take(now) == 0:
            let_through.append(now)
    for first, start in enumerate(let_through):
        for last, end in enumerate(let_through[first:], start=first):
            assert last - first + 1 <= burst + (end - start) * per_second + 1e-6


@given(st.floats(0.5, 50), st.integers(1, 5))
def test_coming_back_when_told_is_enough(per_second: float, burst: int) -> None:
    bucket = TokenBucket(RateLimit(per_second, burst), now=0.0)
    for _ in range(burst):
        bucket.take(0.0)
    wait_s = bucket.take(0.0)
    assert bucket.take(wait_s + 1e-9) == 0


def test_looking_takes_nothing() -> None:
    bucket = TokenBucket(RateLimit(1, 1), now=0.0)
    assert [bucket.wait(0.0), bucket.wait(0.0), bucket.take(0.0)] == [0, 0, 0]
    assert bucket.wait(0.25) == pytest.approx(0.75)


def test_a_clock_that_goes_back_gives_nothing_away(scenario: StartScenario) -> None:
    tried = scenario("J3", "the clock of a rate limit goes back")
    bucket = TokenBucket(RateLimit(1, 1), now=10.0)
    gained = [at for at in (10.0, 5.0, 10.5) if bucket.take(at) == 0]
    tried.at_most("calls let through, one being due", len(gained), 1)
    assert gained == [10.0]


def test_one_key_that_floods_does_not_hold_up_others(scenario: StartScenario) -> None:
    tried = scenario("G9", "one key of three floods")
    clock = ManualClock()
    rates = KeyRates(clock)
    limit = RateLimit(per_second=1, burst=1)
    rates.take("loud", limit)
    with pytest.raises(RateLimited) as refused:
        rates.take("loud", limit)
    hint = refused.value.retry_after_ms
    tried.holds("told when to come back", f"{hint} ms", hint == 1000)
    rates.take("quiet", limit)
    rates.take("free", None)
    tried.shown("the others are let through", "2 of 2")
    clock.advance(1.0)
    rates.take("loud", limit)


def test_a_changed_limit_holds_at_once() -> None:
    rates = KeyRates(ManualClock())
    rates.take("k", RateLimit(1, 1))
    rates.take("k", RateLimit(1, 2))


def test_the_keys_that_were_idle_longest_are_forgotten_first() -> None:
    rates = KeyRates(ManualClock(), most_keys=2)
    limit = RateLimit(1, 1)
    for key_id in ("a", "b", "a", "c"):
        if key_id == "a" and len(rates) == 2:
            with pytest.raises(RateLimited):
                rates.take("a", limit)
        else:
            rates.take(key_id, limit)
    assert len(rates) == 2
    with pytest.raises(RateLimited):
        rates.take("a", limit)
    rates.take("b", limit)


@pytest.mark.parametrize(
    ("per_second", "burst"), [(0, 1), (-1, 1), (float("nan"), 1), (float("inf"), 1), (1, 0)]
)
def test_limits_that_mean_nothing_are_refused(per_second: float, burst: int) -> None:
    with pytest.raises(InvalidInput):
        RateLimit(per_second, burst)
