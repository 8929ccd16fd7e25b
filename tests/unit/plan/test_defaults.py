"""Declared defaults: held exactly, or refused."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.dtypes import (
    BOOL,
    DTYPES,
    FP8E4M3,
    FP8E5M2,
    FP16,
    FP32,
    FP64,
    INT8,
    INT64,
    STRING,
    UINT8,
    UINT64,
    DType,
)
from inferflow.plan.defaults import default_row


@pytest.mark.parametrize(
    ("value", "dtype", "row"),
    [
        (3, INT8, [3]),
        (3.0, INT8, [3]),
        (True, INT8, [1]),
        (2**64 - 1, UINT64, [2**64 - 1]),
        (-(2**63), INT64, [-(2**63)]),
        (0.1, FP32, [np.float32(0.1)]),
        (1, FP64, [1.0]),
        (float("inf"), FP16, [float("inf")]),
        (448.0, FP8E4M3, [448.0]),
        (1, BOOL, [True]),
        (False, BOOL, [False]),
        ("", STRING, [""]),
        ("7", STRING, ["7"]),
    ],
)
def test_a_value_its_type_can_hold(value: Any, dtype: DType, row: list[Any]) -> None:
    found = default_row(value, dtype, 1)
    assert found.dtype == dtype.numpy
    assert found.astype(object).tolist() == row


@pytest.mark.parametrize(
    ("value", "dtype", "why"),
    [
        (128, INT8, "128 does not fit Int8"),
        (-1, UINT8, "-1 does not fit Uint8"),
        (0.5, INT8, "0.5 does not fit Int8"),
        (float("nan"), INT8, "nan does not fit Int8"),
        (float("inf"), INT64, "inf does not fit Int64"),
        (2**64, UINT64, "18446744073709551616 does not fit Uint64"),
        (2, BOOL, "2 does not fit Bool"),
        (1e5, FP16, "100000.0 does not fit FP16"),
        (1e39, FP32, "1e+39 does not fit FP32"),
        (1e6, FP8E5M2, "1000000.0 does not fit FP8E5M2"),
        (500.0, FP8E4M3, "500.0 does not fit FP8E4M3"),
        (10**400, FP64, f"{10**400} does not fit FP64"),
        ("5", FP32, "'5' is not a FP32"),
        (None, INT8, "None is not a Int8"),
        ({"a": 1}, INT8, "{'a': 1} is not a Int8"),
        (5, STRING, "5 is not text; put it in quotes"),
        ([1], STRING, "1 is not text; put it in quotes"),
        ([1, 2], INT8, "[1, 2] has 2 element(s), 1 wanted"),
    ],
)
def test_a_value_its_type_cannot_hold(value: Any, dtype: DType, why: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(why)}$"):
        default_row(value, dtype, 1)


def test_one_value_stands_for_every_element() -> None:
    assert default_row(2, FP32, 3).tolist() == [2.0, 2.0, 2.0]
    assert default_row([1, 2, 3], FP32, 3).tolist() == [1.0, 2.0, 3.0]


SCALARS = st.sampled_from([dtype for dtype in DTYPES.values() if not dtype.is_vector])
PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text()


@given(PLAIN | st.lists(PLAIN, max_size=4), SCALARS, st.integers(1, 3))
def test_any_value_is_held_as_it_is_or_refused(value: Any, dtype: DType, width: int) -> None:
    elements = value if isinstance(value, list) else [value] * width
    try:
        row = default_row(value, dtype, width)
    except ValueError:
        return
    for held, element in zip(row, elements, strict=True):
        if not dtype.is_float:
            assert held == element
        elif not math.isnan(element):
            assert math.isfinite(held) == math.isfinite(element)
