"""The matrix of a request, column by column in the order in which its steps wrote them.

A summary: how far values reach, the first few of them as text, and how many are not the store's
own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from inferflow.app.explain.planned import dtype_text
from inferflow.dtypes import dtype_of
from inferflow.engine.matrix import Array, Matrix
from inferflow.engine.recording import Recording, StepRecord
from inferflow.plan.plan import Column
from inferflow.scores import ScoreColumn
from inferflow.tabular import cell_text

SHOWN = 12
"""Rows of which values are shown."""

Facts = dict[str, Any]


def grown_matrix(recording: Recording) -> Facts:
    matrix = recording.matrix
    assert matrix is not None
    columns = [
        _column(column, matrix, recording.steps[step.name])
        for step in recording.plan.steps
        for column in dict.fromkeys(step.writes)
        if column.space == "target" and matrix.is_filled(column.block)
    ]
    columns.sort(key=lambda each: float(each["at_us"]))
    return {"columns": columns, "rows": matrix.rows, "ids": list(recording.ids[:SHOWN])}


def _column(column: Column, matrix: Matrix, record: StepRecord) -> Facts:
    values, blank = matrix.column(column), matrix.blank(column)
    low, high = _reach(values, blank)
    return {
        "column": column.name,
        "step": record.name,
        "at_us": record.start_us + record.duration_us,
        "dtype": dtype_text(column),
        "min": low,
        "max": high,
        "sample": _sample(column, values, blank, matrix.rows),
        "defaults": _stand_ins(column, matrix),
    }


def _reach(values: Array, blank: Array | None) -> tuple[float | None, float | None]:
    """Smallest and largest of the numbers; nothing for text and vectors."""
    if values.ndim != 1 or values.dtype.kind not in "fiub":
        return None, None
    there = values if blank is None or len(values) == 1 else values[~blank]
    numbers = np.asarray(there, np.float64)
    numbers = numbers[np.isfinite(numbers)]
    return (float(numbers.min()), float(numbers.max())) if numbers.size else (None, None)


def _sample(column: Column, values: Array, blank: Array | None, rows: int) -> list[str]:
    shown = min(SHOWN, rows)
    first = np.broadcast_to(values, (shown, *values.shape[1:])) if len(values) == 1 else values
    mask = None if blank is None else np.broadcast_to(blank, (rows,))[:shown]
    dtype = column.dtype or dtype_of(values)
    listed = ScoreColumn(column.name, dtype, first[:shown], mask).to_list()
    return ["" if each is None else cell_text(each) for each in listed]


def _stand_ins(column: Column, matrix: Matrix) -> int:
    """Rows whose value is not the store's own."""
    if matrix.is_pinned(column):
        return 0
    states, absent = matrix.states(column.block), matrix.absent(column)
    unreal = np.zeros(matrix.rows, bool)
    if states is not None:
        unreal |= np.broadcast_to(states != 0, (matrix.rows,))
    if absent is not None:
        unreal |= np.broadcast_to(absent, (matrix.rows,))
    return int(np.count_nonzero(unreal))
