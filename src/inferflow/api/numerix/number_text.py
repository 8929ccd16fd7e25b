"""Numbers as text, the way callers of Numerix write and expect them.

Written: the fewest digits that read back as the same number, always with a fraction (`3.0`); plain
in a range that depends on the precision and as `1.5e-7` outside; `NaN`, `inf`, `-inf`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from inferflow.dtypes import FP32, FP64, Array, DType
from inferflow.dtypes.text import parse_elements

_PLAIN: dict[DType, tuple[float, float]] = {FP32: (1e-6, 1e13), FP64: (1e-5, 1e16)}
"""From here, and up to there, no exponent is written."""


def written(values: Array, precision: DType) -> list[str]:
    # In the precision of the values: a bound is the number that is written like it.
    low, high = np.array(_PLAIN[precision], precision.numpy)
    with np.errstate(invalid="ignore"):
        size = np.abs(values)
        is_plain = (size >= low) & (size < high) | (size == 0)
    return [
        np.format_float_positional(value, trim="0") if plain else _scientific(value)
        for value, plain in zip(values, is_plain.tolist(), strict=True)
    ]


def _scientific(value: np.floating) -> str:
    if not np.isfinite(value):
        return "NaN" if np.isnan(value) else "inf" if value > 0 else "-inf"
    return np.format_float_scientific(value, trim="-", exp_digits=1).replace("e+", "e")


def read(texts: Sequence[str], precision: DType) -> Array:
    """One number per text, the nearest there is. Raises CastFailed with the text that is none."""
    wide = parse_elements(texts, FP64)
    return wide if precision is FP64 else _narrowed(wide, texts)


def _narrowed(wide: Array, texts: Sequence[str]) -> Array:
    """As float32. A number half way between two of them is only so because it was rounded to
    float64 before, perhaps; then the text decides."""
    with np.errstate(over="ignore", invalid="ignore"):
        narrow = wide.astype(np.float32)
        near = narrow.astype(np.float64)
        other = np.nextafter(narrow, np.where(wide > near, np.inf, -np.inf).astype(np.float32))
        is_half = (wide != near) & (wide - near == other.astype(np.float64) - wide)
    for place in np.flatnonzero(is_half).tolist():
        exact, low, high = Fraction(texts[place]), *sorted((narrow[place], other[place]))
        if exact != Fraction(float(wide[place])):
            narrow[place] = high if exact > Fraction(float(wide[place])) else low
    return narrow
