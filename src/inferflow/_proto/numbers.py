"""Rows of numbers as the compute service sends them: an id, then little-endian floats.

Each row is a `numerix.Score` with `byte_data`. Rows of one length are almost always written alike;
then their numbers are read with a handful of array operations, however many there are. A row
that is not is read by protobuf, so what a row means never depends on how it was read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from inferflow._proto.alike import Span, same_between
from inferflow._proto.pool import message_class
from inferflow._proto.writing import field, tag, varint
from inferflow.errors import InvalidInput

Array = np.ndarray[Any, np.dtype[Any]]

Score = message_class("numerix.Score")

_BYTE_DATA = tag(2)
_VALUE = tag(1)
_EMPTY = _VALUE + b"\0"


@dataclass(slots=True)
class NumberRows:
    ids: list[bytes]
    """Empty for a row that has none."""
    values: Array
    """[rows, columns]; 0 where a row is too short to have a value."""
    blank: Array | None = None
    """[rows, columns], true where a value of no bytes stands; None when there is none."""


# --- writing --------------------------------------------------------------------------------


def number_rows(
    at: bytes, ids: Sequence[bytes], values: Array, blank: Array | None = None
) -> bytes:
    """Rows as fields with the tag `at`. `values` are [rows, columns]; a row that is blank has
    values of no bytes."""
    cells = _cells(values)
    id_sizes = set(map(len, ids))
    if blank is None and len(id_sizes) == 1:
        return _rows_alike(_head(at, id_sizes.pop(), cells.shape[1]), ids, cells)
    texts = [row.tobytes() for row in cells]
    if blank is not None:
        for row in np.flatnonzero(blank).tolist():
            texts[row] = _EMPTY * values.shape[1]
    return b"".join(
        part
        for each, text in zip(ids, texts, strict=True)
        for part in (_head(at, len(each), len(text)), each, text)
    )


def _rows_alike(head: bytes, ids: Sequence[bytes], cells: Array) -> bytes:
    id_table = np.frombuffer(b"".join(ids), np.uint8).reshape(len(ids), -1)
    heads = np.broadcast_to(np.frombuffer(head, np.uint8), (len(ids), len(head)))
    return np.concatenate([heads, id_table, cells], axis=1).tobytes()


def _cells(values: Array) -> Array:
    """Every number as a field: a table of bytes, a row each."""
    size = values.dtype.itemsize
    form = np.dtype([("head", "u1", 2), ("value", values.dtype.newbyteorder("<"))])
    cells = np.empty(values.shape, form)
    cells["head"] = _VALUE[0], size
    cells["value"] = values
    return np.frombuffer(cells.tobytes(), np.uint8).reshape(len(values), -1)


@lru_cache(maxsize=256)
def _head(at: bytes, id_size: int, cells_size: int) -> bytes:
    """What stands before the id of a row."""
    id_head = _VALUE + varint(id_size)
    size = len(id_head) + id_size + cells_size
    list_head = _BYTE_DATA + varint(size)
    return at + varint(len(list_head) + size) + list_head + id_head


def text_rows(at: bytes, ids: Iterable[str], texts: Iterable[str]) -> bytes:
    """Rows of an id and a text, as fields with the tag `at`."""
    return b"".join(
        field(at, field(_VALUE, field(_VALUE, each.encode()) + field(_VALUE, text.encode())))
        for each, text in zip(ids, texts, strict=True)
    )


# --- reading --------------------------------------------------------------------------------


def read_number_rows(
    rows: Sequence[bytes], names: Sequence[str], dtype: np.dtype[Any], *, blanks: bool = False
) -> NumberRows:
    """Ids, and one column per name. What a row has beyond them is not looked at; a row of another
    form has neither id nor numbers. Raises InvalidInput for a value of another size than the
    type's, unless it is empty and `blanks` may be.
    """
    rows = list(rows)  # protobuf's own list makes a new object whenever one is asked for
    read = NumberRows([b""] * len(rows), np.zeros((len(rows), len(names)), dtype))
    for places, group in _by_length(rows):
        alike = _alike(group)
        if alike is None:
            for place, row in zip(places, group, strict=True):
                _read_one(read, place, row, names, blanks)
        else:
            _read_alike(read, places, *alike, names, blanks)
    return read


def _by_length(rows: list[bytes]) -> Iterable[tuple[Sequence[int], list[bytes]]]:
    """Rows of one length together, with their places."""
    sizes = list(map(len, rows))
    if len(set(sizes)) <= 1:
        return [(range(len(rows)), rows)] if rows else []
    groups: dict[int, list[int]] = {}
    for place, size in enumerate(sizes):
        groups.setdefault(size, []).append(place)
    return [(places, [rows[place] for place in places]) for places in groups.values()]


def _alike(rows: Sequence[bytes]) -> tuple[Array, list[Span]] | None:
    """Rows of one length as a table of bytes, and where the values lie in all of them."""
    spans = _value_spans(rows[0])
    if not spans:
        return None
    table = np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), -1)
    return (table, spans) if same_between(table, spans) else None


def _value_spans(row: bytes) -> list[Span] | None:
    """Where the values of a row lie; None when it has anything but `byte_data`."""
    if row[:1] != _BYTE_DATA:
        return None
    size, at = _length(row, 1)
    if at + size != len(row):
        return None
    spans: list[Span] = []
    while at < len(row):
        size, begin = _length(row, at + 1)
        if row[at : at + 1] != _VALUE or begin + size > len(row):
            return None
        at = begin + size
        spans.append((begin, at))
    return spans


def _length(row: bytes, at: int) -> tuple[int, int]:
    """A length of up to four bytes and where it ends; one that no row has when it is none."""
    number = 0
    for shift, byte in enumerate(row[at : at + 4]):
        number |= (byte & 0x7F) << 7 * shift
        if byte < 0x80:
            return number, at + shift + 1
    return len(row) + 1, at


def _read_alike(
    read: NumberRows,
    places: Sequence[int],
    table: Array,
    spans: list[Span],
    names: Sequence[str],
    blanks: bool,
) -> None:
    start, stop = spans[0]
    ids = table[:, start:stop].tobytes()
    size = stop - start
    for number, place in enumerate(places):
        read.ids[place] = ids[number * size : (number + 1) * size]
    dtype = read.values.dtype
    at = slice(None) if isinstance(places, range) else places
    for column, (begin, end) in enumerate(spans[1 : len(names) + 1]):
        if _is_blank(end - begin, dtype, places[0], names[column], blanks):
            _mark(read)[at, column] = True
        else:
            cells = table[:, begin:end].copy()
            read.values[at, column] = cells.view(dtype.newbyteorder("<"))[:, 0]


def _read_one(read: NumberRows, place: int, row: bytes, names: Sequence[str], blanks: bool) -> None:
    values = parsed(row, place).byte_data.values
    if not values:
        return
    read.ids[place] = values[0]
    dtype = read.values.dtype
    for column, value in enumerate(values[1 : len(names) + 1]):
        if _is_blank(len(value), dtype, place, names[column], blanks):
            _mark(read)[place, column] = True
        else:
            read.values[place, column] = np.frombuffer(value, dtype.newbyteorder("<"))[0]


def parsed(row: bytes, place: int) -> Any:
    """One row as protobuf reads it. Raises InvalidInput."""
    try:
        return Score.FromString(row)
    except DecodeError:
        raise InvalidInput(f"row {place} is no Score message") from None


def _is_blank(size: int, dtype: np.dtype[Any], row: int, name: str, blanks: bool) -> bool:
    if size == dtype.itemsize:
        return False
    if blanks and size == 0:
        return True
    raise InvalidInput(
        f"row {row}, column {name!r}: {size} bytes where a number takes {dtype.itemsize}"
    )


def _mark(read: NumberRows) -> Array:
    if read.blank is None:
        read.blank = np.zeros(read.values.shape, bool)
    return read.blank
