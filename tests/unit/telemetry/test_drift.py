"""Columns that no longer look as they did, and who is told."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.telemetry import TelemetrySettings, open_telemetry
from inferflow.telemetry.drift import BINS, DriftRule, DriftWatch, Histogram, edges_of, psi
from inferflow.telemetry.drift_observer import DriftObserver, DriftOptions
from inferflow.telemetry.drift_webhook import Webhook
from inferflow.testing import model

from ...servers.webhook import listening

RULE = DriftRule(window=500, threshold=0.25, windows=2)
numbers = st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=200)


def normal(size: int, mean: float = 0.0, seed: int = 1) -> Any:
    return np.random.default_rng(seed).normal(mean, 1.0, size)


def turns(watch: DriftWatch, *windows: Any) -> list[str | None]:
    return [watch.add(window) for window in windows]


# --- counting and distance ------------------------------------------------------------------


@given(numbers)
def test_every_value_is_in_exactly_one_bin(values: list[float]) -> None:
    given_values = np.array(values)
    edges = edges_of(given_values)
    counted = Histogram(edges)
    counted.add(given_values)
    real = [value for value in values if abs(value) < 1e100]
    slow = [
        sum(sum(edge < value for edge in edges) == n for value in real)
        for n in range(len(edges) + 1)
    ]
    assert counted.counts.tolist() == [*slow, len(values) - len(real)]


@given(numbers, numbers)
def test_equal_shares_have_no_distance_and_others_a_positive_one(
    one: list[float], other: list[float]
) -> None:
    edges = edges_of(np.array(one))
    first, second = Histogram(edges), Histogram(edges)
    first.add(np.array(one))
    second.add(np.array(other))
    assert psi(first.shares(), first.shares()) == 0.0
    assert psi(first.shares(), second.shares()) >= 0.0
    assert np.isfinite(psi(first.shares(), second.shares()))


def test_values_that_differ_are_cut_into_bins_of_equal_share() -> None:
    counted = Histogram(edges_of(np.arange(1000.0)))
    counted.add(np.arange(1000.0))
    assert counted.counts.tolist() == [100] * BINS + [0]


def test_a_look_tells_mean_spread_and_what_is_missing() -> None:
    counted = Histogram(edges_of(np.arange(4.0)))
    counted.add(np.array([1.0, 3.0, np.nan, np.inf]))
    look = counted.beside(counted.shares())
    assert (look.psi, look.mean, look.std, look.missing) == (0.0, 2.0, 1.0, 0.5)


# --- episodes -------------------------------------------------------------------------------


def test_more_of_the_same_is_no_drift() -> None:
    watch = DriftWatch(RULE)
    assert turns(watch, *(normal(500, seed=n) for n in range(8))) == [None] * 8
    assert watch.last is not None
    assert watch.last.psi < 0.1


def test_an_episode_begins_once_and_is_over_once() -> None:
    watch = DriftWatch(RULE)
    there, gone = (normal(500, 2.0, seed=n) for n in (2, 3)), normal(500, seed=4)
    assert turns(watch, normal(500)) == [None]
    assert turns(watch, *there) == [None, "begun"]
    assert turns(watch, normal(500, 2.0, seed=5)) == [None]
    assert turns(watch, gone, gone) == ["over", None]


def test_one_odd_window_is_no_episode() -> None:
    watch = DriftWatch(RULE)
    odd = normal(500, 5.0)
    assert turns(watch, normal(500), odd, normal(500, seed=2), odd) == [None] * 4


def test_values_that_go_missing_are_drift() -> None:
    watch = DriftWatch(RULE)
    half = np.where(np.arange(500) % 2, np.nan, normal(500))
    assert turns(watch, normal(500), half, half) == [None, None, "begun"]


def test_a_column_that_was_always_the_same_drifts_when_it_changes() -> None:
    watch = DriftWatch(RULE)
    assert turns(watch, np.full(500, 7.0), np.full(500, 7.0)) == [None, None]
    assert turns(watch, np.full(500, 8.0), np.full(500, 8.0)) == [None, "begun"]


def test_what_is_remembered_does_not_grow() -> None:
    watch = DriftWatch(RULE)
    for n in range(50):
        watch.add(normal(500, seed=n))
    assert watch._first == []
    assert watch._window is not None
    assert watch._window.size < RULE.window


# --- watching requests ----------------------------------------------------------------------


class Rising:
    """A model whose scores move when it is told to."""

    def __init__(self) -> None:
        self.by = 0.0

    def __call__(self, x: Any) -> Any:
        return x.sum(axis=1) + self.by


def test_a_webhook_is_told_once_of_scores_that_drift_and_once_that_it_is_over(
    make_shop: Any,
) -> None:
    rising = Rising()
    models = {"ranker": model(rising, inputs={"x": "FP32[N,3]"}, outputs={"s": "FP32[N]"})}
    with listening() as hook:
        hook.refusals = 2
        webhook = Webhook(hook.url, "secret", first_pause_s=0.001)
        rule = DriftRule(window=30, windows=2)
        drift = DriftObserver(
            DriftOptions(1.0, ("product:facts:*",), rule, webhook), now=lambda: 5.0
        )
        shop = make_shop(drift, world={"models": models})

        def ask(times: int) -> None:
            for _ in range(times):
                shop.score()
                while not drift._runs.empty():  # so that none is passed over
                    pass

        ask(20)
        rising.by = 100.0
        ask(40)
        begun = hook.next()
        drifted = {labels for labels, is_drifting in drift.drifting() if is_drifting}
        rising.by = 0.0
        ask(20)
        over = hook.next()
        drift.close()
        assert hook.bodies.empty()
    assert (begun["event"], over["event"]) == ("drift_begun", "drift_over")
    assert (begun["config"], begun["column"]) == ("shop", "blend:score")
    assert begun["at_ms"] == 5000
    assert begun["psi"] > begun["threshold"] > over["psi"]
    assert dict(drift.distances()).keys() == {
        ("shop", "blend:score"),
        ("shop", "product:facts:price"),
        ("shop", "product:facts:rating"),
    }
    assert drifted == {("shop", "blend:score")}
    assert not any(is_drifting for _, is_drifting in drift.drifting())
    assert {labels: n for labels, n in drift.episodes() if n} == {("shop", "blend:score"): 1}
    assert drift.messages() == [(("ok",), 2), (("failed",), 0)]
    body = json.dumps(begun, sort_keys=True).encode()
    signed = hmac.new(b"secret", body, hashlib.sha256).hexdigest()
    assert hook.headers[0]["x-inferflow-signature"] == f"sha256={signed}"


def test_a_webhook_that_never_answers_is_given_up_and_told_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    pauses: list[float] = []

    def wait(seconds: float) -> bool:
        pauses.append(seconds)
        return False

    assert not Webhook("http://127.0.0.1:1/", attempts=4).tell({"event": "drift_begun"}, wait)
    assert pauses == [1.0, 2.0, 4.0]
    assert caplog.messages == ["drift_webhook_refused"] * 4 + ["drift_webhook_failed"]


def test_messages_that_nobody_takes_are_counted(make_shop: Any) -> None:
    rising = Rising()
    models = {"ranker": model(rising, inputs={"x": "FP32[N,3]"}, outputs={"s": "FP32[N]"})}
    webhook = Webhook("http://127.0.0.1:1/", attempts=1)
    drift = DriftObserver(DriftOptions(1.0, rule=DriftRule(3, windows=1), webhook=webhook))
    shop = make_shop(drift, world={"models": models})
    while not drift.distances():
        shop.score()
    rising.by = 100.0
    while not any(count for _, count in drift.messages()):
        shop.score()
    drift.close()
    assert dict(drift.messages())["failed",] >= 1


def test_a_server_shows_what_drifts(make_shop: Any) -> None:
    telemetry = open_telemetry(TelemetrySettings())
    drift = DriftObserver(DriftOptions(1.0, rule=DriftRule(window=3, windows=1)))
    telemetry.watch_drift(drift)
    shop = make_shop(drift)
    while not drift.distances():
        shop.score()
    page = telemetry.render().decode()
    drift.close()
    telemetry.close()
    assert 'inferflow_drift_active{column="blend:score",config="shop"} 0.0' in page
    assert 'inferflow_drift_episodes_total{column="blend:score",config="shop"} 0.0' in page
    assert "inferflow_drift_webhook_messages_total{" not in page  # nobody is to be told


def test_nothing_is_looked_at_beyond_the_share(make_shop: Any) -> None:
    drift = DriftObserver(DriftOptions(0.1), chance=lambda: 0.1)
    shop = make_shop(drift)
    for _ in range(10):
        shop.score()
    drift.close()
    assert drift._watches == {}


def test_a_config_that_is_removed_is_forgotten(make_shop: Any) -> None:
    drift = DriftObserver(DriftOptions(1.0, rule=DriftRule(window=3, windows=1)))
    shop = make_shop(drift)
    while not drift.distances():
        shop.score()
    drift.close()
    drift.plan_removed("shop")
    assert drift.distances() == []
    assert drift.drifting() == drift.episodes() == []
