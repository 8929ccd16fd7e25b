"""Evaluates a named expression once per slate (or pair).

Expressions that look across rows see exactly the items of one slate. The others are
evaluated for all items at once. `slate_reduce` then makes one value per slate.
"""

from __future__ import annotations

import numpy as np

from inferflow.components.columns import judge_numbers
from inferflow.components.compute import ComputeComponent, as_judged, as_output, without_marked
from inferflow.components.model import scattered
from inferflow.components.slate_columns import (
    blank_slates,
    chosen,
    column_of,
    per_item,
    per_slate,
    reduced,
    reduced_marks,
)
from inferflow.engine.matrix import Array, merged
from inferflow.engine.ports import Computed
from inferflow.engine.run import Run
from inferflow.engine.slates import Slates


class SlateComputeComponent(ComputeComponent):
    async def run(self, run: Run) -> None:
        step, slates = self.step, run.slates
        record = run.record(step)
        if slates is None:
            if record is not None:
                record.skipped = "the request has no pairs or slates"
            return
        if record is not None:
            record.rows = slates.count
            record.endpoint = self._endpoint
        blank = self._skipped(run)
        numbers = np.arange(slates.count) if blank is None else np.flatnonzero(~blank)
        if len(numbers) == 0:
            self.leave_blank(run)
            return
        computed = await self._over_slates(numbers, run, slates)
        values = as_judged(without_marked(computed), self._output.dtype)
        values = scattered(values, numbers, slates.count)
        own: Array | None = None
        if computed.invalid is not None:
            own = scattered(computed.invalid, numbers, slates.count)
            run.mark(step, own, computed.reason, "slate")
        values, odd = judge_numbers(
            values, step.nan_policy, step.nan_default, run=run, step=step, space="slate"
        )
        invalid = merged([blank, own, odd], slates.count)
        run.matrix.put(self._output.block, as_output(values, self._output.dtype), invalid=invalid)

    def _skipped(self, run: Run) -> Array | None:
        assert run.slates is not None
        return blank_slates(self.step.reads, run, run.slates)

    async def _over_slates(self, numbers: Array, run: Run, whole: Slates) -> Computed:
        """One value per chosen slate."""
        sources = self.step.sources
        at_slate = [column_of(source, run.matrix).space == "slate" for source in sources]
        if all(at_slate) and not self.step.cross_row:
            columns = [_column(per_slate(source, run, numbers)) for source in sources]
            return await self._evaluated(columns, len(numbers), run)
        part = chosen(whole, numbers)
        columns = [
            _column(
                np.repeat(per_slate(source, run, numbers), part.sizes, axis=0)
                if is_slate
                else per_item(source, run, part)
            )
            for source, is_slate in zip(sources, at_slate, strict=True)
        ]
        if self.step.cross_row:
            computed = await self._one_by_one(columns, part, run)
        else:
            computed = await self._evaluated(columns, len(part.indices), run)
        how = self.step.slate_reduce
        marks = computed.invalid
        return Computed(
            reduced(computed.values, part.offsets, how),
            None if marks is None else reduced_marks(marks, part.offsets, how),
            computed.reason,
        )

    async def _one_by_one(self, columns: list[Array], slates: Slates, run: Run) -> Computed:
        """Every slate on its own, results one after another."""
        values: list[Array] = []
        marks: list[Array] = []
        reason = ""
        for number in range(slates.count):
            rows = slice(int(slates.offsets[number]), int(slates.offsets[number + 1]))
            computed = await self._evaluated(
                [column[rows] for column in columns], rows.stop - rows.start, run
            )
            values.append(computed.values)
            marks.append(
                np.zeros(len(computed.values), bool)
                if computed.invalid is None
                else computed.invalid
            )
            reason = reason or computed.reason
        invalid = np.concatenate(marks)
        return Computed(np.concatenate(values), invalid if invalid.any() else None, reason)


def _column(values: Array) -> Array:
    """[rows, 1] as [rows]; vectors stay two dimensional."""
    return values[:, 0] if values.shape[1] == 1 else values
