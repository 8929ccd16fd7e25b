"""The bytes of one logged column, all rows at once: numbers as a matrix of bytes, text as a list.

A value is written as its type's little-endian bytes, a vector as its elements back to back, text
as UTF-8 and a vector of texts as a JSON list.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from inferflow.dtypes import Array, DType, dtype_of, encode, format_text
from inferflow.engine.matrix import Matrix
from inferflow.inferlog.schema import LogField
from inferflow.plan.plan import Column, Space

LONGEST = 0xFFFF
"""Bytes of one value of varying length; a longer one counts as missing."""


def is_fixed(field: LogField, column: Column) -> bool:
    """Whether all values of the column have the same number of bytes, known in advance."""
    return not field.dtype.is_text and column.width is not None


def is_there(matrix: Matrix, column: Column | None, space: Space) -> bool:
    """Whether the request has this column: one of pairs or slates only if it asked for some."""
    return column is not None and matrix.count(space) > 0 and matrix.is_filled(column.block)


def number_bytes(matrix: Matrix, block: int, start: int, stop: int) -> Array:
    """A stretch of a block as bytes, [rows or 1, bytes per row]."""
    values = matrix.block(block)[:, start:stop]
    return np.ascontiguousarray(values).view(np.uint8)


def text_bytes(matrix: Matrix, column: Column, dtype: DType) -> list[bytes]:
    """One value per row, or one for all; of a type whose values vary in length."""
    keys = matrix.keys(column)
    if keys is not None:
        return [utf8(text) for text in keys]
    values = matrix.column(column)
    own = column.dtype or dtype_of(values)
    if not dtype.is_text:
        return encode(values, own)
    if dtype.is_vector:
        rows: list[list[Any]] = values.tolist()
        return [utf8(json.dumps(row, ensure_ascii=False)) for row in rows]
    return [utf8(text) for text in format_text(values, own)]


def utf8(text: str) -> bytes:
    """Text that came as bytes that are no UTF-8 goes out as it came; what has no form at all is
    shown by a question mark."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def spread(values: list[bytes], rows: int) -> list[bytes]:
    return values * rows if len(values) == 1 else values
