"""The one cast table, used wherever a value changes its type.

| from → to         | rule                                                                     |
|-------------------|--------------------------------------------------------------------------|
| same type         | unchanged (the same array comes back)                                    |
| bool → number     | 0 or 1                                                                   |
| number → bool     | false for 0 and −0, true otherwise, NaN included                         |
| int → int         | keeps the low bits (two's complement)                                    |
| float → int       | truncates toward zero, stops at the ends of the range; NaN → 0           |
| number → float    | nearest, ties to even; overflow → ±Inf                                   |
| number → float8   | through FP32; E5M2 overflow → ±Inf, E4M3 (which has none) → NaN          |
| text → number     | reads the whole text or fails; integers must be in range                 |
| anything → text   | its text form                                                            |
| scalar → vector   | one element; text is split into elements                                 |
| vector → scalar   | only a vector of one element; text is the elements joined by commas      |

Arrays are [rows] for scalars and [rows, elements] for vectors.
"""

from __future__ import annotations

import math

import numpy as np

from inferflow.dtypes.kinds import Array, DType, dtype_of
from inferflow.dtypes.numeric import conversion, is_assignment
from inferflow.dtypes.text import format_elements, format_text, parse_elements, parse_text
from inferflow.errors import CastFailed, EngineFault


def cast(values: Array, source: DType, target: DType) -> Array:
    """`values` of type `source` as type `target`. Raises CastFailed, naming the row."""
    if source is target:
        return values
    if not source.is_text and values.dtype != source.numpy:
        values = _in_stated_type(values, source)
    if source.is_vector is target.is_vector:
        return _elements(values, source.element, target.element)
    if target.is_vector:
        return _to_vector(values, source, target)
    return _to_scalar(values, source, target)


def is_plain(source: DType, target: DType) -> bool:
    """True when `out[...] = values` does the same as `cast`, so assembling may skip it."""
    if source.is_vector is not target.is_vector:
        return False
    if source.is_text or target.is_text:
        return source is target
    return is_assignment(source.element, target.element)


def _elements(values: Array, source: DType, target: DType) -> Array:
    if target.is_text:
        return format_elements(values, source)
    if not source.is_text:
        return conversion(source, target)(values)
    flat = np.ravel(values).tolist()
    try:
        return parse_elements(flat, target).reshape(values.shape)
    except CastFailed as failed:
        if failed.position is None or values.ndim < 2:
            raise
        width = math.prod(values.shape[1:])
        raise CastFailed(failed.what, position=failed.position // width) from None


def _to_vector(values: Array, source: DType, target: DType) -> Array:
    if source.is_text:
        return parse_text(values.tolist(), target, 0)
    return _elements(values, source, target.element)[:, np.newaxis]


def _to_scalar(values: Array, source: DType, target: DType) -> Array:
    if target.is_text:
        joined = np.empty(len(values), object)
        joined[:] = format_text(values, source)
        return joined
    if values.ndim != 2 or values.shape[1] != 1:
        shape = list(values.shape)
        raise CastFailed(f"{source.name} of shape {shape} does not hold one {target.name} per row")
    return _elements(values[:, 0], source.element, target)


def _in_stated_type(values: Array, source: DType) -> Array:
    """Arrays in foreign byte order are put right; anything else is a bug of the caller."""
    if values.dtype.hasobject or dtype_of(values).element is not source.element:
        raise EngineFault(f"an array of {values.dtype} was announced as {source.name}")
    return values.astype(source.numpy)
