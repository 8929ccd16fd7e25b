"""Rows that are all written alike: one look at the first tells where the values of all lie.

Rows are Target, TargetScore, PairScore or SlateScore messages. In all of them field 2 holds the
values, each in its bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

VALUE = 0x12
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
