"""The re-rank against a greedy loop that recomputes every penalty from scratch."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.compute import compile_expression
from inferflow.dtypes import FP64
from inferflow.errors import ComputeFailed

# Quarters and halves are exact in binary, so that a tie is a tie in both versions.
scores = st.integers(0, 4).map(lambda n: n / 4)
strengths = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])


def slow_order(score, penalty, strength):
    """Rows in the order they are picked; penalty(row, picked rows)."""
    low, high = min(score), max(score)
    spread = (high - low) or 1.0
    left, picked = list(range(len(score))), []
    while left:
        best = max(
            left,
            key=lambda row: (
                (1 - strength) * ((score[row] - low) / spread) - strength * penalty(row, picked),
                score[row],
                -row,
            ),
        )
        left.remove(best)
        picked.append(best)
    return picked


def fast_order(score, group, strength):
    answer = compile_expression(f"diversity(s, g, {strength})").evaluate(
        [np.array(score), group], len(score), precision=FP64
    )
    return np.argsort(-answer.values, kind="stable").tolist(), answer.values


@given(st.data(), st.lists(scores, min_size=1, max_size=12), strengths)
def test_categories_are_picked_as_in_the_obvious_greedy_loop(data, score, strength):
    of_each = st.lists(st.sampled_from("xyz"), min_size=len(score), max_size=len(score))
    category = data.draw(of_each)

    def penalty(row, picked):
        same = sum(category[other] == category[row] for other in picked)
        return same / (same + 1)

    expected = slow_order(score, penalty, strength)
    assert fast_order(score, np.array(category, object), strength)[0] == expected
    assert fast_order(score, np.array(category), strength)[0] == expected


@given(st.data(), st.lists(scores, min_size=1, max_size=10), strengths)
def test_vectors_are_picked_as_in_the_obvious_greedy_loop(data, score, strength):
    axis = st.sampled_from([(1.0, 0.0, 0.0), (0.0, 2.0, 0.0), (0.0, 0.0, -4.0), (0.0, 0.0, 4.0)])
    vectors = data.draw(
        st.lists(axis | st.just((0.0, 0.0, 0.0)), min_size=len(score), max_size=len(score))
    )

    def similarity(one, other):
        lengths = math.hypot(*one) * math.hypot(*other)
        return sum(a * b for a, b in zip(one, other, strict=True)) / lengths if lengths else 0.0

    def penalty(row, picked):
        return max([0.0, *(similarity(vectors[row], vectors[other]) for other in picked)])

    expected = slow_order(score, penalty, strength)
    assert fast_order(score, np.array(vectors), strength)[0] == expected


def test_the_result_falls_evenly_from_1_to_1_over_n():
    _, values = fast_order([3.0, 1.0, 2.0, 5.0], np.array([1, 1, 2, 2]), 0.5)
    assert sorted(values) == [0.25, 0.5, 0.75, 1.0]


def test_without_strength_the_order_is_that_of_the_score():
    assert fast_order([3.0, 1.0, 3.0, 5.0], np.array([1, 1, 1, 1]), 0)[0] == [3, 0, 2, 1]


def test_ids_that_one_precision_cannot_tell_apart_are_different_categories():
    ids = np.array([2**60, 2**60, 2**60 + 1])
    assert fast_order([1.0, 0.9, 0.1], ids, 1)[0] == [0, 2, 1]


def test_a_computed_column_may_be_the_group(evaluate):
    columns = {"s": [1.0, 0.9, 0.1], "price": [12.0, 15.0, 21.0]}
    values = evaluate("diversity(s, floor(price / 10), 1)", columns).values
    np.testing.assert_allclose(values, [1, 1 / 3, 2 / 3])


def test_rows_without_a_score_are_left_out_of_the_order(evaluate):
    columns = {"s": [math.nan, 0.5, 1.0], "b": [1.0, 1.0, 0.0], "g": ["x", "x", "x"]}
    np.testing.assert_array_equal(
        evaluate("diversity(s, g, 0.5)", columns).values, [math.nan, 0.5, 1]
    )
    marked = evaluate("diversity(s / b, g, 0.5)", columns)
    np.testing.assert_array_equal(marked.values, [math.nan, 1, math.nan])
    assert marked.invalid.tolist() == [False, False, True]


def test_infinite_scores_come_first_and_last():
    assert fast_order([1.0, math.inf, -math.inf, 2.0], np.array([1, 2, 3, 4]), 0.5)[0] == [
        1,
        3,
        0,
        2,
    ]


def test_a_vector_that_is_not_finite_is_similar_to_nothing():
    vectors = np.array([[1.0, 0.0], [1.0, 0.0], [math.nan, 1.0]])
    assert fast_order([1.0, 0.9, 0.0], vectors, 0.75)[0] == [0, 2, 1]


def test_one_group_for_all_rows_keeps_the_order_of_the_score():
    assert fast_order([1.0, 3.0], np.array(["x"]), 0.5)[0] == [1, 0]
    assert fast_order([1.0, 3.0], np.array([[1.0, 2.0]]), 0.5)[0] == [1, 0]


def test_missing_text_is_a_category_of_its_own():
    assert fast_order([1.0, 0.9, 0.1], np.array([None, None, "x"], object), 1)[0] == [0, 2, 1]


def test_categories_that_cannot_be_compared_fail():
    category = np.empty(2, object)
    category[:] = [[1], [2]]
    with pytest.raises(ComputeFailed, match="cannot compare these categories"):
        fast_order([1.0, 0.5], category, 0.5)


def test_many_equal_rows_keep_their_order():
    rows = 500
    assert fast_order([1.0] * rows, np.zeros(rows), 0.5)[0] == list(range(rows))
