"""Rows that are all written alike: one look at the first tells where the values of all lie, and
a pattern filled with all values at once writes them.

Rows are Target, TargetScore, PairScore or SlateScore messages. In all of them field 2 holds the
values, each in its bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from inferflow._proto.writing import tag, varint

VALUE = 0x12
_VALUE_TAG = tag(2)
Span = tuple[int, int]

_Array = np.ndarray[Any, np.dtype[Any]]


def value_spans(row: bytes, start: int) -> list[Span] | None:
    """Where the values lie, counted from `start`; None when something else lies there too."""
    at = start
    spans: list[Span] = []
    while at < len(row):
        if row[at] != VALUE:
            return None
        length, begin = _varint(row, at + 1)
        at = begin + length
        if length < 0 or at > len(row):
            return None
        spans.append((begin - start, at - start))
    return spans if at == len(row) else None


def _varint(row: bytes, at: int) -> tuple[int, int]:
    """A length and where it ends; -1 when it is not one of up to four bytes."""
    number = 0
    for shift, byte in enumerate(row[at : at + 4]):
        number |= (byte & 0x7F) << 7 * shift
        if byte < 0x80:
            return number, at + shift + 1
    return -1, at


def same_between(table: _Array, spans: Sequence[Span]) -> bool:
    """Whether all rows of a table of bytes have the same around their values as the first."""
    at = 0
    for start, stop in spans:
        if (table[:, at:start] != table[0, at:start]).any():
            return False
        at = stop
    return True


Kind = tuple[np.dtype[Any], tuple[int, ...]]
"""What a column's values are: their type, and the shape of one of them."""


@lru_cache(maxsize=1024)
def row_form(kinds: tuple[Kind, ...], at: bytes = b"") -> tuple[bytes, np.dtype[Any]]:
    """A row with zeros for values, and where in it the values lie, as fields in their order.
    With `at`, the tag of the rows, each is a field of its own; without, only its values."""
    values = [np.dtype(kind) for kind in kinds]
    heads = [_VALUE_TAG + varint(each.itemsize) for each in values]
    body = b"".join(head + bytes(each.itemsize) for head, each in zip(heads, values, strict=True))
    start = at + varint(len(body)) if at else b""
    offsets, end = [], len(start)
    for head, each in zip(heads, values, strict=True):
        offsets.append(end + len(head))
        end += len(head) + each.itemsize
    form = np.dtype(
        {
            "names": [f"f{number}" for number in range(len(values))],
            "formats": values,
            "offsets": offsets,
            "itemsize": end,
        }
    )
    return start + body, form


def filled(pattern: bytes, form: np.dtype[Any], columns: Sequence[_Array], rows: int) -> bytearray:
    """So many rows of a form, with their values."""
    written = bytearray(pattern) * rows
    table = np.frombuffer(written, form)
    for values, name in zip(columns, form.names or (), strict=True):
        table[name] = values
    return written
