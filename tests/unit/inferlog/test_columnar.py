"""The arrow and parquet formats: values as bytes, missing ones empty."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given

from inferflow.inferlog.columnar import arrow_stream, parquet_file

from .matrices import Filled, filled_matrices


def expected(filled: Filled) -> list[list[bytes]]:
    """Per column and row; empty where there is nothing."""
    return [
        [filled.cell(number, row) or b"" for row in range(filled.rows)]
        for number in range(len(filled.placed))
    ]


@given(filled_matrices())
def test_an_arrow_stream_has_a_binary_column_per_number(filled: Filled) -> None:
    stream = arrow_stream(filled.placed, filled.matrix(), "target", slice(0, filled.rows))
    table = pa.ipc.open_stream(stream).read_all()
    assert table.column_names == [str(number) for number in range(len(filled.placed))]
    assert {str(kind) for kind in table.schema.types} == {"binary"}
    found = [[cell or b"" for cell in column.to_pylist()] for column in table.columns]
    assert found == expected(filled)
    for number, column in enumerate(table.columns):
        missing = [filled.cell(number, row) in (None, b"") for row in range(filled.rows)]
        assert column.is_null().to_pylist() == missing


@given(filled_matrices())
def test_a_parquet_file_maps_every_number_to_bytes(filled: Filled) -> None:
    file = parquet_file(filled.placed, filled.matrix(), "target", slice(0, filled.rows))
    table = pq.read_table(io.BytesIO(file))
    assert table.column_names == ["Features"]
    rows = [dict(row) for row in table.column("Features").to_pylist()]
    assert rows == [dict(enumerate(row)) for row in zip(*expected(filled), strict=True)]
