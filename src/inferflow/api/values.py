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

from inferflow.dtypes import Array, DType, decode, dtype_by_code, parse_text
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


def declared(entry: Any, field: str) -> Declared:
    """Read a FeatureSchema or ContextFeature. `field` is its place in the request."""
    name, code, dim = entry.name, entry.data_type, entry.vector_dim
    if not name:
        raise InvalidRequest(field, "has no name")
    try:
        dtype = dtype_by_code(code) if code else None
    except InvalidInput as unknown:
        raise InvalidRequest(f"{field} ({name}).data_type", str(unknown)) from unknown
    if dim < 0 or (dim > 1 and dtype is not None and not dtype.is_vector):
        kind = "no type" if dtype is None else dtype.name
        raise InvalidRequest(f"{field} ({name}).vector_dim", f"{kind} cannot have dimension {dim}")
    return Declared(name, dtype, dim)


def declared_schema(entries: Any, field: str) -> list[Declared]:
    """Every entry of a schema; no two of one name."""
    schema = [declared(entry, f"{field}[{i}]") for i, entry in enumerate(entries)]
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
        return _read([part], entry, encoding)[0]
    except CastFailed as failed:
        raise InvalidRequest(f"{field}.{entry.name}", failed.what) from None


def _place(rows_field: str, row: int | None, name: str) -> str:
    return f"{rows_field}.{name}" if row is None else f"{rows_field}[{row}].{name}"


def _read(parts: Parts, entry: Declared, encoding: Encoding) -> Array:
    dtype = entry.dtype
    if dtype is None or (dtype.is_text and not dtype.is_vector) or encoding == "text":
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
    try:
        out[:] = [part.decode() for part in parts]
    except UnicodeDecodeError:
        row = next(i for i, part in enumerate(parts) if not _is_utf8(part))
        raise CastFailed("is not UTF-8 text", position=row) from None
    return out


def _is_utf8(part: bytes) -> bool:
    try:
        part.decode()
    except UnicodeDecodeError:
        return False
    return True


def _readable_texts(parts: Sequence[bytes], dtype: DType, dim: int) -> Array | None:
    try:
        texts = _texts(parts)
        parse_text(texts.tolist(), dtype, dim)
    except CastFailed:
        return None
    return texts
