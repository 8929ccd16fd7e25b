"""How a slate step sees its columns: slate-level ones first, then those of its targets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inferflow.components.columns import through
from inferflow.engine.matrix import Array, Matrix
from inferflow.engine.run import Run
from inferflow.engine.slates import Slates
from inferflow.plan.plan import Column, Source
from inferflow.plan.schema import SlateReduce


def column_of(source: Source, matrix: Matrix) -> Column:
    """The column a source means in this request: at slate level when one was given there."""
    if source.slate is not None and matrix.is_filled(source.slate.block):
        return source.slate
    assert source.target is not None
    return source.target


def per_item(source: Source, run: Run, slates: Slates) -> Array:
    """A target column for every item of these slates, one after another: [items, width]."""
    return _picked(source, slates.indices, run)


def per_slate(source: Source, run: Run, numbers: Array) -> Array:
    """A slate-level column of the slates of these numbers: [slates, width]."""
    return _picked(source, numbers, run)


def _picked(source: Source, rows: Array, run: Run) -> Array:
    """Chosen rows of a column, then brought into the type the reader declares: a row nobody
    chose may hold anything."""
    values = run.matrix.column(column_of(source, run.matrix))
    values = values.reshape(len(values), -1)
    values = np.repeat(values, len(rows), axis=0) if len(values) == 1 else values[rows]
    return through(values, source.via, source.name)


def blank_slates(columns: Sequence[Column], run: Run, slates: Slates) -> Array | None:
    """Slates that lack a value themselves, or on one of their targets."""
    matrix = run.matrix
    blank = np.zeros(slates.count, dtype=bool)
    found = False
    for column in columns:
        mask = matrix.blank(column)
        if mask is None or not matrix.is_filled(column.block):
            continue
        found = True
        if column.space == "slate":
            blank |= mask
        else:
            on_items = np.broadcast_to(mask, (matrix.rows,))[slates.indices]
            blank |= np.logical_or.reduceat(on_items, slates.offsets[:-1])
    return blank if found and blank.any() else None


def chosen(slates: Slates, numbers: Array) -> Slates:
    """Only the slates of these numbers, in order."""
    indices = [slates.members(int(number)) for number in numbers]
    sizes = slates.sizes[numbers]
    return Slates(
        slates.kind,
        np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
        np.concatenate(indices) if indices else np.empty(0, np.int64),
    )


def reduced(values: Array, offsets: Array, how: SlateReduce) -> Array:
    """One row per slate from one row per item."""
    starts, ends = offsets[:-1], offsets[1:]
    if how == "first":
        return np.asarray(values[starts])
    if how == "last":
        return np.asarray(values[ends - 1])
    with np.errstate(all="ignore"):
        if how in ("min", "max"):
            pick = np.minimum if how == "min" else np.maximum
            return np.asarray(pick.reduceat(values, starts, axis=0))
        sums = np.add.reduceat(values, starts, axis=0)
        if how == "sum":
            return np.asarray(sums)
        return np.asarray(sums / np.diff(offsets).reshape(-1, *[1] * (values.ndim - 1)))


def reduced_marks(marks: Array, offsets: Array, how: SlateReduce) -> Array:
    """Slates whose reduced value rests on a marked item."""
    if how in ("first", "last"):
        return reduced(marks, offsets, how)
    return np.asarray(np.logical_or.reduceat(marks, offsets[:-1]))
