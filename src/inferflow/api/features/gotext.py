"""Values as text, the way the original prints them.

A number alone has an exponent when it is large or small (`1e+06`, `1e-05`); in a vector it never
has one. Floats of 32 bits and less have the digits that tell them from other floats of 32 bits.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from inferflow.dtypes import FP32, FP64, Array, DType, cast

_FIRST_EXPONENT = 6
_LAST_PLAIN = -4


def texts_of(values: Array, dtype: DType) -> list[str]:
    """One text per row of [rows, elements]."""
    write = _writer(dtype)
    if dtype.is_float:
        wide = FP64 if dtype.element is FP64 else FP32
        values = cast(values, dtype.element.vector, wide.vector)
        rows = [list(row) for row in values]  # numpy scalars: they know their own precision
    else:
        rows = values.tolist()
    if not dtype.is_vector:
        return [write(row[0]) for row in rows]
    return [":".join(map(write, row)) for row in rows]


def _writer(dtype: DType) -> Callable[..., str]:
    if dtype.is_float:
        return plain_float if dtype.is_vector else general_float
    if dtype.is_bool:
        return _digit if dtype.is_vector else _word
    return str


def _word(value: bool) -> str:
    return "true" if value else "false"


def _digit(value: bool) -> str:
    return "1" if value else "0"


def general_float(value: np.floating) -> str:
    if not np.isfinite(value):
        return _not_finite(value)
    text = np.format_float_scientific(value, unique=True, trim="-")
    exponent = int(text.rpartition("e")[2])
    return text if not _LAST_PLAIN <= exponent < _FIRST_EXPONENT else plain_float(value)


def plain_float(value: np.floating) -> str:
    if not np.isfinite(value):
        return _not_finite(value)
    return np.format_float_positional(value, unique=True, trim="-")


def _not_finite(value: np.floating) -> str:
    if np.isnan(value):
        return "NaN"
    return "+Inf" if value > 0 else "-Inf"
