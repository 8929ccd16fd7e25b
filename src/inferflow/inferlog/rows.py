"""Rows in the proto format: one byte string per row, with every column in the schema's order.

The first byte is 1 when every value is there. Numbers take the bytes of their type; text and
vectors a 16-bit length and then theirs. What is missing is written as zeros, an empty vector or
the text `0.0`.

Numbers that lie side by side in the request's matrix are moved side by side, and a message whose
values all have fixed lengths is one matrix of bytes, whatever the number of its columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from inferflow.dtypes import Array
from inferflow.engine.matrix import Matrix
from inferflow.inferlog.cells import LONGEST, is_fixed, is_there, number_bytes, spread, text_bytes
from inferflow.inferlog.schema import LogField, PlacedField
from inferflow.plan.plan import Column, Space

Rows = Array | list[bytes]
"""[rows, bytes] when all rows have the same length."""

_NO_VECTOR = b"\x00\x00"
_NO_TEXT = b"\x03\x000.0"


class Move(Protocol):
    def part(self, matrix: Matrix, rows: int, whole: Array) -> Rows:
        """The bytes of some columns. Rows with something missing are noted in `whole`."""


@dataclass(frozen=True, slots=True)
class RowLayout:
    """How rows of one space are put together. Made once per plan."""

    space: Space
    moves: tuple[Move, ...]

    def encode(self, matrix: Matrix) -> Rows:
        rows = matrix.count(self.space)
        whole = np.ones((rows, 1), np.uint8)
        return _joined([whole, *(move.part(matrix, rows, whole) for move in self.moves)], rows)


def row_layout(placed: Sequence[PlacedField], space: Space) -> RowLayout:
    moves: list[Move] = []
    for each in placed:
        move = _move(each, space)
        last = moves[-1] if moves else None
        if isinstance(move, _Numbers) and isinstance(last, _Numbers) and last.meets(move):
            moves[-1] = _Numbers(space, (*last.columns, *move.columns), last.size)
        else:
            moves.append(move)
    return RowLayout(space, tuple(moves))


def _move(placed: PlacedField, space: Space) -> Move:
    field, column = placed.field, placed.column(space)
    absent = _absent(field)
    if column is None:
        return _Absent(absent)
    if not is_fixed(field, column):
        return _Varying(space, column, field, absent)
    size = field.dtype.size
    if not field.dtype.is_vector:
        return _Numbers(space, (column,), size)
    width = column.width or 0
    return _Absent(absent) if width * size > LONGEST else _Vector(space, column, size)


def _absent(field: LogField) -> bytes:
    if field.dtype.is_vector:
        return _NO_VECTOR
    return _NO_TEXT if field.dtype.is_text else bytes(field.dtype.size)


@dataclass(frozen=True, slots=True)
class _Absent:
    """A column that rows of this space never have."""

    value: bytes

    def part(self, matrix: Matrix, rows: int, whole: Array) -> Rows:  # noqa: ARG002
        whole[:] = 0
        return np.frombuffer(self.value, np.uint8).reshape(1, -1)


@dataclass(frozen=True, slots=True)
class _Numbers:
    """Scalars that lie side by side in one block."""

    space: Space
    columns: tuple[Column, ...]
    size: int

    def meets(self, other: _Numbers) -> bool:
        last, first = self.columns[-1], other.columns[0]
        return last.block == first.block and last.offset + 1 == first.offset

    def part(self, matrix: Matrix, rows: int, whole: Array) -> Rows:
        first, last = self.columns[0], self.columns[-1]
        if not is_there(matrix, first, self.space):
            return _Absent(bytes(self.size * len(self.columns))).part(matrix, rows, whole)
        part = number_bytes(matrix, first.block, first.offset, last.offset + 1)
        if not matrix.has_blanks:
            return part
        for number, column in enumerate(self.columns):
            blank = matrix.blank(column)
            if blank is not None:
                part = _own(part, rows)
                part[blank, number * self.size : (number + 1) * self.size] = 0
                whole[blank] = 0
        return part


@dataclass(frozen=True, slots=True)
class _Vector:
    """A vector of numbers whose length the plan knows."""

    space: Space
    column: Column
    size: int

    def part(self, matrix: Matrix, rows: int, whole: Array) -> Rows:
        column = self.column
        if not is_there(matrix, column, self.space):
            return _Absent(_NO_VECTOR).part(matrix, rows, whole)
        stop = column.offset + (column.width or 0)
        values = number_bytes(matrix, column.block, column.offset, stop)
        part = np.empty((len(values), values.shape[1] + 2), np.uint8)
        part[:, :2] = np.frombuffer(values.shape[1].to_bytes(2, "little"), np.uint8)
        part[:, 2:] = values
        blank = matrix.blank(column)
        if blank is None:
            return part
        whole[blank] = 0
        return _blanked(spread(_row_bytes(part), rows), blank, _NO_VECTOR)


@dataclass(frozen=True, slots=True)
class _Varying:
    """Text, and vectors whose length only the request knows."""

    space: Space
    column: Column
    field: LogField
    absent: bytes

    def part(self, matrix: Matrix, rows: int, whole: Array) -> Rows:
        if not is_there(matrix, self.column, self.space):
            return _Absent(self.absent).part(matrix, rows, whole)
        values = spread(text_bytes(matrix, self.column, self.field.dtype), rows)
        missing = matrix.blank(self.column)
        if max(map(len, values)) > LONGEST:
            too_long = np.array([len(value) > LONGEST for value in values])
            missing = too_long if missing is None else missing | too_long
        if missing is None:
            return [len(value).to_bytes(2, "little") + value for value in values]
        whole[missing] = 0
        return [
            self.absent if is_missing else len(value).to_bytes(2, "little") + value
            for value, is_missing in zip(values, missing.tolist(), strict=True)
        ]


def _own(part: Array, rows: int) -> Array:
    """A copy to write to, with all rows."""
    return np.array(np.broadcast_to(part, (rows, part.shape[1])))


def _blanked(values: list[bytes], blank: Array, absent: bytes) -> list[bytes]:
    values = list(values)
    for row in np.flatnonzero(blank).tolist():
        values[row] = absent
    return values


def _joined(parts: Sequence[Rows], rows: int) -> Rows:
    segments: list[Rows] = []
    fixed: list[Array] = []
    for part in parts:
        if isinstance(part, np.ndarray):
            fixed.append(part)
            continue
        if fixed:
            segments.append(_side_by_side(fixed, rows))
            fixed = []
        segments.append(part)
    if fixed:
        segments.append(_side_by_side(fixed, rows))
    if len(segments) == 1:
        return segments[0]
    listed = [_row_bytes(each) if isinstance(each, np.ndarray) else each for each in segments]
    return [b"".join(row) for row in zip(*listed, strict=True)]


def _side_by_side(parts: Sequence[Array], rows: int) -> Array:
    joined = np.empty((rows, sum(part.shape[1] for part in parts)), np.uint8)
    at = 0
    for part in parts:
        joined[:, at : at + part.shape[1]] = part
        at += part.shape[1]
    return joined


def _row_bytes(values: Array) -> list[bytes]:
    width, joined = values.shape[1], values.tobytes()
    return [joined[start : start + width] for start in range(0, len(values) * width, width or 1)]
