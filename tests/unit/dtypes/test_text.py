"""The text form of values, and reading it back."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.dtypes import (
    BOOL,
    FP8E4M3,
    FP8E5M2,
    FP16,
    FP32,
    FP64,
    INT8,
    INT64,
    STRING,
    UINT64,
    DType,
    format_text,
    parse_text,
)
from inferflow.errors import CastFailed

WRITTEN = [
    (0.0, "0"), (-0.0, "-0"), (3.0, "3"), (100000.0, "100000"), (999999.0, "999999"),
    (1e6, "1e+06"), (1234567.0, "1.234567e+06"), (0.0001, "0.0001"), (0.00001, "1e-05"),
    (-0.00012345, "-0.00012345"), (1e100, "1e+100"), (5e-324, "5e-324"), (0.1, "0.1"),
    (math.nan, "NaN"), (-math.nan, "NaN"), (math.inf, "+Inf"), (-math.inf, "-Inf"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "text"), WRITTEN)
def test_a_double_is_written_with_the_fewest_digits(value: float, text: str) -> None:
    assert format_text(np.array([value]), FP64) == [text]


def test_narrow_floats_are_written_with_the_digits_of_fp32() -> None:
    assert format_text(np.array([0.1, 12345678, 16777216], np.float32), FP32) == [
        "0.1",
        "1.2345678e+07",
        "1.6777216e+07",
    ]
    assert format_text(np.array([0.1, 65504], np.float16), FP16) == ["0.099975586", "65504"]
    tenth = np.array([0.1], np.float32)
    assert format_text(tenth.astype(FP8E4M3.numpy), FP8E4M3) == ["0.1015625"]
    assert format_text(tenth.astype(FP8E5M2.numpy), FP8E5M2) == ["0.09375"]


def slow_text(value: float, digits: str) -> str:
    """The form built from decimal digits by its definition."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("+Inf" if value > 0 else "-Inf")
    number = Decimal(digits).normalize()
    if number == 0:
        return "-0" if math.copysign(1, value) < 0 else "0"
    exponent = number.adjusted()
    if -4 <= exponent < 6:
        return f"{number:f}"
    sign, shown, _ = number.as_tuple()
    mantissa = str(shown[0]) + ("." + "".join(map(str, shown[1:])) if len(shown) > 1 else "")
    return f"{'-' * sign}{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


@given(st.lists(st.floats(), max_size=20))
def test_doubles_agree_with_the_form_built_by_its_definition(values: list[float]) -> None:
    assert format_text(np.array(values), FP64) == [slow_text(v, repr(v)) for v in values]


@given(st.lists(st.floats(width=32), max_size=20))
def test_single_floats_read_back_as_themselves(values: list[float]) -> None:
    array = np.array(values, np.float32)
    again = parse_text(format_text(array, FP32), FP32)
    np.testing.assert_array_equal(again, array)


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_no_shorter_text_reads_back_as_the_same_single_float(value: float) -> None:
    text = format_text(np.array([value], np.float32), FP32)[0]
    mantissa = re.sub(r"e.*|[-.]", "", text).strip("0")
    if len(mantissa) > 1:
        shorter = f"{value:.{len(mantissa) - 2}e}"
        assert np.float32(float(shorter)) != np.float32(value)


def test_numpy_print_options_do_not_change_the_text() -> None:
    with np.printoptions(precision=2, suppress=True, floatmode="fixed"):
        assert format_text(np.array([1 / 3], np.float32), FP32) == ["0.33333334"]


def test_integers_bools_and_text() -> None:
    assert format_text(np.array([-128, 7], np.int8), INT8) == ["-128", "7"]
    assert format_text(np.array([2**64 - 1], np.uint64), UINT64) == ["18446744073709551615"]
    assert format_text(np.array([True, False]), BOOL) == ["true", "false"]
    assert format_text(np.array(["a,b", ""], object), STRING) == ["a,b", ""]


def test_vectors_are_joined_by_commas() -> None:
    assert format_text(np.array([[1.5, 1e6], [0, -1]]), FP64.vector) == ["1.5,1e+06", "0,-1"]
    assert format_text(np.empty((2, 0)), FP64.vector) == ["", ""]


# --- reading ----------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["1:2.5:3", "1,2.5,3", "1, 2.5 ,3", "[1, 2.5, 3]", '["1",2.5,3]'])
def test_a_vector_is_read_in_each_of_its_forms(text: str) -> None:
    assert parse_text([text], FP32.vector, 3).tolist() == [[1.0, 2.5, 3.0]]


def test_json_keeps_all_digits_of_wide_integers() -> None:
    assert parse_text([f"[{2**64 - 1}]"], UINT64.vector, 1).tolist() == [[2**64 - 1]]


def test_json_arrays_hold_bools_texts_and_special_floats() -> None:
    assert parse_text(["[true,false]"], BOOL.vector, 2).tolist() == [[True, False]]
    assert parse_text(['["a,b","c:d"]'], STRING.vector, 2).tolist() == [["a,b", "c:d"]]
    assert parse_text(["[Infinity]"], FP32.vector, 1).tolist() == [[math.inf]]


def test_text_vectors_keep_their_blanks() -> None:
    assert parse_text(["a, b"], STRING.vector, 2).tolist() == [["a", " b"]]


def test_an_open_length_is_whatever_the_rows_share() -> None:
    assert parse_text(["1,2", "3:4"], INT64.vector, 0).tolist() == [[1, 2], [3, 4]]
    assert parse_text([], INT64.vector, 0).shape == (0, 0)
    assert parse_text(["", "[]"], INT64.vector, 0).shape == (2, 0)


@pytest.mark.parametrize(
    ("texts", "dim", "position", "what"),
    [
        (["1,2", "1,2,3"], 2, 1, "3 elements where Int64Vector of 2"),
        (["1,2", ""], 0, 1, "0 elements where Int64Vector of 2"),
        (["1,2", "1,,"], 0, 1, "3 elements"),
        (["1,2", "3,x"], 2, 1, "'x' does not read as Int64"),
        (["1,2", "1,"], 2, 1, "'' does not read as Int64"),
        (["[1,2", "1,2"], 2, 0, "is not a JSON array"),
        (["[1,[2]]"], 2, 0, "neither number, bool nor text"),
        (["[1,null]"], 2, 0, "neither number, bool nor text"),
        (["[" * 100_000], 2, 0, "is not a JSON array"),
        ([None], 2, 0, "'NoneType' is not text"),
    ],
)
def test_a_vector_that_does_not_read_names_its_row(
    texts: list[Any], dim: int, position: int, what: str
) -> None:
    with pytest.raises(CastFailed, match=re.escape(what)) as caught:
        parse_text(texts, INT64.vector, dim)
    assert caught.value.position == position


@pytest.mark.parametrize(
    ("text", "value"),
    [("inf", math.inf), ("-Inf", -math.inf), ("+Inf", math.inf), ("1e400", math.inf), ("+1.", 1.0)],
)
def test_floats_are_read_in_decimal_scientific_and_special_forms(text: str, value: float) -> None:
    assert parse_text([text], FP64).tolist() == [value]


def test_reading_text_as_text_checks_that_it_is() -> None:
    assert parse_text(["a", ""], STRING).tolist() == ["a", ""]
    with pytest.raises(CastFailed, match="'int' is not text"):
        parse_text(["a", 1], STRING)


SIGNED = st.integers(-(2**63), 2**63 - 1)


@given(st.integers(0, 4).flatmap(lambda d: st.lists(st.lists(SIGNED, min_size=d, max_size=d))))
def test_integer_vectors_read_back_as_themselves(rows: list[list[int]]) -> None:
    width = len(rows[0]) if rows else 0
    array = np.array(rows, np.int64).reshape(len(rows), width)
    assert parse_text(format_text(array, INT64.vector), INT64.vector, 0).tolist() == rows


@pytest.mark.parametrize("dtype", [FP16, FP8E4M3, FP8E5M2], ids=repr)
def test_every_finite_value_of_a_narrow_float_reads_back(dtype: DType) -> None:
    codes = np.arange(2 ** (8 * dtype.size), dtype=f"<u{dtype.size}").view(dtype.numpy)
    finite = codes[np.isfinite(codes.astype(np.float32))]
    again = parse_text(format_text(finite, dtype), dtype)
    assert again.tobytes() == finite.tobytes()
