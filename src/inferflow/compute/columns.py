"""Brings the caller's columns into the form an evaluation works on, or says why it cannot."""

from __future__ import annotations

from typing import Any

import numpy as np

from inferflow.compute.marks import Array
from inferflow.dtypes import dtype_of
from inferflow.errors import ComputeFailed, InvalidInput


def as_numbers(name: str, column: Array, rows: int, dtype: np.dtype[Any]) -> Array:
    """A column of scalars in the evaluation's precision; the same array if it already is."""
    if column.dtype == dtype and column.shape == (rows,):
        return column
    _check_length(name, column, rows)
    try:
        kind = dtype_of(column)
    except InvalidInput as unknown:
        raise ComputeFailed(f"column {name!r}: {unknown}") from unknown
    if kind.is_text or kind.is_vector:
        found = "text" if kind.is_text else "vectors"
        raise ComputeFailed(f"column {name!r} holds {found} where a number is needed")
    return column.astype(dtype, copy=False)


def as_group(name: str, column: Array, rows: int) -> Array:
    """A column to tell rows apart by, as it came."""
    _check_length(name, column, rows)
    if column.ndim == 2 and column.dtype.kind not in "biuf":
        raise ComputeFailed(f"column {name!r} holds vectors of {column.dtype}, not of numbers")
    return column


def _check_length(name: str, column: Array, rows: int) -> None:
    if column.ndim not in (1, 2) or len(column) not in (1, rows):
        raise ComputeFailed(
            f"column {name!r} has shape {column.shape}; it needs {rows} rows, or one for all"
        )
