"""One value at a time: the cast table and the key text, written out the slow way."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from inferflow.dtypes import FP64, DType


class Unconvertible(Exception):
    """A value has no form in the type asked for."""


def as_type(value: Any, dtype: DType) -> Any:
    """One value in another type, by the table every path uses."""
    element = dtype.element
    if isinstance(value, tuple):
        return tuple(as_type(part, element) for part in value)
    if element.is_text:
        assert isinstance(value, str), "numbers are not turned into text here"
        return value
    if isinstance(value, str):
        try:
            value = float(value) if element.is_float else int(value)
        except ValueError:
            raise Unconvertible(value) from None
    if element.is_bool:
        return value != 0
    if element.is_float:
        with np.errstate(all="ignore"):
            return float(element.numpy.type(value))
    return _as_integer(value, element)


def _as_integer(value: Any, dtype: DType) -> int:
    limits = np.iinfo(dtype.numpy)
    if not isinstance(value, float):
        span = limits.max - limits.min + 1
        return (int(value) - limits.min) % span + limits.min
    if math.isnan(value):
        return 0
    return int(limits.max if value >= limits.max else limits.min if value <= limits.min else value)


def key_text(value: Any, dtype: DType) -> str | None:
    """The text a value has as a key; None when it can be none."""
    if isinstance(value, str):
        return value or None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if not math.isfinite(value):
        return None
    if value == int(value):
        return str(int(value))
    wide = value if dtype is FP64 else np.float32(value)
    is_plain = 1e-4 <= abs(value) < 1e6
    written = np.format_float_positional if is_plain else np.format_float_scientific
    return str(written(wide, trim="-"))
