"""Evaluates a named expression over the targets."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from inferflow.components.batching import answers
from inferflow.components.columns import blank_rows, judge_numbers, through
from inferflow.components.model import scattered
from inferflow.components.parts import Answered, batches, joined
from inferflow.components.timed import timed
from inferflow.dtypes import FP32, DType, dtype_of
from inferflow.dtypes.casting import cast
from inferflow.engine.deadline import Deadline
from inferflow.engine.matrix import Array, merged
from inferflow.engine.ports import Computed, ComputeRunner
from inferflow.engine.run import Run
from inferflow.plan.plan import Column, ComputeStep, Space


class ComputeComponent:
    def __init__(self, step: ComputeStep, runner: ComputeRunner) -> None:
        assert step.output is not None
        self.step = step
        self.is_local = runner.is_local
        self._endpoint = runner.endpoint
        self._output: Column = step.output
        dtype = step.output.dtype
        self._judged = dtype if dtype is not None and dtype.is_float else None
        """What `nan_policy` looks at: an output without NaN is converted after that."""
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
        answered = await self._evaluated(columns, batches(count, self._prepared.batch_size), run)
        self._write(answered, rows, blank, run, "target")

    def _write(
        self, answered: Answered, rows: Array | None, blank: Array | None, run: Run, space: Space
    ) -> None:
        """Put values in place. `rows` are those that were asked for (None: all); `blank` are the
        others, which stay blank under every policy."""
        step, count, computed = self.step, run.matrix.count(space), answered.computed
        values, marked = computed.values, computed.invalid
        if marked is not None:  # zero, so that a marked row is not judged again
            values = np.where(marked, values.dtype.type(0), values)
        values = as_output(values, self._judged)
        if rows is not None:
            values = scattered(values, rows, count)
            marked = None if marked is None else scattered(marked, rows, count)
        if marked is not None:
            run.mark(step, marked, computed.reason, space)
        lost = self._mark_lost(answered, rows, run, space) if answered.lost else None
        values, odd = judge_numbers(
            values, step.nan_policy, step.nan_default, run=run, step=step, space=space
        )
        if self._judged is None:
            values = as_output(values, self._output.dtype)
        if lost is not None and step.on_error == "default":
            values[lost], lost = self._default(), None
        invalid = blank
        if marked is not None or odd is not None or lost is not None:
            invalid = merged([blank, marked, odd, lost], count)
        run.matrix.put(self._output.block, values, invalid=invalid)

    def _mark_lost(
        self, answered: Answered, rows: Array | None, run: Run, space: Space
    ) -> Array | None:
        """Mask of all rows that lost their answer."""
        count = run.matrix.count(space)
        masks = []
        for mask, why in answered.lost:
            masks.append(mask if rows is None else scattered(mask, rows, count))
            run.mark(self.step, masks[-1], why, space)
        return merged(masks, count)

    async def _evaluated(
        self, columns: Sequence[Array], parts: Sequence[slice], run: Run
    ) -> Answered:
        """Evaluate each part on its own. A failure is everybody's when the step or the request
        ends by it."""
        record, deadline = run.record(self.step), run.deadline
        if self.step.timeout_ms is not None:
            deadline = deadline.within(self.step.timeout_ms)
        if record is not None:
            record.batches = len(parts)
        if len(parts) > 1:
            return await self._each_evaluated(columns, parts, run, deadline)
        call = self._prepared.run(columns, parts[0].stop, deadline=deadline)
        return Answered(await timed(call, record))

    async def _each_evaluated(
        self, columns: Sequence[Array], parts: Sequence[slice], run: Run, deadline: Deadline
    ) -> Answered:
        step, record = self.step, run.record(self.step)

        async def one(part: slice) -> Computed:
            some = [column if len(column) == 1 else column[part] for column in columns]
            call = self._prepared.run(some, part.stop - part.start, deadline=deadline)
            return await timed(call, record)

        found = await answers(
            [partial(one, part) for part in parts],
            together=not self.is_local,
            gives_up=lambda: step.strict or step.on_error == "fail" or run.deadline.is_past(),
        )
        return joined(parts, found)

    def fill_defaults(self, run: Run) -> None:
        self._stand_in(run, self._skipped(run))

    def leave_blank(self, run: Run) -> None:
        self._stand_in(run, np.ones(run.matrix.count(self._output.space), dtype=bool))

    def _skipped(self, run: Run) -> Array | None:
        """Rows this step was never to compute, because they lack an input."""
        return blank_rows(self.step.reads, run.matrix)

    def _stand_in(self, run: Run, blank: Array | None) -> None:
        run.matrix.put(self._output.block, self._default(), invalid=blank)

    def _default(self) -> Array:
        """One row, holding the step's default."""
        return as_output(np.array([self.step.nan_default]), self._output.dtype)


def as_output(values: Array, dtype: DType | None) -> Array:
    """Computed numbers as the block of the output column."""
    block = values.reshape(-1, 1)
    if dtype is None or block.dtype == dtype.numpy:
        return block
    return cast(block, dtype_of(block), dtype.vector)
