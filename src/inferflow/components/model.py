"""Calls a model on the targets: tensors from columns, scores into columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inferflow.components.calibration import Calibrator
from inferflow.components.columns import blank_rows, judge_numbers, through
from inferflow.components.routing import choose_arm
from inferflow.dtypes import dtype_of
from inferflow.dtypes.casting import cast, is_plain
from inferflow.engine.deadline import Deadline
from inferflow.engine.matrix import Array, Matrix
from inferflow.engine.ports import ComputeRunner, ModelRunner, PreparedModel
from inferflow.engine.run import Run
from inferflow.errors import InferflowError, ModelFailed
from inferflow.plan.plan import ModelArm, ModelStep, OutputPlan, TensorPlan


@dataclass(frozen=True, slots=True)
class Arm:
    plan: ModelArm
    model: PreparedModel


class ModelComponent:
    def __init__(self, step: ModelStep, runner: ModelRunner, compute: ComputeRunner) -> None:
        self.step = step
        self.is_local = all(runner.is_local(arm.endpoint) for arm in step.arms)
        self._arms = tuple(
            Arm(
                arm,
                runner.prepare(
                    arm.endpoint,
                    tuple(tensor.name for tensor in arm.tensors),
                    tuple(output.tensor for output in arm.outputs),
                ),
            )
            for arm in step.arms
        )
        self._calibrate = Calibrator(step.calibrations, compute)

    async def run(self, run: Run) -> None:
        arm = self.chosen_arm(run)
        matrix = run.matrix
        blank = blank_rows(self.step.reads, matrix)
        rows = None if blank is None else np.flatnonzero(~blank)
        if rows is not None and len(rows) == 0:
            self._skip(run)
            return
        tensors = [tensor_of(tensor, matrix, rows) for tensor in arm.plan.tensors]
        count = matrix.rows if rows is None else len(rows)
        outputs, failed = await self._batches(arm, tensors, count, run)
        if rows is not None:
            outputs = [scattered(output, rows, matrix.rows) for output in outputs]
            lost = np.ones(matrix.rows, dtype=bool)
            lost[rows] = False if failed is None else failed
            failed = lost
        await self._write(arm.plan.outputs, outputs, failed, run)

    def chosen_arm(self, run: Run) -> Arm:
        arm = self._arms[choose_arm(self.step.routes, run.routing_key)]
        record = run.record(self.step)
        if record is not None and run.recording is not None:
            record.endpoint = arm.plan.endpoint.text or "local"
            record.version = arm.model.version
            record.rows = run.matrix.rows
            run.recording.arms[self.step.name] = f"{arm.plan.endpoint.model}@{arm.model.version}"
        return arm

    def _skip(self, run: Run) -> None:
        record = run.record(self.step)
        if record is not None:
            record.skipped = "no row has all inputs"
        self.leave_blank(run)

    async def _batches(
        self, arm: Arm, tensors: Sequence[Array], rows: int, run: Run
    ) -> tuple[list[Array], Array | None]:
        """Call the model in batches. A batch that fails loses its own rows and no others."""
        step = self.step
        deadline = run.deadline.within(step.timeout_ms)
        size = step.batch_size or rows
        record = run.record(step)
        if record is not None:
            record.batches = -(-rows // size)
        if rows <= size:
            return await call(arm, tensors, rows, deadline), None
        failed = np.zeros(rows, dtype=bool)
        parts: list[list[Array] | None] = []
        cause: InferflowError | None = None
        for start in range(0, rows, size):
            batch = [tensor[start : start + size] for tensor in tensors]
            try:
                parts.append(await call(arm, batch, len(batch[0]), deadline))
            except InferflowError as broken:
                if step.on_error == "fail":
                    raise
                parts.append(None)
                failed[start : start + size] = True
                cause = broken
        if cause is None:
            return [np.concatenate(same) for same in zip(*filter(None, parts), strict=True)], None
        if failed.all():
            raise cause
        run.mark(step, failed, str(cause))
        return _placed(parts, rows, size), failed

    async def _write(
        self,
        outputs: Sequence[OutputPlan],
        arrays: Sequence[Array],
        failed: Array | None,
        run: Run,
    ) -> None:
        step = self.step
        blocks = []
        for plan, array in zip(outputs, arrays, strict=True):
            values = as_scores(plan, array, run, step.model)
            values = await self._calibrate(plan, values, run.deadline)
            values, odd = judge_numbers(
                values, step.nan_policy, step.nan_default, run=run, step=step, space="target"
            )
            if failed is not None and step.on_error == "default":
                values = values.copy()
                values[failed] = step.nan_default
                blocks.append((plan.block, values, odd))
            else:
                blank = odd if failed is None else failed if odd is None else odd | failed
                blocks.append((plan.block, values, blank))
        for block, values, blank in blocks:
            run.matrix.put(block, values, invalid=blank)

    def fill_defaults(self, run: Run) -> None:
        stand_in(self.step, run.matrix, self.step.nan_default, blank=False)

    def leave_blank(self, run: Run) -> None:
        stand_in(self.step, run.matrix, 0.0, blank=True)


async def call(arm: Arm, tensors: Sequence[Array], rows: int, deadline: Deadline) -> list[Array]:
    """Run one batch and check that there is an answer for every row."""
    shaped = [_shaped(tensor, plan) for tensor, plan in zip(tensors, arm.plan.tensors, strict=True)]
    outputs = await arm.model.run(shaped, deadline=deadline)
    for plan, output in zip(arm.plan.outputs, outputs, strict=True):
        if output.ndim == 0 or len(output) != rows:
            got = "a single value" if output.ndim == 0 else f"{len(output)} row(s)"
            raise ModelFailed(
                arm.plan.endpoint.model, f"output {plan.tensor!r} has {got} for {rows} row(s)"
            )
    return list(outputs)


def _shaped(tensor: Array, plan: TensorPlan) -> Array:
    """[rows, width] in the rank the model declares."""
    if len(plan.shape) == 2:
        return tensor
    if len(plan.shape) == 1:
        return tensor[:, 0]
    tail = [-1 if d is None else d for d in plan.shape[1:]]
    return tensor.reshape(len(tensor), *tail)


def tensor_of(plan: TensorPlan, matrix: Matrix, rows: Array | None) -> Array:
    """A tensor laid out from blocks, [rows, width]; whole stretches at a time."""
    count = matrix.rows if rows is None else len(rows)
    tensor = np.empty((count, plan.width), dtype=plan.dtype.numpy)
    for piece in plan.pieces:
        values = matrix.block(piece.block)[:, piece.start : piece.stop]
        if rows is not None and len(values) > 1:
            values = values[rows]
        if piece.via is not None:
            values = through(values, piece.via, plan.name)
        if values.dtype == tensor.dtype:
            tensor[:, piece.at : piece.at + piece.stop - piece.start] = values
        else:
            place(values, plan, tensor, piece.at)
    return tensor


def place(values: Array, plan: TensorPlan, tensor: Array, at: int) -> None:
    """Put values into a stretch of a tensor, converted by the one cast table."""
    own = dtype_of(values).element
    if own is not plan.dtype and not is_plain(own, plan.dtype):
        values = through(values, plan.dtype, plan.name)
    tensor[..., at : at + values.shape[-1]] = values


def as_scores(plan: OutputPlan, output: Array, run: Run, model: str) -> Array:
    """A model output as the block its score columns lie in."""
    block = run.plan.blocks[plan.block]
    values = output.reshape(len(output), -1)
    if values.shape[1] != plan.width:
        raise ModelFailed(
            model,
            f"output {plan.tensor!r} has {values.shape[1]} value(s) per row, not {plan.width}",
        )
    assert block.dtype is not None
    if values.dtype == block.dtype.numpy:
        return values
    return cast(values, dtype_of(values), block.dtype.vector)


def scattered(values: Array, rows: Array, count: int) -> Array:
    """Rows of a part put back at their places; the others hold zeros and are marked blank."""
    whole = np.zeros((count, *values.shape[1:]), dtype=values.dtype)
    whole[rows] = values
    return whole


def _placed(parts: Sequence[list[Array] | None], rows: int, size: int) -> list[Array]:
    sample = next(part for part in parts if part is not None)
    whole = [np.zeros((rows, *array.shape[1:]), dtype=array.dtype) for array in sample]
    for number, part in enumerate(parts):
        if part is not None:
            for target, array in zip(whole, part, strict=True):
                target[number * size : number * size + len(array)] = array
    return whole


def stand_in(step: ModelStep, matrix: Matrix, value: float, *, blank: bool) -> None:
    """Fill a failed step's blocks: with a default, or with rows that have no value."""
    for output in step.arms[0].outputs:
        column = output.columns[0]
        rows = matrix.rows if column.space == "target" else matrix.slates
        assert column.dtype is not None
        kind = column.dtype.element
        row = np.full((1, output.width), str(value) if kind.is_text else value, dtype=object)
        values = row if kind.is_text else row.astype(np.float64).astype(kind.numpy)
        invalid = np.ones(rows, dtype=bool) if blank else None
        matrix.put(output.block, values, invalid=invalid)
