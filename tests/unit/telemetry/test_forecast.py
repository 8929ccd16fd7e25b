from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.telemetry import TelemetrySettings, open_telemetry
from inferflow.telemetry.forecast import Holt, LoadForecast
from inferflow.telemetry.tally import Tally

Steps = st.lists(st.floats(5, 120), min_size=1, max_size=40)


class Load:
    """Requests that come at a rate, on a clock that is moved; forecast ten minutes ahead."""

    def __init__(self) -> None:
        self.now, self.count = 0.0, 0.0
        self.forecast = LoadForecast(lambda: int(self.count), clock=lambda: self.now)

    def run(self, seconds: float, rate: Callable[[float], float], every: float = 15.0) -> float:
        """The forecast after so long at a rate, read every so often."""
        read, until = 0.0, self.now + seconds
        while self.now < until:
            self.now += every
            self.count += rate(self.now) * every
            read = self.forecast.read()
        return read


def test_nothing_is_expected_before_anything_was_seen() -> None:
    assert Load().forecast.read() == 0.0


def test_a_steady_load_is_expected_to_stay() -> None:
    assert Load().run(1800, lambda _: 200.0) == pytest.approx(200.0, rel=0.01)


def test_a_rising_load_is_expected_to_have_risen_by_then() -> None:
    load = Load()
    assert load.run(3600, lambda at: at / 10) == pytest.approx((3600 + 600) / 10, rel=0.02)


def test_a_load_that_ends_is_not_expected_below_nothing() -> None:
    load = Load()
    load.run(1800, lambda _: 500.0)
    lowest = min(load.run(15, lambda _: 0.0) for _ in range(200))
    assert lowest == 0.0


def test_many_readers_see_the_same_as_one() -> None:
    alone, watched = Load(), Load()
    for _ in range(200):
        expected = alone.run(15, lambda at: at)
        seen = watched.run(15, lambda at: at)
        watched.now += 0.5
        assert watched.forecast.read() == seen == pytest.approx(expected)
        watched.now -= 0.5


def test_a_count_that_falls_is_no_negative_load() -> None:
    load = Load()
    load.run(600, lambda _: 10.0)
    load.count = 0  # a config was removed
    assert load.run(15, lambda _: 0.0) >= 0.0


@given(Steps, st.floats(0, 1e6))
def test_whatever_is_steady_stays_however_it_is_read(steps: list[float], value: float) -> None:
    holt = Holt()
    for after_s in steps:
        holt.see(value, after_s)
    assert holt.ahead(300) == pytest.approx(value, abs=1e-6)


@given(st.lists(st.tuples(st.floats(0, 1e4), st.floats(5, 120)), min_size=1, max_size=40))
def test_twice_the_load_is_twice_the_forecast(seen: list[tuple[float, float]]) -> None:
    once, twice = Holt(), Holt()
    for value, after_s in seen:
        once.see(value, after_s)
        twice.see(2 * value, after_s)
    assert twice.ahead(300) == pytest.approx(2 * once.ahead(300), abs=1e-6)


def test_the_tally_counts_every_request_that_ended(make_shop: Any) -> None:
    tally = Tally()
    shop = make_shop(tally)
    for _ in range(5):
        shop.score()
    shop.fail(entities={})
    assert tally.requests() == 6


def test_a_server_shows_it() -> None:
    telemetry = open_telemetry(TelemetrySettings())
    assert b"\ninferflow_forecast_requests_per_second 0.0\n" in telemetry.render()
    telemetry.close()
