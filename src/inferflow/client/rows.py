"""Rows of values as bytes: numbers side by side in one go, text one by one.

Targets and slates end with their values, in the order of their schema. Columns of numbers that
stand beside each other take the same place in every row, so they are written as one table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from inferflow._proto.alike import filled, row_form
from inferflow._proto.writing import field, fields, tag, varint
from inferflow.client.columns import WireColumn
from inferflow.dtypes import Array

_ID, _VALUE = tag(1), tag(2)
_PAIR_VALUE, _INDICES = tag(3), tag(1)
_FIRST, _SECOND = b"\x08", b"\x10"

Pieces = list[list[bytes]]
"""To be joined row by row."""


def target_rows(ids: Iterable[str], columns: Sequence[WireColumn], rows: int) -> list[bytes]:
    """Target messages."""
    return _joined([fields(_ID, [each.encode() for each in ids]), *_values(columns, rows)])


def pair_rows(
    members: Sequence[Sequence[int]], columns: Sequence[WireColumn], rows: int
) -> list[bytes]:
    """TargetPair messages. Their values have another number than those of all other rows."""
    pairs = [_FIRST + varint(first) + _SECOND + varint(second) for first, second in members]
    return _joined([pairs, *(fields(_PAIR_VALUE, column.bytes(rows)) for column in columns)])


def slate_rows(
    members: Sequence[Sequence[int]], columns: Sequence[WireColumn], rows: int
) -> list[bytes]:
    """TargetSlate messages."""
    slates = [field(_INDICES, b"".join(map(varint, indices))) for indices in members]
    return _joined([slates, *_values(columns, rows)])


def _joined(pieces: Pieces) -> list[bytes]:
    return list(map(b"".join, zip(*pieces, strict=True))) if len(pieces) > 1 else pieces[0]


def _values(columns: Sequence[WireColumn], rows: int) -> Pieces:
    pieces: Pieces = []
    for are_numbers, run in groupby(columns, key=lambda column: not column.dtype.is_text):
        if are_numbers:
            pieces.append(_numbers([column.values for column in run], rows))
        else:
            pieces.extend(fields(_VALUE, column.bytes(rows)) for column in run)
    return pieces


def _numbers(columns: Sequence[Array], rows: int) -> list[bytes]:
    pattern, form = row_form(tuple([(values.dtype, values.shape[1:]) for values in columns]))
    written = bytes(filled(pattern, form, columns, rows))
    return [written[start : start + len(pattern)] for start in range(0, len(written), len(pattern))]
