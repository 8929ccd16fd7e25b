"""Rows in the arrow and parquet formats: values without lengths, missing ones empty.

arrow: an IPC stream with one batch, one binary column per column of the schema, called by its
number. parquet: a file with one column `Features`, a map from that number to the value.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from inferflow.dtypes import Array
from inferflow.engine.matrix import Matrix
from inferflow.inferlog.arrow import parquet, pyarrow
from inferflow.inferlog.cells import is_fixed, is_there, number_bytes, spread, text_bytes
from inferflow.inferlog.schema import PlacedField
from inferflow.plan.plan import Space

_ARROW = "the arrow format of the inference log"
_PARQUET = "the parquet format of the inference log"


def arrow_stream(placed: Sequence[PlacedField], matrix: Matrix, space: Space, rows: slice) -> bytes:
    pa = pyarrow(_ARROW)
    columns = [_binary(pa, each, matrix, space, rows) for each in placed]
    names = [str(number) for number in range(len(columns))]
    batch = pa.record_batch(columns, names=names)
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def parquet_file(placed: Sequence[PlacedField], matrix: Matrix, space: Space, rows: slice) -> bytes:
    pa, pq = pyarrow(_PARQUET), parquet(_PARQUET)
    columns = [_binary(pa, each, matrix, space, rows).to_pylist() for each in placed]
    cells = [cell or b"" for row in zip(*columns, strict=True) for cell in row]
    count = len(columns[0]) if columns else 0
    keys = pa.array(np.tile(np.arange(len(columns), dtype=np.int64), count))
    offsets = pa.array(np.arange(count + 1, dtype=np.int32) * len(columns))
    features = pa.MapArray.from_arrays(offsets, keys, pa.array(cells, pa.binary()))
    sink = io.BytesIO()
    pq.write_table(pa.table({"Features": features}), sink)
    return sink.getvalue()


def _binary(pa: Any, placed: PlacedField, matrix: Matrix, space: Space, rows: slice) -> Any:
    column, count = placed.column(space), matrix.count(space)
    if column is None or not is_there(matrix, column, space):
        return pa.nulls(len(range(*rows.indices(count))), pa.binary())
    blank = matrix.blank(column)
    if not is_fixed(placed.field, column):
        values = spread(text_bytes(matrix, column, placed.field.dtype), count)[rows]
        mask = np.array([not value for value in values])
        return pa.array(values, pa.binary(), mask=mask if blank is None else mask | blank[rows])
    stop = column.offset + (column.width or 1)
    numbers = number_bytes(matrix, column.block, column.offset, stop)
    return _numbers(pa, np.broadcast_to(numbers, (count, numbers.shape[1]))[rows], blank, rows)


def _numbers(pa: Any, values: Array, blank: Array | None, rows: slice) -> Any:
    """A binary array on the numbers' own bytes."""
    count, width = values.shape
    offsets = np.arange(count + 1, dtype=np.int32) * width
    buffers = [None, pa.py_buffer(offsets.tobytes()), pa.py_buffer(values.tobytes())]
    array = pa.Array.from_buffers(pa.binary(), count, buffers)
    if blank is None:
        return array
    return pa.array(array.to_pylist(), pa.binary(), mask=blank[rows])
