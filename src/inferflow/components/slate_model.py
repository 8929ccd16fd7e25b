"""Calls a model on slates (or pairs), in whichever of three forms the model takes them.

- rank 3, [S, n, F]: slates of one size go in one call; slate-level columns on every item
- rank 2 of width n·F + G: items side by side in slate order, then the slate-level columns
- rank 2 of width F: a slate's items are the batch, and `slate_reduce` makes one score of them
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from inferflow.components.model import Arm, ModelComponent, call, place
from inferflow.components.slate_columns import (
    blank_slates,
    chosen,
    column_of,
    per_item,
    per_slate,
    reduced,
)
from inferflow.engine.matrix import Array
from inferflow.engine.run import Run
from inferflow.engine.slates import Slates
from inferflow.errors import InferflowError, InvalidRequest
from inferflow.plan.plan import Source, TensorPlan


@dataclass(frozen=True, slots=True)
class _Form:
    """How this request's slates meet the model."""

    fused: bool
    """Several slates in one call, one output row each; else one call per slate."""
    size: int | None = None
    """Items a slate must have, when the model fixes it."""


@dataclass(frozen=True, slots=True)
class _Part:
    """Slates that go together in one call, and where they stand in the request."""

    numbers: Array
    slates: Slates

    def once(self, source: Source, run: Run) -> Array:
        """A slate-level column of these slates."""
        return per_slate(source, run, self.numbers)


class SlateModelComponent(ModelComponent):
    async def run(self, run: Run) -> None:
        step, slates = self.step, run.slates
        record = run.record(step)
        if slates is None:
            if record is not None:
                record.skipped = "the request has no pairs or slates"
            return
        arm = self.chosen_arm(run)
        if record is not None:
            record.rows = slates.count
        form = _form(arm.plan.tensors, run)
        blank = self._skipped(run)
        asked = np.ones(slates.count, dtype=bool) if blank is None else ~blank
        if form.size is not None:
            wrong = (slates.sizes != form.size) & asked
            if wrong.any():
                run.mark(step, wrong, f"the model takes {form.size} items at a time", "slate")
                asked &= ~wrong
        parts = list(_calls(slates, asked, form, step.batch_size))

        async def one(numbers: Array) -> list[Array]:
            return await self._call(arm, _Part(numbers, chosen(slates, numbers)), form, run)

        found = await self._asked([partial(one, numbers) for numbers in parts], arm, run)
        both = list(zip(parts, found, strict=True))
        results = [(part, each) for part, each in both if not isinstance(each, InferflowError)]
        failures = [(part, each) for part, each in both if isinstance(each, InferflowError)]
        if record is not None:
            record.batches = len(results) + len(failures)
        if not results:
            self._without_answers(failures, run)
            return
        for numbers, cause in failures:
            mask = np.zeros(slates.count, dtype=bool)
            mask[numbers] = True
            run.mark(step, mask, str(cause), "slate")
        answered = np.concatenate([numbers for numbers, _ in results])
        outputs = [
            np.concatenate(same) for same in zip(*(parts for _, parts in results), strict=True)
        ]
        await self._write(arm.plan.outputs, outputs, answered, blank, run, "slate")

    def _without_answers(self, failures: Sequence[tuple[Array, InferflowError]], run: Run) -> None:
        """Every call failed, or there was no slate the model could be asked about."""
        if failures:
            raise failures[0][1]
        if self.step.on_error == "default":
            self.fill_defaults(run)
        else:
            self.leave_blank(run)

    async def _call(self, arm: Arm, part: _Part, form: _Form, run: Run) -> list[Array]:
        """Scores of these slates, one row each per output."""
        slates = part.slates
        deadline = self._deadline(arm, run)
        tensors = [_tensor(plan, part, form, run) for plan in arm.plan.tensors]
        rows = slates.count if form.fused else len(slates.indices)
        outputs = await call(arm, tensors, rows, deadline, run.record(self.step))
        if not form.fused:
            return [reduced(output, slates.offsets, self.step.slate_reduce) for output in outputs]
        return [self._over_items(output) if output.ndim == 3 else output for output in outputs]

    def _over_items(self, output: Array) -> Array:
        """[S, n, k] scores of items as [S, k] scores of slates."""
        count, items = output.shape[:2]
        offsets = np.arange(0, count * items + 1, items)
        flat = output.reshape(count * items, -1)
        return reduced(flat, offsets, self.step.slate_reduce)

    def _skipped(self, run: Run) -> Array | None:
        assert run.slates is not None
        return blank_slates(self.step.reads, run, run.slates)


def _levels(plan: TensorPlan, run: Run) -> tuple[list[Source], list[Source]]:
    """A tensor's sources that are per target, and those that are per slate."""
    at_slate = [s for s in plan.sources if column_of(s, run.matrix).space == "slate"]
    return [s for s in plan.sources if s not in at_slate], at_slate


def _form(tensors: Sequence[TensorPlan], run: Run) -> _Form:
    fused, size = False, None
    for plan in tensors:
        per_target, at_slate = _levels(plan, run)
        items = sum(source.width for source in per_target)
        once = sum(source.width for source in at_slate)
        if len(plan.shape) == 3:
            fused, size = True, plan.shape[1] or size
        elif len(plan.shape) == 2:
            width = plan.shape[1]
            if width is not None and width != items + once:
                fused, size = True, _items_in(width, items, once, plan, run)
    return _Form(fused, size)


def _items_in(width: int, items: int, once: int, plan: TensorPlan, run: Run) -> int:
    """Items n of a slate with n·F + G values, where F of them are per target and G per slate."""
    size, rest = divmod(width - once, items) if items else (0, width - once)
    if rest or size < 1:
        assert run.slates is not None
        names = ", ".join(repr(source.name) for source in plan.sources if source.slate is not None)
        raise InvalidRequest(
            run.slates.kind,
            f"with {items} value(s) per target and {once} per slate no number of items fills "
            f"the {width} values of input {plan.name!r}",
            f"give {names} per slate, or per target" if names else "",
        )
    return size


def _calls(slates: Slates, asked: Array, form: _Form, batch_size: int) -> Iterator[Array]:
    """Which slates go together in one call."""
    numbers = np.flatnonzero(asked)
    if not form.fused:
        yield from (np.array([number]) for number in numbers)
        return
    for size in np.unique(slates.sizes[numbers]):
        same = numbers[slates.sizes[numbers] == size]
        step = batch_size or len(same)
        for start in range(0, len(same), step):
            yield same[start : start + step]


def _tensor(plan: TensorPlan, part: _Part, form: _Form, run: Run) -> Array:
    """One tensor for slates that go together; [rows, …] in the rank the model takes."""
    slates = part.slates
    per_target, at_slate = _levels(plan, run)
    if form.fused and len(plan.shape) == 2:
        items = _side_by_side(plan, per_target, slates, run)
        once = _stacked(
            plan, at_slate, [part.once(source, run) for source in at_slate], slates.count
        )
        return np.concatenate([items, once], axis=1)
    columns = [
        per_item(source, run, slates)
        if source in per_target
        else np.repeat(part.once(source, run), slates.sizes, axis=0)
        for source in plan.sources
    ]
    tensor = _stacked(plan, plan.sources, columns, len(slates.indices))
    return tensor.reshape(slates.count, -1, plan.width) if len(plan.shape) == 3 else tensor


def _side_by_side(plan: TensorPlan, sources: Sequence[Source], slates: Slates, run: Run) -> Array:
    columns = [per_item(source, run, slates) for source in sources]
    return _stacked(plan, sources, columns, len(slates.indices)).reshape(slates.count, -1)


def _stacked(
    plan: TensorPlan, sources: Sequence[Source], columns: Sequence[Array], rows: int
) -> Array:
    """Columns laid next to each other in the tensor's type."""
    tensor = np.empty((rows, sum(source.width for source in sources)), dtype=plan.dtype.numpy)
    at = 0
    for source, values in zip(sources, columns, strict=True):
        place(values, plan, tensor, at)
        at += source.width
    return tensor
