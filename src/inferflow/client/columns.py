"""Values people give as the bytes a server reads: plain ones, lists, arrays, frames.

A value has the type its array has: a Python int is Int64, a float FP64, `np.float32` FP32. The
server casts it to what the config declares, as it does for a project that is open in this process.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from inferflow.components.init import as_array
from inferflow.dtypes import STRING, Array, DType, dtype_of, encode, format_text
from inferflow.errors import CastFailed, InvalidInput, InvalidRequest

ValueEncoding = Literal["typed", "text"]


@dataclass(frozen=True, slots=True)
class WireColumn:
    """One column in its wire form."""

    name: str
    dtype: DType
    dim: int
    """Elements of a vector; 0 for a scalar."""
    values: Array
    """Of one row each, or one for all rows."""
    field: str
    """Where it was given."""

    def bytes(self, rows: int) -> list[bytes]:
        """The bytes of each row. Raises InvalidRequest when a text has none."""
        try:
            parts = encode(self.values, self.dtype)
        except CastFailed as failed:
            raise _refused(self.field, failed) from failed
        return parts * rows if len(parts) < rows else parts


def named_columns(given: Any, field: str) -> dict[str, Any]:
    """Columns by name, of a mapping or of anything that is built like a DataFrame."""
    if isinstance(given, Mapping):
        named = dict(given)
    elif hasattr(given, "columns") and hasattr(given, "to_numpy"):
        named = {name: given[name] for name in given.columns}
        if len(named) != len(given.columns):
            raise InvalidRequest(field, "two columns of the frame have one name")
    else:
        raise InvalidRequest(field, f"names with values are wanted, not {type(given).__name__}")
    for name in named:
        check_text(name, field, "a name")
        if not name:
            raise InvalidRequest(field, "a name is empty")
    return named


def check_text(value: Any, field: str, what: str) -> None:
    """Refuse what no text field can hold."""
    if not isinstance(value, str):
        raise InvalidRequest(field, f"{value!r}: {what} is text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidRequest(field, f"{value!r} holds half a surrogate pair") from None


def value_column(name: str, given: Any, encoding: ValueEncoding, field: str) -> WireColumn:
    """One value for all rows: a list is one vector."""
    values = as_array(_unframed(given), field)
    if values.ndim > 1:
        raise InvalidRequest(field, f"values of {values.ndim} dimensions are too deep")
    return _written(name, values[np.newaxis], encoding, field)


def row_column(
    name: str, given: Any, rows: int, kind: str, encoding: ValueEncoding, field: str
) -> WireColumn:
    """One value per row, or a single one for all of them."""
    values = as_array(_unframed(given), field)
    if values.ndim > 2:
        raise InvalidRequest(field, f"values of {values.ndim} dimensions are too deep")
    values = values.reshape(1) if values.ndim == 0 else values
    if len(values) not in (1, rows):
        raise InvalidRequest(field, f"{len(values)} value(s) for {rows} {kind}")
    return _written(name, values, encoding, field)


def _unframed(given: Any) -> Any:
    """A Series as the array it is made of, which may know its type better than a list does."""
    return given.to_numpy() if hasattr(given, "to_numpy") else given


def _written(name: str, values: Array, encoding: ValueEncoding, field: str) -> WireColumn:
    if values.ndim == 2 and values.shape[1] == 0:
        raise InvalidRequest(field, "a value has no elements")
    try:
        dtype = dtype_of(values)
        if encoding == "text" and not dtype.is_text:
            texts = np.empty(len(values), object)
            texts[:] = format_text(values, dtype)
            values, dtype = texts, STRING
    except CastFailed as failed:
        raise _refused(field, failed) from failed
    except InvalidInput as failed:
        raise InvalidRequest(field, str(failed)) from failed
    return WireColumn(name, dtype, values.shape[1] if dtype.is_vector else 0, values, field)


def _refused(field: str, failed: CastFailed) -> InvalidRequest:
    place = field if failed.position is None else f"{field}[{failed.position}]"
    return InvalidRequest(place, failed.what)
