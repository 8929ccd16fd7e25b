"""Evaluates a named expression over the targets."""

from __future__ import annotations

from collections.abc import Awaitable

import numpy as np

from inferflow.components.columns import blank_rows, judge_numbers, through
from inferflow.components.model import scattered
from inferflow.components.timed import timed
from inferflow.dtypes import FP32, DType, dtype_of
from inferflow.dtypes.casting import cast
from inferflow.engine.matrix import Array, merged
from inferflow.engine.ports import Computed, ComputeRunner
from inferflow.engine.run import Run
from inferflow.plan.plan import Column, ComputeStep


class ComputeComponent:
    def __init__(self, step: ComputeStep, runner: ComputeRunner) -> None:
        assert step.output is not None
        self.step = step
        self.is_local = runner.is_local
        self._endpoint = runner.endpoint
        self._output: Column = step.output
        self._prepared = runner.prepare(
            step.compute_id, step.variables, precision=step.precision or FP32, strict=step.strict
        )

    async def run(self, run: Run) -> None:
        matrix, step = run.matrix, self.step
        record = run.record(step)
        if record is not None:
            record.rows = matrix.rows
            record.endpoint = self._endpoint
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
            values = matrix.column(source.target)
            if rows is not None and len(values) > 1:
                values = values[rows]
            columns.append(
                values if source.via is None else through(values, source.via, source.name)
            )
        count = matrix.rows if rows is None else len(rows)
        computed = await self._evaluated(columns, count, run)
        values = as_judged(without_marked(computed), self._output.dtype)
        marked = computed.invalid
        if rows is not None:
            values = scattered(values, rows, matrix.rows)
            marked = None if marked is None else scattered(marked, rows, matrix.rows)
        if marked is not None:
            run.mark(step, marked, computed.reason)
        values, odd = judge_numbers(
            values, step.nan_policy, step.nan_default, run=run, step=step, space="target"
        )
        invalid = blank
        if marked is not None or odd is not None:
            invalid = merged([blank, marked, odd], matrix.rows)
        matrix.put(self._output.block, as_output(values, self._output.dtype), invalid=invalid)

    def _evaluated(self, columns: list[Array], rows: int, run: Run) -> Awaitable[Computed]:
        deadline = run.deadline
        if self.step.timeout_ms is not None:
            deadline = deadline.within(self.step.timeout_ms)
        call = self._prepared.run(columns, rows, deadline=deadline)
        return timed(call, run.record(self.step))

    def fill_defaults(self, run: Run) -> None:
        self._stand_in(run, self._skipped(run))

    def leave_blank(self, run: Run) -> None:
        self._stand_in(run, np.ones(run.matrix.count(self._output.space), dtype=bool))

    def _skipped(self, run: Run) -> Array | None:
        """Rows this step was never to compute, because they lack an input."""
        return blank_rows(self.step.reads, run.matrix)

    def _stand_in(self, run: Run, blank: Array | None) -> None:
        row = as_output(np.array([self.step.nan_default]), self._output.dtype)
        run.matrix.put(self._output.block, row, invalid=blank)


def as_output(values: Array, dtype: DType | None) -> Array:
    """Computed numbers as the block of the output column."""
    block = values.reshape(-1, 1)
    if dtype is None or block.dtype == dtype.numpy:
        return block
    return cast(block, dtype_of(block), dtype.vector)


def as_judged(values: Array, dtype: DType | None) -> Array:
    """The same in the type `nan_policy` looks at: an output without NaN is converted after that."""
    return as_output(values, dtype if dtype is not None and dtype.is_float else None)


def without_marked(computed: Computed) -> Array:
    """Computed numbers, zero where there is none, so that a marked row is not judged again."""
    if computed.invalid is None:
        return computed.values
    return np.where(computed.invalid, computed.values.dtype.type(0), computed.values)
