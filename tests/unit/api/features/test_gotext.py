"""Values as text, as the original prints them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.api.features.gotext import texts_of
from inferflow.dtypes import BOOL, FP8E4M3, FP16, FP32, FP64, INT8, STRING, UINT64, DType


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1_000_000, "1e+06"),
        (1_234_567, "1.234567e+06"),
        (999_999, "999999"),
        (100_000, "100000"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (3, "3"),
        (-2.5, "-2.5"),
        (0.0, "0"),
        (-0.0, "-0"),
        (1e100, "1e+100"),
        (float("nan"), "NaN"),
        (float("inf"), "+Inf"),
        (float("-inf"), "-Inf"),
    ],
)
def test_a_number_has_an_exponent_when_it_is_large_or_small(value: float, text: str) -> None:
    assert texts_of(np.array([[value]]), FP64) == [text]


@pytest.mark.parametrize(
    ("dtype", "value", "text"),
    [
        (FP32, 0.1, "0.1"),
        (FP32, 16_777_216, "1.6777216e+07"),
        (FP16, 0.1, "0.099975586"),
        (FP8E4M3, 448, "448"),
        (INT8, -7, "-7"),
        (UINT64, 2**64 - 1, "18446744073709551615"),
        (BOOL, True, "true"),
        (BOOL, False, "false"),
        (STRING, "a:b", "a:b"),
    ],
)
def test_each_type_has_its_text(dtype: DType, value: object, text: str) -> None:
    assert texts_of(np.array([[value]], dtype.numpy), dtype) == [text]


def test_elements_of_vectors_have_colons_between_and_no_exponent() -> None:
    values = np.array([[1e6, 1e-5, np.nan], [np.inf, -1.5, 1e20]], np.float32)
    assert texts_of(values, FP32.vector) == [
        "1000000:0.00001:NaN",
        "+Inf:-1.5:100000000000000000000",
    ]
    assert texts_of(np.array([[True, False]]), BOOL.vector) == ["1:0"]
    assert texts_of(np.array([[1, -2]], np.int8), INT8.vector) == ["1:-2"]
    assert texts_of(np.array([["x", ""]], object), STRING.vector) == ["x:"]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_text_of_a_float_reads_back_as_itself(value: float) -> None:
    (alone,) = texts_of(np.array([[value]]), FP64)
    (within,) = texts_of(np.array([[value, value]]), FP64.vector)
    assert float(alone) == value
    assert within.split(":") == [within.partition(":")[0]] * 2
    assert float(within.partition(":")[0]) == value
