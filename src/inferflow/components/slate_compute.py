"""Evaluates a named expression once per slate (or pair).

Expressions that look across rows see exactly the items of one slate, whatever they are called
for beside it. The others are evaluated for all items at once. `slate_reduce` then makes one value
per slate.
"""

from __future__ import annotations

import numpy as np

from inferflow.components.compute import ComputeComponent
from inferflow.components.parts import Answered, batches, between
from inferflow.components.slate_columns import (
    blank_slates,
    chosen,
    column_of,
    per_item,
    per_slate,
    reduced,
    reduced_marks,
)
from inferflow.engine.matrix import Array
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
        answered = await self._over_slates(numbers, run, slates)
        self._write(answered, numbers, blank, run, "slate")

    def _skipped(self, run: Run) -> Array | None:
        assert run.slates is not None
        return blank_slates(self.step.reads, run, run.slates)

    async def _over_slates(self, numbers: Array, run: Run, whole: Slates) -> Answered:
        """One value per chosen slate."""
        sources, size = self.step.sources, self._prepared.batch_size
        at_slate = [column_of(source, run.matrix).space == "slate" for source in sources]
        if all(at_slate) and not self.step.cross_row:
            columns = [_column(per_slate(source, run, numbers)) for source in sources]
            return await self._evaluated(columns, batches(len(numbers), size), run)
        part = chosen(whole, numbers)
        columns = [
            _column(
                np.repeat(per_slate(source, run, numbers), part.sizes, axis=0)
                if is_slate
                else per_item(source, run, part)
            )
            for source, is_slate in zip(sources, at_slate, strict=True)
        ]
        alone = between(part.offsets) if self.step.cross_row else batches(len(part.indices), size)
        return self._reduced(await self._evaluated(columns, alone, run), part)

    def _reduced(self, answered: Answered, slates: Slates) -> Answered:
        """Values of items as values of slates."""
        how, computed = self.step.slate_reduce, answered.computed
        marks = computed.invalid
        return Answered(
            Computed(
                reduced(computed.values, slates.offsets, how),
                None if marks is None else reduced_marks(marks, slates.offsets, how),
                computed.reason,
            ),
            tuple((reduced_marks(mask, slates.offsets, how), why) for mask, why in answered.lost),
        )


def _column(values: Array) -> Array:
    """[rows, 1] as [rows]; vectors stay two dimensional."""
    return values[:, 0] if values.shape[1] == 1 else values
