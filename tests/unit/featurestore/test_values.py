"""What people hand in, as elements of a feature's type: strict where casting is lenient."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.dtypes import DTYPES, DType, parse_dtype
from inferflow.errors import CastFailed
from inferflow.featurestore.values import feature_elements

INTEGERS = [DTYPES[code] for code in range(6, 14)]


def typed(values: Any, dtype: str, dim: int = 1) -> list[Any]:
    found: list[Any] = feature_elements(values, parse_dtype(dtype), dim).tolist()
    return found


@pytest.mark.parametrize(
    ("values", "dtype", "expected"),
    [
        ([1, 2.5, True, "4.5"], "FP32", [1.0, 2.5, 1.0, 4.5]),
        ([1, 2.0, "3"], "INT8", [1, 2, 3]),
        ([0, 1.0, True, "false"], "Bool", [False, True, True, False]),
        (["a", 7, 2.5, True, b"x"], "String", ["a", "7", "2.5", "true", "x"]),
        (np.array([1, 2], np.int64), "UINT8", [1, 2]),
        (np.array([1.5, np.nan]), "FP16", [1.5, float("nan")]),
        (np.array(["a", "b"]), "String", ["a", "b"]),
        ([2**64 - 1, 0], "UINT64", [2**64 - 1, 0]),
        ([-1, 2**63], "FP64", [-1.0, float(2**63)]),
        ([float("inf")], "FP32", [float("inf")]),
        (["inf", "-Infinity", "nan"], "FP32", [float("inf"), float("-inf"), float("nan")]),
        ([np.float32(1.5), 2], "FP64", [1.5, 2.0]),
    ],
)
def test_what_fits_is_taken(values: Any, dtype: str, expected: list[Any]) -> None:
    assert repr(typed(values, dtype)) == repr([[value] for value in expected])


@pytest.mark.parametrize(
    ("values", "dtype", "row"),
    [
        ([1, 300], "INT8", 1),
        ([1, 2, -1], "UINT64", 2),
        ([-1, 2**63], "UINT64", 0),
        ([-1, 2**63], "INT64", 1),
        ([2**70], "INT64", 0),
        ([2**70], "String", 0),
        ([10**400], "FP64", 0),
        ([1.0, 1.5], "INT32", 1),
        ([1.0, float("nan")], "INT32", 1),
        ([float(2**63)], "INT64", 0),
        ([1.0, 1e39], "FP32", 1),
        ([70000], "FP16", 0),
        ([1, 449 * 2], "FP8E4M3", 1),
        ([0, 2], "Bool", 1),
        ([1, "x"], "FP32", 1),
        (["1", ""], "FP32", 1),
        (["inf", "1e39"], "FP32", 1),
        (["1", "-1e400"], "FP64", 1),
        (["nan", "500"], "FP8E4M3", 1),
        ([1, {}], "FP32", 1),
        ([1, [1]], "FP32", 1),
        (["a", "\ud800"], "String", 1),
        (np.array(["2024-01-01"], "M8[D]"), "INT64", 0),
        (np.array([[1.0]]), "FP32", 0),
    ],
)
def test_what_does_not_fit_is_refused_with_its_row(values: Any, dtype: str, row: int) -> None:
    with pytest.raises(CastFailed) as refused:
        typed(values, dtype)
    assert refused.value.position == row


def test_a_vector_in_text_is_as_strict_about_its_elements() -> None:
    with pytest.raises(CastFailed, match="1e39") as refused:
        typed(["inf:nan", "1:2", "inf:1e39"], "FP32Vector", 2)
    assert refused.value.position == 2


@pytest.mark.parametrize(
    "values",
    [
        [[1, 2], [3, 4]],
        [(1.0, 2.0), [3, 4]],
        ["1:2", "[3, 4]"],
        ["1,2", [3, 4]],
        np.array([[1, 2], [3, 4]], np.int16),
        [np.array([1, 2]), np.array([3, 4])],
        [np.array([1, 2], np.int8), np.array([3.0, 4.0])],
    ],
)
def test_a_vector_may_come_in_many_shapes(values: Any) -> None:
    assert typed(values, "FP32Vector", 2) == [[1.0, 2.0], [3.0, 4.0]]


@pytest.mark.parametrize(
    "values",
    [
        [[1, 2], [3]],
        [[1, 2], [3, None]],
        [[1, 2], [3, "x"]],
        [[1, 2], "3:4:5"],
        [[1, 2], 3],
        [[1, 2], [[3], [4]]],
    ],
)
def test_a_vector_that_does_not_fit_is_refused_with_its_row(values: Any) -> None:
    with pytest.raises(CastFailed) as refused:
        typed(values, "FP32Vector", 2)
    assert refused.value.position == 1


def test_texts_of_a_string_vector_may_hold_anything() -> None:
    texts = [["a:b", "", "ü"], ["[", ",", "\x00"]]
    assert typed(texts, "StringVector", 3) == texts


@given(st.sampled_from(INTEGERS), st.lists(st.integers(-(2**65), 2**65), min_size=1))
def test_an_integer_is_kept_exactly_or_refused(dtype: DType, values: list[int]) -> None:
    limits = np.iinfo(dtype.numpy)
    bad = [at for at, value in enumerate(values) if not limits.min <= value <= limits.max]
    if not bad:
        assert feature_elements(values, dtype, 1)[:, 0].tolist() == values
        return
    with pytest.raises(CastFailed) as refused:
        feature_elements(values, dtype, 1)
    assert refused.value.position == bad[0]


@given(st.sampled_from(INTEGERS), st.floats() | st.integers(-300, 300).map(float))
def test_a_float_becomes_an_integer_only_when_it_is_one(dtype: DType, value: float) -> None:
    limits = np.iinfo(dtype.numpy)
    fits = value.is_integer() and int(limits.min) <= int(value) <= int(limits.max)
    if fits:
        assert feature_elements([value], dtype, 1).tolist() == [[int(value)]]
    else:
        with pytest.raises(CastFailed):
            feature_elements([value], dtype, 1)
