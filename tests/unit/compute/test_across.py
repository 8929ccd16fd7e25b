"""Functions across rows against their textbook definitions, written row by row."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.compute import compile_expression
from inferflow.dtypes import FP64

columns = st.lists(
    st.integers(-40, 40).map(lambda n: n / 4) | st.just(math.nan), min_size=1, max_size=12
)


def slow_softmax(xs: list[float]) -> list[float]:
    powers = [math.exp(x / 2) for x in xs]
    return [power / sum(powers) for power in powers]


def slow_zscore(xs: list[float]) -> list[float]:
    spread = statistics.pstdev(xs)
    return [(x - statistics.fmean(xs)) / spread if spread else 0.0 for x in xs]


def slow_percentile(xs: list[float], percent: float) -> float:
    ordered = sorted(xs)
    spot = percent / 100 * (len(xs) - 1)
    low, high = ordered[math.floor(spot)], ordered[math.ceil(spot)]
    return low + (high - low) * (spot - math.floor(spot))


STATISTICS = {
    "sum(x)": math.fsum,
    "mean(x)": statistics.fmean,
    "std(x)": statistics.pstdev,
    "count(x)": len,
    "min(x)": min,
    "reduce_max(x)": max,
    "percentile(x, 30)": lambda xs: slow_percentile(xs, 30),
}
PER_ROW = {
    "zscore(x)": slow_zscore,
    "softmax(x, 2)": slow_softmax,
    "rank(x)": lambda xs: [1 + sum(other > x for other in xs) for x in xs],
    "percent_rank(x)": lambda xs: [
        (sum(other <= x for other in xs) - 1) / (len(xs) - 1) if len(xs) > 1 else 1 for x in xs
    ],
}


@pytest.mark.parametrize("text", STATISTICS)
@given(column=columns)
def test_a_statistic_agrees_with_its_definition_over_the_rows_that_have_a_value(text, column):
    present = [x for x in column if not math.isnan(x)]
    of_nothing = 0.0 if text in ("sum(x)", "count(x)") else math.nan
    expected = STATISTICS[text](present) if present else of_nothing
    answer = compile_expression(text).evaluate([np.array(column)], len(column), precision=FP64)
    np.testing.assert_allclose(answer.values, [expected] * len(column), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("text", PER_ROW)
@given(column=columns)
def test_a_function_agrees_with_its_definition_and_leaves_nan_where_it_is(text, column):
    present = [x for x in column if not math.isnan(x)]
    remaining = iter(PER_ROW[text](present) if present else [])
    expected = [x if math.isnan(x) else next(remaining) for x in column]
    answer = compile_expression(text).evaluate([np.array(column)], len(column), precision=FP64)
    np.testing.assert_allclose(answer.values, expected, rtol=1e-9, atol=1e-12)


@given(column=columns, k=st.integers(0, 14))
def test_topk_flags_the_first_k_rows_of_a_stable_sort(column, k):
    order = sorted((i for i, x in enumerate(column) if not math.isnan(x)), key=lambda i: -column[i])
    flagged = set(order[:k])
    answer = compile_expression(f"topk(x, {k})").evaluate([np.array(column)], len(column))
    assert answer.values.tolist() == [float(i in flagged) for i in range(len(column))]


def test_softmax_of_large_scores_does_not_overflow(evaluate, precision):
    answer = evaluate("softmax(x)", {"x": [1e30, 1e30, -1e30]}, precision=precision)
    assert answer.values.tolist() == [0.5, 0.5, 0]


def test_of_many_equal_values_the_first_rows_are_flagged(evaluate):
    values = evaluate("topk(x, 10)", {"x": np.arange(500) % 3}).values
    assert np.flatnonzero(values).tolist() == list(range(2, 32, 3))
