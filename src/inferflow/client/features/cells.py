"""The values of an answer's rows, by row and column.

Rows that are all written alike are a table of bytes, of which a column is a slice. Rows of any
other form are taken apart one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from inferflow._proto.alike import VALUE, Span, same_between, value_spans
from inferflow._proto.pool import message_class
from inferflow.client.features.expected import Member
from inferflow.dtypes import Array, decode
from inferflow.errors import CastFailed

_Row = message_class("retrieve.Row")


class Cells(Protocol):
    def column(self, at: int, member: Member) -> Array | None:
        """[rows, elements]; None when some value is not what it should be."""
        ...

    def value(self, row: int, at: int) -> bytes | None:
        """None when the row has no such column."""
        ...


def places_of(rows: Sequence[bytes], keys: Sequence[bytes]) -> Array | None:
    """Which row answers each key, -1 where none does; None when each has its own place."""
    if len(rows) == len(keys) and all(map(_answers, rows, keys)):
        return None
    by_key: dict[tuple[str, ...], int] = {}
    for at, row in enumerate(rows):
        by_key.setdefault(tuple(_Row.FromString(row).keys), at)
    return np.array([by_key.get(tuple(_Row.FromString(key).keys), -1) for key in keys], np.intp)


def _answers(row: bytes, key: bytes) -> bool:
    """Whether a row begins with a key, and with no more than it."""
    end = len(key)
    return row.startswith(key) and (len(row) == end or row[end] == VALUE)


def cells_of(rows: Sequence[bytes], keys: Sequence[bytes], *, in_place: bool) -> Cells:
    """`in_place`: each row answers the key at its own place."""
    if in_place:
        bodies = [row[len(key) :] for row, key in zip(rows, keys, strict=True)]
        if len(set(map(len, bodies))) == 1:
            spans = value_spans(bodies[0], 0)
            joined = b"".join(bodies)
            table = np.frombuffer(joined, np.uint8).reshape(len(bodies), -1)
            if spans is not None and same_between(table, spans):
                return _Alike(joined, table, spans)
    return _Apart([_Row.FromString(row).columns for row in rows])


class _Alike:
    def __init__(self, joined: bytes, table: Array, spans: list[Span]) -> None:
        self._joined = joined
        self._table = table
        self._spans = spans

    def column(self, at: int, member: Member) -> Array | None:
        if member.dtype.is_text:
            return _decoded([self.value(row, at) for row in range(len(self._table))], member)
        dtype = member.dtype.element
        start, stop = self._spans[at] if at < len(self._spans) else (0, 0)
        if stop - start != member.width * dtype.size:
            return None
        if dtype.is_bool and (self._table[:, start:stop] > 1).any():
            return None
        rows, size = self._table.shape
        return np.ndarray(
            (rows, member.width), dtype.numpy, self._joined, start, (size, dtype.size)
        )

    def value(self, row: int, at: int) -> bytes | None:
        if at >= len(self._spans):
            return None
        start, stop = self._spans[at]
        return self._table[row, start:stop].tobytes()


class _Apart:
    def __init__(self, rows: list[Sequence[bytes]]) -> None:
        self._rows = rows

    def column(self, at: int, member: Member) -> Array | None:
        return _decoded([self.value(row, at) for row in range(len(self._rows))], member)

    def value(self, row: int, at: int) -> bytes | None:
        return self._rows[row][at] if at < len(self._rows[row]) else None


def _decoded(parts: Sequence[bytes | None], member: Member) -> Array | None:
    there = [part for part in parts if part is not None]
    if len(there) < len(parts):
        return None
    try:
        return decode(there, member.dtype, member.width).reshape(len(there), member.width)
    except CastFailed:
        return None
