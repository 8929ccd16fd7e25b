"""Answers written in bulk are what protobuf itself would write."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow._proto import messages
from inferflow._proto.writing import field, tag
from inferflow.api.score_rows import failure_of, row_bytes, schema_bytes
from inferflow.dtypes import DTYPES, FP32, STRING, encode
from inferflow.scores import ScoreColumn, Table


@st.composite
def score_columns(draw: st.DrawFn, rows: int, name: str) -> ScoreColumn:
    dtype = draw(st.sampled_from([*DTYPES.values()]))
    dim = draw(st.sampled_from([1, 3, 40]))
    shape = (rows, dim) if dtype.is_vector else (rows,)
    values: Any = np.empty(shape, dtype.numpy)
    if dtype.is_text:
        values.reshape(-1)[:] = [draw(st.text(max_size=5)) for _ in range(values.size)]
    else:
        values = np.ones(shape, dtype.numpy)
    blank = draw(st.none() | st.lists(st.booleans(), min_size=rows, max_size=rows).map(np.array))
    return ScoreColumn(name, dtype, values, blank)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    rows = draw(st.integers(1, 6))
    names = draw(st.lists(st.text(max_size=8), unique=True, min_size=1, max_size=4))
    columns = {name: draw(score_columns(rows, name)) for name in names}
    errors = draw(st.just([""] * rows) | st.lists(st.text(), min_size=rows, max_size=rows))
    return Table(columns, errors)


def expected(table: Table) -> Any:
    answer = messages.PointWiseResponse()
    for name, column in table.columns.items():
        dim = column.values.shape[1] if column.dtype.is_vector else 0
        answer.target_output_schema.add(name=name, data_type=column.dtype.code, vector_dim=dim)
    for row, error in enumerate(table.errors):
        values = [
            b"" if column.blank is not None and column.blank[row] else value[row]
            for column in table.columns.values()
            for value in [encode(column.values, column.dtype)]
        ]
        answer.target_scores.add(error=error, output_values=values)
    return answer


@given(tables())
def test_rows_and_schema_read_back_as_the_table(table: Table) -> None:
    written = schema_bytes(table, tag(1)) + row_bytes(table, tag(2))
    assert messages.PointWiseResponse.FromString(written) == expected(table)


@pytest.mark.parametrize("size", [0, 1, 127, 128, 4095, 4096, 16383, 16384, 70_000])
def test_a_field_is_written_as_protobuf_writes_it(size: int) -> None:
    target = messages.Target(feature_values=[b"x" * size])
    assert field(tag(2), b"x" * size) == target.SerializeToString()


def column(values: list[float], blank: list[bool] | None = None) -> ScoreColumn:
    mask = None if blank is None else np.array(blank)
    return ScoreColumn("x", FP32, np.array(values, np.float32), mask)


def test_an_answer_has_failed_when_every_row_has_an_error_and_lacks_a_value() -> None:
    assert failure_of(Table({"x": column([0, 0], [True, True])}, ["no", "no"])) == "no"


def test_rows_that_hold_defaults_have_not_failed() -> None:
    assert failure_of(Table({"x": column([1, 2])}, ["store down", "store down"])) == ""


def test_one_good_row_is_an_answer() -> None:
    assert failure_of(Table({"x": column([0, 2], [True, False])}, ["no", ""])) == ""


def test_several_causes_are_listed_and_the_rest_counted() -> None:
    errors = [f"e{n}" for n in range(5)]
    table = Table({"x": column([0] * 5, [True] * 5)}, errors)
    assert failure_of(table) == "e0; e1; e2; and 2 more"


def test_text_that_is_no_utf8_keeps_its_bytes_as_a_value() -> None:
    values = np.array(["\udcff"], object)
    written = row_bytes(Table({"t": ScoreColumn("t", STRING, values)}, [""]), tag(2))
    (row,) = messages.PointWiseResponse.FromString(written).target_scores
    assert list(row.output_values) == [b"\xff"]
