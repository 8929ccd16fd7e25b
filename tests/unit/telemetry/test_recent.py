"""Percentiles of recent values, from buckets."""

from __future__ import annotations

from bisect import bisect_left

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.telemetry.histogram import LATENCY_S, Histogram, quantile
from inferflow.telemetry.recent import Recent

VALUES = st.lists(st.floats(1e-6, 9.9), min_size=1, max_size=60)


@given(VALUES, st.floats(0.01, 1))
def test_a_quantile_lies_in_the_bucket_of_the_true_one(values: list[float], share: float) -> None:
    histogram = Histogram(LATENCY_S)
    for value in values:
        histogram.add(value)
    found = quantile(LATENCY_S, histogram.counts, share)
    wanted = share * len(values)
    true = next(value for n, value in enumerate(sorted(values), 1) if n >= wanted - 1e-9)
    bucket = bisect_left(LATENCY_S, true)
    low = LATENCY_S[bucket - 1] if bucket else 0.0
    assert low <= found <= LATENCY_S[bucket] + 1e-12


def test_nothing_counted_is_zero_and_the_last_bound_stands_for_what_is_beyond() -> None:
    assert quantile((1, 2), [0, 0, 0], 0.5) == 0
    assert quantile((1, 2), [0, 0, 3], 0.5) == 2


def test_only_what_came_between_the_oldest_and_the_newest_look_counts() -> None:
    recent: Recent[str] = Recent((1.0, 2.0, 3.0), looks=2)
    assert recent.percentiles("a") == (0, 0, 0)
    assert recent.overall() == (0, 0, 0)
    recent.look({"a": [100, 0, 0, 0]})
    assert recent.percentiles("a")[0] == pytest.approx(0.5)
    recent.look({"a": [100, 0, 10, 0]})
    recent.look({"a": [100, 0, 10, 0], "b": [0, 10, 0, 0]})
    assert recent.percentiles("a")[0] == pytest.approx(2.5)
    assert recent.percentiles("b")[0] == pytest.approx(1.5)
    assert recent.overall()[0] == pytest.approx(2.0)
    recent.look({"a": [100, 0, 10, 0]})
    recent.look({"a": [100, 0, 10, 0]})
    assert recent.percentiles("a") == (0, 0, 0)
