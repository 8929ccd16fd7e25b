"""Evaluates a named expression over the targets."""

from __future__ import annotations

import numpy as np

from inferflow.components.columns import blank_rows, judge_numbers, source_values
from inferflow.components.model import scattered
from inferflow.dtypes import FP32, DType, dtype_of
from inferflow.dtypes.casting import cast
from inferflow.engine.matrix import Array
from inferflow.engine.ports import ComputeRunner
from inferflow.engine.run import Run
from inferflow.plan.plan import Column, ComputeStep


class ComputeComponent:
    def __init__(self, step: ComputeStep, runner: ComputeRunner) -> None:
        assert step.output is not None
        self.step = step
        self.is_local = runner.is_local
        self._output: Column = step.output
        self._prepared = runner.prepare(
            step.compute_id, step.variables, precision=step.precision or FP32, strict=step.strict
        )

    async def run(self, run: Run) -> None:
        matrix, step = run.matrix, self.step
        record = run.record(step)
        if record is not None:
            record.rows = matrix.rows
        blank = blank_rows(step.reads, matrix)
        rows = None if blank is None else np.flatnonzero(~blank)
        if rows is not None and len(rows) == 0:
            if record is not None:
                record.skipped = "no row has all inputs"
            self.leave_blank(run)
            return
        columns = []
        for source in step.sources:
            assert source.target is not None
            values = source_values(source, source.target, matrix)
            columns.append(values if rows is None or len(values) == 1 else values[rows])
        count = matrix.rows if rows is None else len(rows)
        computed = await self._prepared.run(
            columns, count, deadline=run.deadline.within(step.timeout_ms)
        )
        values = as_output(computed.values, self._output.dtype)
        invalid = computed.invalid
        if rows is not None:
            values = scattered(values, rows, matrix.rows)
            lost = np.ones(matrix.rows, dtype=bool)
            lost[rows] = False if invalid is None else invalid
            invalid = lost
        if computed.invalid is not None and invalid is not None:
            own = invalid if blank is None else invalid & ~blank
            run.mark(step, own, computed.reason)
        self._put(values, invalid, run)

    def _put(self, values: Array, invalid: Array | None, run: Run) -> None:
        step = self.step
        # Rows that are blank already are not judged a second time.
        judged = values if invalid is None else np.where(invalid[:, None], 0, values)
        values, odd = judge_numbers(
            judged, step.nan_policy, step.nan_default, run=run, step=step, space="target"
        )
        blank = invalid if odd is None else odd if invalid is None else odd | invalid
        run.matrix.put(self._output.block, values, invalid=blank)

    def fill_defaults(self, run: Run) -> None:
        stand_in(self._output, run, self.step.nan_default, blank=False)

    def leave_blank(self, run: Run) -> None:
        stand_in(self._output, run, 0.0, blank=True)


def as_output(values: Array, dtype: DType | None) -> Array:
    """Computed numbers as the block of the output column."""
    block = values.reshape(-1, 1)
    if dtype is None or block.dtype == dtype.numpy:
        return block
    return cast(block, dtype_of(block), dtype.vector)


def stand_in(column: Column, run: Run, value: float, *, blank: bool) -> None:
    rows = run.matrix.rows if column.space == "target" else run.matrix.slates
    assert column.dtype is not None
    values = np.full((1, 1), value, dtype=np.float64).astype(column.dtype.numpy)
    run.matrix.put(column.block, values, invalid=np.ones(rows, dtype=bool) if blank else None)
