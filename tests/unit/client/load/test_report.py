"""What is said about a load."""

from __future__ import annotations

import math
from array import array
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.client.load.plan import Call, Load
from inferflow.client.load.report import SHARES, histogram, percentiles, report_of
from inferflow.client.load.tally import Tally, merged

LOAD = Load("t:1", (Call("/s/A", b""),), seconds=1, rate=10)
LATENCIES = st.lists(st.floats(1e-3, 1e5), min_size=1, max_size=200)


@given(LATENCIES)
def test_percentiles_agree_with_the_obvious_definition(values: list[float]) -> None:
    ordered = sorted(values)
    assert percentiles(np.array(values)) == {
        name: ordered[max(0, math.ceil(len(values) * share / 100) - 1)]
        for name, share in SHARES.items()
    }


@given(LATENCIES)
def test_a_histogram_counts_every_value_between_its_bounds(values: list[float]) -> None:
    bars = histogram(np.array(values))
    below = 0.0
    for bound, count in bars:
        assert count == sum(below < value <= bound for value in values)
        below = bound
    assert sum(count for _, count in bars) == len(values)


def test_a_report_of_nothing_has_no_percentiles_and_no_chart() -> None:
    report = report_of(LOAD, Tally(window_s=1))
    assert (report.answered, report.per_second) == (0, 0.0)
    assert (report.latency_ms, report.late_ms, report.histogram) == ({}, {}, [])
    assert report.doubts == ()


def test_throughput_counts_answers_inside_the_window() -> None:
    tally = Tally(window_s=2, latencies_s=array("d", [0.1] * 10), answered_in_window=8)
    report = report_of(LOAD, tally)
    assert (report.answered, report.per_second) == (10, 4)
    assert report.latency_ms["max"] == pytest.approx(100)


@pytest.mark.parametrize(("busy", "doubts"), [(0.5, 0), (0.95, 1)])
def test_a_generator_that_worked_all_the_time_is_in_doubt(busy: float, doubts: int) -> None:
    assert len(report_of(LOAD, Tally(window_s=1, busy=busy)).doubts) == doubts


@pytest.mark.parametrize(("late", "doubts"), [([0.0] * 99 + [0.1], 0), ([0.0] * 98 + [0.1] * 2, 1)])
def test_one_late_call_in_a_hundred_is_forgiven(late: list[float], doubts: int) -> None:
    tally = Tally(window_s=1, late_s=array("d", late))
    assert len(report_of(LOAD, tally).doubts) == doubts


def test_tallies_of_processes_become_one() -> None:
    one = Tally(
        1.0, array("d", [1]), array("d", [2]), 1, Counter(A=1, B=1), {"A": "first"}, 3, busy=0.2
    )
    one.failed_s = {"A": array("d", [7]), "B": array("d", [8])}
    other = Tally(
        2.0, array("d", [4]), array("d", [5]), 2, Counter(A=2), {"A": "late"}, 6, busy=0.9
    )
    other.failed_s = {"A": array("d", [9, 10])}
    whole = merged([one, other])
    assert whole == Tally(
        2.0,
        array("d", [1, 4]),
        array("d", [2, 5]),
        3,
        Counter(A=3, B=1),
        {"A": "first"},
        9,
        busy=0.9,
        failed_s={"A": array("d", [7, 9, 10]), "B": array("d", [8])},
    )
