"""Values of a column, typed, as text, or whichever of both they are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow._proto import messages
from inferflow.api.values import (
    _KNOWN,
    _MOST_KNOWN,
    Declared,
    declared_schema,
    read_column,
    read_value,
)
from inferflow.dtypes import DTYPES, FP32, INT8, INT32, STRING, DType, encode, format_text
from inferflow.engine.limits import Limits
from inferflow.errors import InvalidRequest

NUMBERS = [dtype for dtype in DTYPES.values() if not dtype.is_text]


@st.composite
def columns(draw: st.DrawFn) -> tuple[DType, int, Any]:
    dtype = draw(st.sampled_from(NUMBERS))
    rows, dim = draw(st.integers(1, 5)), draw(st.integers(1, 4)) if dtype.is_vector else 1
    raw = draw(st.binary(min_size=rows * dim * dtype.size, max_size=rows * dim * dtype.size))
    if dtype.is_bool:
        raw = bytes(byte & 1 for byte in raw)
    flat = np.frombuffer(raw, dtype.numpy)
    return dtype, dim, flat.reshape(rows, dim) if dtype.is_vector else flat


@given(columns(), st.booleans(), st.booleans())
def test_typed_values_come_out_as_they_went_in(
    column: tuple[DType, int, Any], says_dim: bool, as_table: bool
) -> None:
    dtype, dim, values = column
    parts: Any = encode(values, dtype)
    if as_table:
        parts = np.frombuffer(b"".join(parts), np.uint8).reshape(len(parts), -1)
    entry = Declared("x", dtype, dim if says_dim and dtype.is_vector else 0)
    read = read_column(parts, entry, "typed", "targets")
    assert read.dtype == values.dtype
    assert read.tobytes() == values.tobytes()
    assert read.shape == values.shape


@given(columns())
def test_auto_reads_text_as_text(column: tuple[DType, int, Any]) -> None:
    dtype, _, values = column
    texts = format_text(values, dtype)
    entry = Declared("x", dtype, 0)
    read = read_column([text.encode() for text in texts], entry, "auto", "targets")
    assert read.tolist() == texts


@given(columns())
def test_auto_reads_typed_values_that_are_no_text(column: tuple[DType, int, Any]) -> None:
    dtype, _, values = column
    parts = [*encode(values, dtype), b"\xff" * dtype.size]  # the last one is no UTF-8
    if dtype.is_bool or (dtype.is_vector and values.shape[1] > 1):
        return
    read = read_column(parts, Declared("x", dtype, 0), "auto", "targets")
    assert read[:-1].tobytes() == values.tobytes()


def test_auto_decides_for_the_whole_column_not_per_value() -> None:
    parts = [b"7", b"\x80"]
    assert read_column(parts, Declared("x", INT8, 0), "auto", "targets").tolist() == [55, -128]
    assert read_column([b"7", b"8"], Declared("x", INT8, 0), "auto", "targets").tolist() == [
        "7",
        "8",
    ]


def test_auto_refuses_a_column_that_is_neither() -> None:
    with pytest.raises(InvalidRequest, match=r"targets\[1\].x: 2 bytes where FP32 takes 4"):
        read_column([b"1.5x", b"no"], Declared("x", FP32, 0), "auto", "targets")


@pytest.mark.parametrize("encoding", ["typed", "text", "auto"])
@pytest.mark.parametrize("dtype", [None, STRING])
def test_strings_and_undeclared_types_are_text(encoding: Any, dtype: DType | None) -> None:
    entry = Declared("x", dtype, 0)
    assert read_column(["é".encode(), b"7"], entry, encoding, "targets").tolist() == ["é", "7"]


def test_text_that_is_not_utf8_is_refused_by_its_place() -> None:
    with pytest.raises(InvalidRequest, match=r"targets\[1\].x: is not UTF-8"):
        read_column([b"a", b"\xff"], Declared("x", FP32, 0), "text", "targets")


@pytest.mark.scenario("F5")
@pytest.mark.parametrize("as_table", [True, False])
def test_a_wrong_length_names_target_and_column(as_table: bool) -> None:
    parts: Any = [b"123", b"123"]
    if as_table:
        parts = np.frombuffer(b"123123", np.uint8).reshape(2, 3)
    with pytest.raises(InvalidRequest, match=r"targets\[0\].price: 3 bytes where FP32 takes 4"):
        read_column(parts, Declared("price", FP32, 0), "typed", "targets")


@pytest.mark.scenario("F5")
@pytest.mark.parametrize("as_table", [True, False])
def test_a_byte_that_is_no_bool_is_refused_on_its_row(as_table: bool) -> None:
    parts: Any = [b"\0", b"\2"]
    if as_table:
        parts = np.frombuffer(b"\0\2", np.uint8).reshape(2, 1)
    with pytest.raises(InvalidRequest, match=r"targets\[1\].b: a Bool is"):
        read_column(parts, Declared("b", DTYPES[15], 0), "typed", "targets")


def test_vectors_of_texts_need_their_dimension() -> None:
    part = b"\x01\x00\x02\x00" + b"abc"
    assert read_value(part, Declared("x", DTYPES[29], 2), "typed", "context").tolist() == [
        "a",
        "bc",
    ]
    with pytest.raises(InvalidRequest, match="number of elements"):
        read_value(part, Declared("x", DTYPES[29], 0), "typed", "context")


def test_a_claimed_dimension_costs_nothing_until_it_is_true() -> None:
    with pytest.raises(InvalidRequest, match="takes at least"):
        read_value(b"abc", Declared("x", DTYPES[29], 2**31 - 1), "typed", "context")


def test_a_single_value_is_a_scalar_or_a_vector() -> None:
    assert read_value(b"\x07\0\0\0", Declared("x", INT32, 0), "typed", "context") == 7
    vector = read_value(b"\x07\0\0\0" * 2, Declared("x", INT32.vector, 0), "typed", "context")
    assert vector.tolist() == [7, 7]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"data_type": 4}, r"schema\[0\]: has no name"),
        ({"name": "x", "data_type": 31}, r"schema\[0\] \(x\).data_type: 31 is not a data type"),
        ({"name": "x", "data_type": -1}, r"data_type: -1 is not"),
        ({"name": "x", "data_type": 4, "vector_dim": 3}, "FP32 cannot have dimension 3"),
        ({"name": "x", "data_type": 19, "vector_dim": -1}, "cannot have dimension -1"),
    ],
)
def test_a_schema_entry_that_cannot_be_is_refused(entry: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidRequest, match=message):
        declared_schema([messages.FeatureSchema(**entry)], "schema", Limits())


def test_an_entry_that_was_met_before_reads_the_same() -> None:
    entry = messages.FeatureSchema(name="met", data_type=19, vector_dim=3)
    first = declared_schema([entry], "schema", Limits())
    assert declared_schema([entry], "schema", Limits()) == first
    assert (first[0].name, first[0].dtype, first[0].dim) == ("met", FP32.vector, 3)


def test_no_number_of_names_is_remembered_for_ever() -> None:
    names = [f"one of many {number}" for number in range(2 * _MOST_KNOWN)]
    entries = [messages.FeatureSchema(name=name) for name in names]
    read = declared_schema(entries, "schema", replace(Limits(), features=len(names)))
    assert [entry.name for entry in read] == names
    assert len(_KNOWN) <= _MOST_KNOWN


def test_a_name_given_twice_is_refused() -> None:
    entries = [messages.FeatureSchema(name=name) for name in "aba"]
    with pytest.raises(InvalidRequest, match=r"schema\[2\]: 'a' is already given as schema\[0\]"):
        declared_schema(entries, "schema", Limits())
