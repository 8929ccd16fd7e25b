"""A declared default as one row of its column."""

from __future__ import annotations

from typing import Any

import numpy as np

from inferflow.dtypes import Array, DType


def default_row(value: Any, dtype: DType, width: int) -> Array:
    """`width` elements of a scalar type; one value stands for all of them. Raises ValueError,
    saying why, for a value that the type cannot hold as it is."""
    elements = list(value) if isinstance(value, list | tuple) else [value] * width
    if len(elements) != width:
        raise ValueError(f"{value!r} has {len(elements)} element(s), {width} wanted")
    row = np.empty(width, dtype=dtype.numpy)
    for at, element in enumerate(elements):
        row[at] = _converted(element, dtype)
    return row


def _converted(value: Any, dtype: DType) -> Any:
    if dtype.is_text:
        if not isinstance(value, str):
            raise ValueError(f"{value!r} is not text; put it in quotes")
        return value
    if not isinstance(value, bool | int | float):
        raise ValueError(f"{value!r} is not a {dtype.name}")
    if dtype.is_float:
        try:
            with np.errstate(all="ignore"):
                converted = np.float64(value).astype(dtype.numpy)
        except OverflowError:
            raise ValueError(f"{value!r} does not fit {dtype.name}") from None
        if np.isfinite(float(converted)) == np.isfinite(float(value)):
            return converted
    elif value in (0, 1) or (not dtype.is_bool and _is_in_range(value, dtype)):
        return value
    raise ValueError(f"{value!r} does not fit {dtype.name}")


def _is_in_range(value: float, dtype: DType) -> bool:
    limits = np.iinfo(dtype.numpy)
    return value == value // 1 and limits.min <= value <= limits.max
