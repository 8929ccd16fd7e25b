"""The thirty types and what people call them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from inferflow.dtypes import (
    DTYPES,
    FP8E4M3,
    FP32,
    INT16,
    INT64,
    STRING,
    DType,
    dtype_by_code,
    dtype_of,
    parse_dtype,
)
from inferflow.errors import InvalidInput


def test_vectors_follow_their_scalars_in_the_same_order() -> None:
    assert [DTYPES[code].name for code in (1, 4, 14, 15, 16, 19, 29, 30)] == [
        "FP8E5M2", "FP32", "String", "Bool", "FP8E5M2Vector", "FP32Vector", "StringVector",
        "BoolVector",
    ]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=repr)
def test_each_type_reads_back_from_its_own_name_in_any_case(dtype: DType) -> None:
    for text in (
        dtype.name,
        dtype.name.upper(),
        f"DataType{dtype.name}",
        f" {dtype.name.lower()} ",
    ):
        assert parse_dtype(text) is dtype
    assert dtype_by_code(dtype.code) is dtype
    assert dtype.vector.element is dtype.element
    assert pickle.loads(pickle.dumps(dtype)) is dtype


@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        ("float", FP32), ("short", INT16), ("long", INT64), ("BYTES", STRING),
        ("float8_e4m3fn", FP8E4M3), ("vector_fp32", FP32.vector), ("f32vector", FP32.vector),
        ("DataTypeStringVector", STRING.vector),
    ],
)  # fmt: skip
def test_common_spellings(text: str, dtype: DType) -> None:
    assert parse_dtype(text) is dtype


def test_an_unknown_type_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(InvalidInput, match="'flot32' is not a data type; did you mean 'FP32'"):
        parse_dtype("flot32")
    with pytest.raises(InvalidInput, match="31 is not a data type number"):
        dtype_by_code(31)


def test_an_array_has_the_type_of_its_elements() -> None:
    assert dtype_of(np.zeros(1, ">f4")) is FP32
    assert dtype_of(np.zeros((1, 2), np.int64)) is INT64.vector
    assert dtype_of(np.array(["a"])) is STRING
    assert dtype_of(np.zeros(1, FP8E4M3.numpy)) is FP8E4M3
    with pytest.raises(InvalidInput, match="complex128"):
        dtype_of(np.zeros(1, complex))
