"""The shared matrix a request fills, block by block.

A block is a 2-D array: one row per target (or per slate), or a single row that stands for
all of them. Each is written once, by the step the plan names, and checked as it is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from inferflow.errors import EngineFault
from inferflow.plan.plan import Block, Column, Space

Array = np.ndarray[Any, np.dtype[Any]]


class Matrix:
    """Values of one request."""

    __slots__ = (
        "_absent",
        "_blocks",
        "_invalid",
        "_pinned",
        "_states",
        "_texts",
        "_values",
        "rows",
        "slates",
    )

    def __init__(self, blocks: Sequence[Block], rows: int, slates: int = 0) -> None:
        self.rows = rows
        self.slates = slates
        self._blocks = blocks
        self._values: list[Array | None] = [None] * len(blocks)
        self._texts: dict[int, list[str]] = {}
        # Kept apart from the values because they are almost always empty.
        self._invalid: dict[int, Array] = {}
        self._states: dict[int, Array] = {}
        self._absent: dict[tuple[int, int], Array] = {}
        self._pinned: set[tuple[int, int]] = set()

    def put(
        self,
        index: int,
        values: Array,
        *,
        invalid: Array | None = None,
        states: Array | None = None,
    ) -> None:
        """Fill a planned block, once. `invalid` marks rows without a value, `states` says per
        row where features came from (engine.ports.ReadState)."""
        block = self._blocks[index]
        if self._values[index] is not None or index in self._texts:
            raise EngineFault(f"block {index} of {block.step!r} is written twice")
        shape = values.shape
        rows = self.rows if block.space == "target" else self.slates
        if len(shape) != 2 or (shape[0] != rows and shape[0] != 1):
            raise EngineFault(
                f"{block.step!r} wrote shape {shape} where {rows} row(s) were planned"
            )
        if block.width is not None and shape[1] != block.width:
            raise EngineFault(
                f"{block.step!r} wrote {shape[1]} value(s) per row, planned {block.width}"
            )
        if block.dtype is not None and values.dtype != block.dtype.numpy:
            raise EngineFault(
                f"{block.step!r} wrote {values.dtype} where {block.dtype.name} was planned"
            )
        self._values[index] = values
        if invalid is not None and invalid.any():
            if len(invalid) != rows:
                raise EngineFault(
                    f"{block.step!r} marked {len(invalid)} row(s) where {rows} were planned"
                )
            self._invalid[index] = invalid
        if states is not None:
            self._states[index] = states

    def put_keys(self, index: int, texts: list[str]) -> None:
        """Fill a planned block with one key text per row, or one for all.

        Most are only looked up by, as texts; an array is made of them when somebody reads one.
        """
        if self.is_filled(index) or len(texts) not in (1, self.rows):
            self.put(index, text_block(texts))  # which says what is wrong
        self._texts[index] = texts

    def keys(self, column: Column) -> list[str] | None:
        """The key texts a column was filled with, if that is how it was filled."""
        return self._texts.get(column.block)

    def count(self, space: Space) -> int:
        """Rows of a space: targets, or slates."""
        return self.rows if space == "target" else self.slates

    def is_filled(self, index: int) -> bool:
        return self._values[index] is not None or index in self._texts

    def block(self, index: int) -> Array:
        """The whole block, [rows or 1, width]."""
        values = self._values[index]
        if values is None:
            texts = self._texts.get(index)
            if texts is None:
                raise EngineFault(
                    f"a block of {self._blocks[index].step!r} is read before it is written"
                )
            values = self._values[index] = text_block(texts)
        return values

    def column(self, column: Column) -> Array:
        """One column: [rows or 1], or [rows or 1, width] for a vector."""
        values = self._values[column.block]
        if values is None:
            values = self.block(column.block)
        if column.dtype is not None and column.dtype.is_vector:
            return values[:, column.offset : column.offset + (column.width or values.shape[1])]
        if values.shape[1] > 1 and column.width is None:
            return values
        return values[:, column.offset]

    @property
    def has_blanks(self) -> bool:
        """True when any block has rows without a value."""
        return bool(self._invalid)

    @property
    def has_gaps(self) -> bool:
        """True when any block has rows that are blank, stand-ins or incomplete."""
        return bool(self._invalid or self._states or self._absent)

    def invalid(self, index: int) -> Array | None:
        """Mask of rows without a value; None when all have one."""
        return self._invalid.get(index)

    def states(self, index: int) -> Array | None:
        """ReadState per row; None when all are real."""
        return self._states.get(index)

    def blank(self, column: Column) -> Array | None:
        """Mask of rows on which this column has no value; None when all have one."""
        return None if self.is_pinned(column) else self._invalid.get(column.block)

    def pin(self, column: Column) -> None:
        """Remember that the request brought this one feature itself, whatever its block says."""
        self._pinned.add((column.block, column.offset))

    def is_pinned(self, column: Column) -> bool:
        return bool(self._pinned) and (column.block, column.offset) in self._pinned

    def mark_absent(self, column: Column, rows: Array) -> None:
        """Remember rows whose stored record predates this one feature."""
        self._absent[(column.block, column.offset)] = rows

    def absent(self, column: Column) -> Array | None:
        return self._absent.get((column.block, column.offset))


def text_block(texts: list[str]) -> Array:
    """One text per row, as a block."""
    block = np.empty((len(texts), 1), dtype=object)
    block[:, 0] = texts
    return block


def merged(masks: Sequence[Array | None], rows: int) -> Array | None:
    """Rows set in any of the masks; None when no mask is there. Masks of one row spread."""
    present = [mask for mask in masks if mask is not None]
    if not present:
        return None
    result = np.zeros(rows, dtype=bool)
    for mask in present:
        result |= mask
    return result
