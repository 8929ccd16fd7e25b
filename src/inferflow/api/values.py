"""Values of one column: what its schema entry declares, and its bytes as an array.

A config says how its callers encode values: `typed` bytes of the declared type, `text` whatever
is declared, or `auto`, which decides per column and never per value: text if every value reads as
such, else typed if every value has the declared length. String and undeclared types are text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from inferflow.dtypes import STRING, Array, DType, decode, dtype_by_code, parse_text
from inferflow.engine.limits import Limits
from inferflow.errors import CastFailed, InvalidInput, InvalidRequest

Encoding = Literal["typed", "text", "auto"]

Parts = Sequence[bytes] | Array
"""Values of a column: one `bytes` per row, or [rows, bytes of a value] when all have one length."""


@dataclass(frozen=True, slots=True)
class Declared:
    """One entry of a schema."""

    name: str
    dtype: DType | None
    """None when the caller did not say, so it is text."""
    dim: int

    @property
    def is_plain_text(self) -> bool:
        return self.dtype is None or self.dtype is STRING


_KNOWN: dict[tuple[str, int, int], Declared] = {}
"""Entries met before, so that they need not be checked again."""
_MOST_KNOWN = 4096
_LONGEST_KNOWN = 64
"""Characters of a name that is kept: what callers send must not fill the memory."""


def declared(entry: Any, field: str, position: int, limits: Limits) -> Declared:
    """Read a FeatureSchema or ContextFeature, the one at this position of a field."""
    key = (entry.name, entry.data_type, entry.vector_dim)
    found = _KNOWN.get(key)
    if found is None:
        found = _declared(*key, f"{field}[{position}]", limits)
        if len(_KNOWN) < _MOST_KNOWN and len(found.name) <= _LONGEST_KNOWN:
            _KNOWN[key] = found
    return found


def _declared(name: str, code: int, dim: int, field: str, limits: Limits) -> Declared:
    check_name(name, field, limits)
    try:
        dtype = dtype_by_code(code) if code else None
    except InvalidInput as unknown:
        raise InvalidRequest(f"{field} ({name}).data_type", str(unknown)) from unknown
    if dim < 0 or (dim > 1 and dtype is not None and not dtype.is_vector):
        kind = "no type" if dtype is None else dtype.name
        raise InvalidRequest(f"{field} ({name}).vector_dim", f"{kind} cannot have dimension {dim}")
    return Declared(name, dtype, dim)


def check_name(name: str, field: str, limits: Limits) -> None:
    """Names are remembered, so they are not longer than ids may be."""
    if not name:
        raise InvalidRequest(field, "has no name")
    if len(name) * 4 > limits.id_bytes:
        limits.check("id_bytes", len(name.encode()), f"{field}.name")


def declared_schema(entries: Any, field: str, limits: Limits) -> list[Declared]:
    """Every entry of a schema, not too many of them, no two of one name."""
    if not entries:
        return []
    limits.check("features", len(entries), field)
    schema = [declared(entry, field, position, limits) for position, entry in enumerate(entries)]
    if len(schema) > 1:
        refuse_twice([entry.name for entry in schema], field)
    return schema


def refuse_twice(names: Sequence[str], field: str) -> None:
    if len(set(names)) == len(names):
        return
    seen: dict[str, int] = {}
    for position, name in enumerate(names):
        if name in seen:
            raise InvalidRequest(
                f"{field}[{position}]", f"{name!r} is already given as {field}[{seen[name]}]"
            )
        seen[name] = position


def read_column(parts: Parts, entry: Declared, encoding: Encoding, rows_field: str) -> Array:
    """[rows], or [rows, elements] for a vector. Raises InvalidRequest naming row and column."""
    try:
        return _read(parts, entry, encoding)
    except CastFailed as failed:
        raise InvalidRequest(_place(rows_field, failed.position, entry.name), failed.what) from None


def read_value(part: bytes, entry: Declared, encoding: Encoding, field: str) -> Any:
    """A single value: a scalar, or the array of a vector."""
    try:
        # Most context values are text, which needs no array to be read.
        return _text(part, 0) if entry.is_plain_text else _read([part], entry, encoding)[0]
    except CastFailed as failed:
        raise InvalidRequest(f"{field}.{entry.name}", failed.what) from None


def _place(rows_field: str, row: int | None, name: str) -> str:
    return f"{rows_field}.{name}" if row is None else f"{rows_field}[{row}].{name}"


def _read(parts: Parts, entry: Declared, encoding: Encoding) -> Array:
    dtype = entry.dtype
    if dtype is None or entry.is_plain_text or encoding == "text":
        return _texts(_listed(parts))
    if encoding == "auto":
        texts = _readable_texts(_listed(parts), dtype, entry.dim)
        if texts is not None:
            return texts
    return _typed(parts, dtype, entry.dim)


def _typed(parts: Parts, dtype: DType, dim: int) -> Array:
    # A Bool may hold a byte that is none; only the list form can say on which row.
    if not isinstance(parts, np.ndarray) or dtype.is_text or dtype.is_bool:
        return decode(_listed(parts), dtype, dim)
    rows, width = parts.shape
    expected = dtype.size * (dim or width // dtype.size if dtype.is_vector else 1)
    if width != expected:
        raise CastFailed(f"{width} bytes where {dtype.name} takes {expected}", position=0)
    values = np.frombuffer(parts.tobytes(), dtype.numpy)
    return values.reshape(rows, width // dtype.size) if dtype.is_vector else values


def _listed(parts: Parts) -> Sequence[bytes]:
    if not isinstance(parts, np.ndarray):
        return parts
    rows, width = parts.shape
    joined = parts.tobytes()
    return [joined[row * width : (row + 1) * width] for row in range(rows)]


def _texts(parts: Sequence[bytes]) -> Array:
    out = np.empty(len(parts), object)
    out[:] = [_text(part, row) for row, part in enumerate(parts)]
    return out


def _text(part: bytes, row: int) -> str:
    try:
        return part.decode()
    except UnicodeDecodeError:
        raise CastFailed("is not UTF-8 text", position=row) from None


def _readable_texts(parts: Sequence[bytes], dtype: DType, dim: int) -> Array | None:
    try:
        texts = _texts(parts)
        parse_text(texts.tolist(), dtype, dim)
    except CastFailed:
        return None
    return texts
