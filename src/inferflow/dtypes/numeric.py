"""Numbers to numbers: the numeric half of the cast table.

Every pair has an answer and none of them warns. Text lives in `text`; `casting` joins the two.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from inferflow.dtypes.kinds import FP8E4M3, FP8E5M2, FP16, FP32, FP64, Array, DType

Conversion = Callable[[Array], Array]

_FLOAT8 = (FP8E5M2, FP8E4M3)
_WIDTH = {FP8E5M2: 0, FP8E4M3: 0, FP16: 1, FP32: 2, FP64: 3}


@functools.cache
def conversion(source: DType, target: DType) -> Conversion:
    """The function that turns arrays of one numeric element type into another's."""
    if source is target:
        return lambda values: values
    if target in _FLOAT8:
        return lambda values: _to_float8(values, target)
    if target.is_bool:
        return _is_nonzero
    if source.is_float and not target.is_float:
        return lambda values: _truncate(values, target)
    return lambda values: _astype(values, target)


def is_assignment(source: DType, target: DType) -> bool:
    """True when numpy's own assignment gives the answer of the cast table, without warnings.

    Not so where a value may overflow (numpy warns), nor where the table fixes what numpy
    leaves open. A signalling NaN widened from FP32 to FP64 is the one case that may warn.
    """
    if source is target:
        return True
    if target in _FLOAT8 or target.is_bool:
        return False
    if source.is_float:
        return target.is_float and _WIDTH[source] < _WIDTH[target]
    return target is not FP16 or source.is_bool or np.can_cast(source.numpy, np.int16)


def _astype(values: Array, target: DType) -> Array:
    with np.errstate(all="ignore"):
        return values.astype(target.numpy)


def _is_nonzero(values: Array) -> Array:
    with np.errstate(all="ignore"):
        return values.astype(np.bool_)


def _truncate(values: Array, target: DType) -> Array:
    """Toward zero, staying within the target's range; NaN becomes 0."""
    limits = np.iinfo(target.numpy)
    # FP64 holds both ends exactly: the lowest value and one past the highest are powers of two.
    below, above = float(limits.min) - 1.0, float(limits.max + 1)
    with np.errstate(all="ignore"):
        wide = values.astype(np.float64)
        low, high = wide <= below, wide >= above
        wide[low | high | np.isnan(wide)] = 0.0
        whole = wide.astype(target.numpy)
    whole[low] = limits.min
    whole[high] = limits.max
    return whole


def _to_float8(values: Array, target: DType) -> Array:
    with np.errstate(all="ignore"):
        single = values.astype(np.float32)
        coded = single.astype(target.numpy)
    if target is FP8E5M2:
        # Several codes mean NaN; ours is the one with every mantissa bit set, in both formats.
        coded.view(np.uint8)[np.isnan(single)] |= 0x7F
    return coded
