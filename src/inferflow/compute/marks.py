"""Which rows have no answer, and why.

Marks are one small integer per row, a bit per reason, so that joining the marks of two
operands is one bitwise or and the reasons of the rows that stay marked are never lost.
`None` stands for "no row is marked" and is what almost every operand carries.
"""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from inferflow.errors import ComputeFailed

Array = np.ndarray[Any, np.dtype[Any]]
"""A column, or a numpy scalar that stands for every row."""

Marks = Array
"""uint16, 0 where the row is fine."""


class Why(enum.IntEnum):
    """The reasons a row can have no answer; values are bits."""

    DIVISION = 1
    LOG = 2
    AND = 4
    OR = 8
    NOT = 16
    IF = 32
    SQRT = 64
    LOG1P = 128
    PERCENTILE = 256


_TEXT = {
    Why.DIVISION: "division by zero",
    Why.LOG: "log of a value that is not above 0",
    Why.AND: "& needs 0 or 1 on both sides",
    Why.OR: "| needs 0 or 1 on both sides",
    Why.NOT: "! needs 0 or 1",
    Why.IF: "the condition of if needs to be 0 or 1",
    Why.SQRT: "sqrt of a value below 0",
    Why.LOG1P: "log1p of a value that is not above -1",
    Why.PERCENTILE: "norm_percentile of NaN",
}

UNMARKED = np.uint16(0)


def mark(bad: Array, why: Why) -> Marks | None:
    """Marks for the rows where `bad` is true; None when there are none."""
    return np.multiply(bad, np.uint16(why)) if np.count_nonzero(bad) else None


def join(left: Marks | None, right: Marks | None) -> Marks | None:
    if left is None:
        return right
    if right is None:
        return left
    return np.bitwise_or(left, right)


def where_taken(taken: Array, left: Marks | None, right: Marks | None) -> Marks | None:
    """The marks of `left` where `taken`, those of `right` elsewhere."""
    if left is None and right is None:
        return None
    marks = np.where(
        taken, UNMARKED if left is None else left, UNMARKED if right is None else right
    )
    return marks if np.count_nonzero(marks) else None


def reason(marks: Marks) -> str:
    """Every reason that occurs, in words."""
    present = int(np.bitwise_or.reduce(marks, axis=None))
    return "; ".join(text for why, text in _TEXT.items() if present & why)


def failure(marks: Marks, rows: int) -> ComputeFailed:
    """What strict evaluation raises instead of marking rows."""
    marked = np.broadcast_to(marks != 0, (rows,))
    count = int(np.count_nonzero(marked))
    where = f" (in {count} of {rows} rows, first in row {int(marked.argmax())})" if count else ""
    present = int(np.bitwise_or.reduce(marks, axis=None))
    operations = tuple(why.name.lower() for why in Why if present & why)
    return ComputeFailed(reason(marks) + where, operations=operations)
