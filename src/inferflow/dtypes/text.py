"""The text form of values, and reading it back.

Written: integers in decimal, `true`/`false`, floats with the fewest digits that read back
as the same value, plain from 0.0001 up to 1000000 and as `1.5e+06` outside, `NaN`, `+Inf`,
`-Inf`; vectors joined by commas. FP16 and the float8 types are written as the FP32 they equal.

Read: the same forms, and for vectors also `1:2:3` and the JSON array `[1, 2, 3]`. A text is
read whole or refused: no blanks around a scalar, no digit separators, no other digits.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from inferflow.dtypes.kinds import FP64, Array, DType
from inferflow.dtypes.numeric import conversion
from inferflow.errors import CastFailed, EngineFault

_NOT_FINITE = {"nan": "NaN", "inf": "+Inf", "-inf": "-Inf"}
_BOOLS = {"true": True, "false": False}


# --- writing --------------------------------------------------------------------------------


def format_text(values: Array, dtype: DType) -> list[str]:
    """One text per row."""
    texts: list[Any] = format_elements(values, dtype.element).tolist()
    return [",".join(row) for row in texts] if dtype.is_vector else texts


def format_elements(values: Array, element: DType) -> Array:
    """An object array of the same shape with the text of every element."""
    if element.is_text:
        return values
    flat = np.ravel(values)
    texts = np.empty(flat.shape, object)
    if element.is_bool:
        texts[:] = ["true" if value else "false" for value in flat.tolist()]
    elif element.is_float:
        texts[:] = _format_floats(flat if element is FP64 else flat.astype(np.float32))
    else:
        texts[:] = [str(value) for value in flat.tolist()]
    return texts.reshape(values.shape)


def _format_floats(flat: Array) -> list[str]:
    # numpy's two formatters take no notice of its print options, unlike str().
    plain, scientific = np.format_float_positional, np.format_float_scientific
    with np.errstate(invalid="ignore"):
        size = np.abs(flat)
        is_plain = (size >= 1e-4) & (size < 1e6) | (size == 0)
    texts = [
        plain(value, trim="-") if short else scientific(value, trim="-")
        for value, short in zip(flat, is_plain.tolist(), strict=True)
    ]
    if np.isfinite(flat).all():
        return texts
    return [_NOT_FINITE.get(text, text) for text in texts]


# --- reading --------------------------------------------------------------------------------


def parse_text(texts: Sequence[str], dtype: DType, dim: int = 1) -> Array:
    """One value per text: [rows], or [rows, dim] for a vector.

    A `dim` of 0 takes whatever length the rows have, as long as it is the same for all.
    """
    if not dtype.is_vector:
        return parse_elements(texts, dtype)
    rows = [_split(text, dtype, row) for row, text in enumerate(texts)]
    width = dim or (len(rows[0]) if rows else 0)
    for position, row in enumerate(rows):
        if len(row) != width:
            what = f"{len(row)} elements where {dtype.name} of {width} was expected"
            raise CastFailed(what, position=position)
    try:
        flat = parse_elements([text for row in rows for text in row], dtype.element)
    except CastFailed as failed:
        if failed.position is None:
            raise
        raise CastFailed(failed.what, position=failed.position // width) from None
    return flat.reshape(len(rows), width)


def parse_elements(texts: Sequence[str], element: DType) -> Array:
    """A flat array of one scalar per text."""
    if element.is_text:
        return _as_text(texts)
    try:
        _check_strict("".join(texts))
        return _read(texts, element)
    except (ValueError, OverflowError, KeyError, TypeError):
        raise _first_refused(texts, element) from None


def _check_strict(text: str) -> None:
    """Refuse what Python's own number readers let pass and the text form does not."""
    if not text.isascii() or not text.isprintable() or " " in text or "_" in text:
        raise ValueError


def _read(texts: Sequence[str], element: DType) -> Array:
    if element.is_bool:
        return np.array([_BOOLS[text.lower()] for text in texts], np.bool_)
    if element.is_float:
        return conversion(FP64, element)(np.array([float(text) for text in texts], np.float64))
    return np.array([int(text) for text in texts], element.numpy)


def _as_text(texts: Sequence[object]) -> Array:
    for position, text in enumerate(texts):
        if not isinstance(text, str):
            raise CastFailed(f"{_short(text)} is not text", position=position)
    out = np.empty(len(texts), object)
    out[:] = texts
    return out


def _first_refused(texts: Sequence[object], element: DType) -> CastFailed:
    """The error of the batch, told for the first text that fails on its own."""
    for position, text in enumerate(texts):
        if not isinstance(text, str):
            return CastFailed(f"{_short(text)} is not text", position=position)
        try:
            _check_strict(text)
            _read([text], element)
        except OverflowError:
            limits = np.iinfo(element.numpy)
            what = f"{_short(text)} is outside {element.name} ({limits.min} to {limits.max})"
            return CastFailed(what, position=position)
        except (ValueError, KeyError):
            return CastFailed(f"{_short(text)} does not read as {element.name}", position=position)
    raise EngineFault("a batch of texts was refused though each of them reads")


def _split(text: object, dtype: DType, row: int) -> list[str]:
    if not isinstance(text, str):
        raise CastFailed(f"{_short(text)} is not text", position=row)
    if text.lstrip().startswith("["):
        return _split_json(text, row)
    if not text:
        return []
    parts = text.split("," if "," in text else ":")
    return parts if dtype.is_text else [part.strip() for part in parts]


def _split_json(text: str, row: int) -> list[str]:
    try:
        # Numbers stay text, so that 64-bit integers and float digits are read by one reader.
        found = json.loads(text, parse_float=str, parse_int=str, parse_constant=str)
    except (ValueError, RecursionError):
        raise CastFailed(f"{_short(text)} is not a JSON array", position=row) from None
    for value in found:
        if not isinstance(value, str | bool):
            what = f"{_short(text)} holds an element that is neither number, bool nor text"
            raise CastFailed(what, position=row)
    return [value if isinstance(value, str) else str(value).lower() for value in found]


def _short(value: object, limit: int = 40) -> str:
    shown = repr(value[:limit]) if isinstance(value, str | bytes) else repr(type(value).__name__)
    return shown + ("…" if isinstance(value, str | bytes) and len(value) > limit else "")
