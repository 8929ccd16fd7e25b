"""Numbers as text: the shortest that reads back, in the ranges callers know."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.api.numerix.number_text import read, written
from inferflow.dtypes import FP32, FP64, DType


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3.0, "3.0"),
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (0.1, "0.1"),
        (1e-5, "0.00001"),
        (9.9e-6, "9.9e-6"),
        (1.5e-7, "1.5e-7"),
        (1e15, "1000000000000000.0"),
        (1e16, "1e16"),
        (1.25e300, "1.25e300"),
        (float("nan"), "NaN"),
        (float("inf"), "inf"),
        (float("-inf"), "-inf"),
    ],
)
def test_64_bit_numbers_are_written_plainly_in_their_range(value: float, text: str) -> None:
    assert written(np.array([value]), FP64) == [text]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.3, "0.3"), (1e-6, "0.000001"), (9e-7, "9e-7"), (1e12, "1000000000000.0"), (1e13, "1e13")],
)
def test_32_bit_numbers_have_a_range_of_their_own(value: float, text: str) -> None:
    assert written(np.array([value], np.float32), FP32) == [text]


@pytest.mark.parametrize("precision", [FP32, FP64], ids=str)
@given(st.data())
def test_what_is_written_reads_back_as_the_same_number(
    precision: DType, data: st.DataObject
) -> None:
    numbers = st.floats(width=32 if precision is FP32 else 64, allow_nan=False)
    values = np.array([data.draw(numbers)], precision.numpy)
    assert read(written(values, precision), precision).tobytes() == values.tobytes()


def nearest(text: str) -> np.float32:
    """The obvious way: of all candidates the one nearest to the exact number, of two the even."""
    exact = Fraction(text)
    middle = np.float32(float(text))
    around = [
        np.nextafter(middle, -np.float32(np.inf)),
        middle,
        np.nextafter(middle, np.float32(np.inf)),
    ]
    finite = [each for each in around if np.isfinite(each)]
    return min(
        finite,
        key=lambda each: (abs(Fraction(float(each)) - exact), int(each.view(np.uint32)) & 1),
    )


@given(
    st.floats(width=32, min_value=2.0**-120, max_value=2.0**120),
    st.sampled_from(["", "0" * 30 + "1", "1"]),
    st.sampled_from([-1, 0, 1]),
)
def test_a_text_is_read_as_the_nearest_32_bit_number(value: float, tail: str, nudge: int) -> None:
    """Right at, just above and just below the middle of two of them, where reading by way of 64
    bits goes wrong."""
    low = np.float32(value)
    middle = (Fraction(float(low)) + Fraction(float(np.nextafter(low, np.float32(np.inf))))) / 2
    exact = middle + nudge * middle / 10**40
    digits = exact.numerator * 10**200 // exact.denominator
    text = f"{digits}{tail}e-{200 + len(tail)}"
    assert read([text], FP32)[0] == nearest(text)
