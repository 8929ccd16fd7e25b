"""Matrices of any columns, filled by hand, and the obvious way to write their rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from inferflow.dtypes import DTYPES, Array, DType, cast, encode
from inferflow.dtypes.kinds import FP64
from inferflow.engine.matrix import Matrix
from inferflow.inferlog.schema import LogField, PlacedField
from inferflow.plan.plan import Block, Column


class Filled:
    """Columns with their values; each says where it has none."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.blocks: list[Block] = []
        self.placed: list[PlacedField] = []
        self._values: list[tuple[Array, Array | None]] = []

    def add(
        self, dtypes: Sequence[DType], values: Array, widths: Sequence[int], blank: Array | None
    ) -> None:
        """Some columns that lie side by side in one block."""
        block = len(self.blocks)
        self.blocks.append(Block(block, dtypes[0].element, values.shape[1], "target", "step"))
        offset = 0
        for dtype, width in zip(dtypes, widths, strict=True):
            name = f"c{len(self.placed)}"
            column = Column(name, dtype, width, block, offset, "target", "step")
            self.placed.append(PlacedField(LogField(name, dtype, width), column, None))
            offset += width
        self._values.append((values, blank))

    def matrix(self) -> Matrix:
        matrix = Matrix(self.blocks, self.rows)
        for block, (values, blank) in enumerate(self._values):
            matrix.put(block, values, invalid=blank)
        return matrix

    def cell(self, number: int, row: int) -> bytes | None:
        """One value; None when it is missing."""
        column = self.placed[number].target
        assert column is not None
        assert column.dtype is not None
        assert column.width is not None
        values, blank = self._values[column.block]
        if blank is not None and blank[row]:
            return None
        at = row if len(values) == self.rows else 0
        elements = values[at : at + 1, column.offset : column.offset + column.width]
        if column.dtype.is_text and column.dtype.is_vector:
            return json.dumps(elements[0].tolist(), ensure_ascii=False).encode()
        return encode(elements if column.dtype.is_vector else elements[:, 0], column.dtype)[0]


def slow_row(filled: Filled, row: int) -> bytes:
    """A row of the proto format, value by value."""
    whole, written = 1, b""
    for number, placed in enumerate(filled.placed):
        dtype, cell = placed.field.dtype, filled.cell(number, row)
        if cell is None:
            whole = 0
            cell = b"" if dtype.is_vector else b"0.0" if dtype.is_text else bytes(dtype.size)
        if dtype.is_vector or dtype.is_text:
            written += len(cell).to_bytes(2, "little")
        written += cell
    return bytes([whole]) + written


@st.composite
def filled_matrices(draw: st.DrawFn) -> Filled:
    filled = Filled(draw(st.integers(1, 4)))
    for _ in range(draw(st.integers(1, 5))):
        element = DTYPES[draw(st.integers(1, 15))]
        widths = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
        are_vectors = [width > 1 or draw(st.booleans()) for width in widths]
        dtypes = [element.vector if vector else element for vector in are_vectors]
        rows = draw(st.sampled_from([1, filled.rows]))
        values = draw(_values(element, rows, sum(widths)))
        blank = draw(
            st.none() | st.lists(st.booleans(), min_size=filled.rows, max_size=filled.rows)
        )
        filled.add(dtypes, values, widths, None if blank is None else np.array(blank))
    return filled


@st.composite
def _values(draw: st.DrawFn, element: DType, rows: int, width: int) -> Array:
    count = rows * width
    if element.is_text:
        texts: list[Any] = draw(st.lists(st.text(max_size=5), min_size=count, max_size=count))
        values = np.empty(count, object)
        values[:] = texts
        return values.reshape(rows, width)
    numbers = draw(st.lists(st.integers(-100, 100), min_size=count, max_size=count))
    return cast(np.array(numbers, float).reshape(rows, width), FP64.vector, element.vector)
