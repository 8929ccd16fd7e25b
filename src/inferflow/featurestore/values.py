"""Values people hand in, as elements of a feature's type.

Writing is strict where casting is lenient: a number that would wrap, lose its fraction or become
infinite is refused with its row, because a store that quietly keeps something else is worse
than one that says no. Text is read by the type's text form, so `"7"` is fine for a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from inferflow.dtypes import BOOL, FP64, Array, DType, cast, dtype_of, parse_text
from inferflow.errors import CastFailed, InvalidInput
from inferflow.plan.catalog import FeatureInfo


def zero_elements(element: DType, dim: int) -> Array:
    """[1, dim] of 0, false or the empty text."""
    zeros = np.zeros((1, dim), element.numpy)
    if element.is_text:
        zeros[:] = ""
    return zeros


def default_elements(feature: FeatureInfo) -> Array:
    """[1, dim]: the declared default in the feature's own type; zeros where none is declared."""
    element = feature.dtype.element
    if feature.default is None:
        return zero_elements(element, feature.dim)
    out = np.empty((1, feature.dim), element.numpy)
    out[0] = feature.default
    return out


def feature_elements(values: Array | Sequence[Any], dtype: DType, dim: int) -> Array:
    """[rows, dim] of the type's elements. Raises CastFailed with the first row that does not fit.

    Takes an array ([rows], or [rows, dim] for vectors) or a sequence of Python values; vectors
    may be sequences or text.
    """
    if isinstance(values, np.ndarray) and values.dtype.kind not in "OUST":
        return _from_array(values, dtype, dim)
    rows = values.tolist() if isinstance(values, np.ndarray) else list(values)
    out = np.empty((len(rows), dim), dtype.element.numpy)
    for at, part in _by_type(rows):
        try:
            out[at] = _from_list(part, dtype, dim)
        except CastFailed as failed:
            position = failed.position or 0
            raise CastFailed(failed.what, position=int(at[position])) from None
    return out


def _by_type(rows: list[Any]) -> list[tuple[Array, list[Any]]]:
    """Rows of one Python type each, with their numbers; nearly always there is only one."""
    types = list(dict.fromkeys(map(type, rows)))
    if len(types) == 1:
        return [(np.arange(len(rows)), rows)]
    parts = []
    for each in types:
        at = [number for number, value in enumerate(rows) if type(value) is each]
        parts.append((np.array(at), [rows[number] for number in at]))
    return parts


def _from_list(rows: list[Any], dtype: DType, dim: int) -> Array:
    kind = type(rows[0])
    if issubclass(kind, str | bytes):
        return _from_texts(rows, dtype, dim)
    if not dtype.is_vector:
        return _from_array(_numbers(rows, dtype), dtype, dim)
    if not issubclass(kind, list | tuple | np.ndarray):
        raise CastFailed(f"{kind.__name__} is not {dtype.name}", position=0)
    for position, row in enumerate(rows):
        if len(row) != dim:
            what = f"{len(row)} elements where {dtype.name} of {dim} was expected"
            raise CastFailed(what, position=position)
    if issubclass(kind, np.ndarray) and len({row.dtype for row in rows}) == 1:
        return feature_elements(np.stack(rows), dtype, dim)
    flat = [element for row in rows for element in row]
    try:
        return feature_elements(flat, dtype.element, 1).reshape(len(rows), dim)
    except CastFailed as failed:
        raise CastFailed(failed.what, position=(failed.position or 0) // dim) from None


def _from_texts(rows: list[str | bytes], dtype: DType, dim: int) -> Array:
    # Bytes that are not UTF-8 survive being stored and read back.
    texts = [r.decode("utf-8", "surrogateescape") if isinstance(r, bytes) else r for r in rows]
    values = parse_text(texts, dtype, dim).reshape(len(rows), dim)
    if dtype.is_text:
        _check_storable(values)
    elif dtype.is_float:
        _check_finite(values, texts, dtype)
    return values


def _check_finite(values: Array, texts: list[str], dtype: DType) -> None:
    """Refuse a text whose number is finite but too large for the type; `inf` and `nan` are fine."""
    is_finite = np.isfinite(cast(values, dtype.element.vector, FP64.vector))
    if is_finite.all():
        return
    for row in np.nonzero(~is_finite.all(axis=1))[0].tolist():
        said = texts[row].lower()
        if said.count("inf") + said.count("nan") < np.count_nonzero(~is_finite[row]):
            raise CastFailed(f"{texts[row]!r} has no form in {dtype.name}", position=row)


def _check_storable(texts: Array) -> None:
    for position, text in enumerate(texts.ravel().tolist()):
        try:
            text.isascii() or text.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            row = position // (texts.size // len(texts))
            raise CastFailed("text with half a surrogate pair", position=row) from None


def _numbers(rows: list[Any], dtype: DType) -> Array:
    """Python or numpy numbers of one type as an array."""
    if isinstance(rows[0], int) and not isinstance(rows[0], bool):
        return _integers(rows, dtype)
    if not isinstance(rows[0], bool | float | np.generic):
        raise CastFailed(f"{type(rows[0]).__name__} is not {dtype.name}", position=0)
    return np.array(rows)


def _integers(rows: list[int], dtype: DType) -> Array:
    for kind in (np.int64, np.uint64, *([np.float64] if dtype.is_float else [])):
        try:
            return np.array(rows, kind)
        except OverflowError:
            continue
    has_limits = dtype.numpy.kind in "iu"
    low, high = _limits(dtype) if has_limits else (-(2**63), 2**64 - 1)
    position = next((at for at, row in enumerate(rows) if not low <= row <= high), 0)
    raise CastFailed(f"{rows[position]} has no form in {dtype.name}", position=position)


# --- arrays ---------------------------------------------------------------------------------


def _from_array(values: Array, dtype: DType, dim: int) -> Array:
    shape = (len(values), dim)
    fits = values.shape == shape if dtype.is_vector else values.ndim == 1
    if not fits:
        what = f"an array of shape {list(values.shape)} where {dtype.name} of {dim} was expected"
        raise CastFailed(what, position=0)
    try:
        source = dtype_of(values).element
    except InvalidInput as unknown:
        raise CastFailed(str(unknown), position=0) from None
    values = values.reshape(shape)
    target = dtype.element
    if source is not target:
        _check_fits(values, source, target)
    return cast(values, source.vector, target.vector)


def _check_fits(values: Array, source: DType, target: DType) -> None:
    """Refuse what the cast table would change beyond rounding."""
    if target.is_text or source is BOOL:
        return
    exact = cast(values, source.vector, FP64.vector) if source.is_float else values
    if target.is_bool:
        good = (exact == 0) | (exact == 1)
    elif target.is_float:
        there = cast(cast(values, source.vector, target.vector), target.vector, FP64.vector)
        good = np.isfinite(there) | ~np.isfinite(exact)
    else:
        low, high = _limits(target)
        below_end = exact < float(high + 1) if source.is_float else exact <= high
        good = (exact >= low) & below_end & (exact == np.trunc(exact))
    if not good.all():
        row, column = (int(at[0]) for at in np.nonzero(~good))
        raise CastFailed(f"{values[row, column]} has no form in {target.name}", position=row)


def _limits(integer: DType) -> tuple[int, int]:
    info = np.iinfo(integer.numpy)
    return int(info.min), int(info.max)
