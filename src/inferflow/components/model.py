"""Calls a model on the targets: tensors from columns, scores into columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import repeat

import numpy as np

from inferflow.components.batching import Call, answers
from inferflow.components.calibration import Calibrator
from inferflow.components.columns import blank_rows, judge_numbers, through
from inferflow.components.routing import choose_arm
from inferflow.components.timed import timed
from inferflow.dtypes import FP64, DType, dtype_of
from inferflow.dtypes.casting import cast, is_plain
from inferflow.engine.deadline import Deadline
from inferflow.engine.matrix import Array, Matrix, merged
from inferflow.engine.ports import ComputeRunner, ModelRunner, PreparedModel
from inferflow.engine.recording import StepRecord
from inferflow.engine.run import Run
from inferflow.errors import InferflowError, ModelFailed
from inferflow.plan.plan import ModelArm, ModelStep, OutputPlan, Space, TensorPlan

MARGIN_MS = 5.0
"""For what is left to do after the last call has been given up."""


@dataclass(frozen=True, slots=True)
class Arm:
    plan: ModelArm
    model: PreparedModel
    takes_rows: bool
    """Whether its tensors are [rows, width], the shape they are laid out in."""
    is_local: bool


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
                all(len(tensor.shape) == 2 for tensor in arm.tensors),
                arm.endpoint.is_local,
            )
            for arm in step.arms
        )
        self._calibrate = Calibrator(step.calibrations, compute)

    async def run(self, run: Run) -> None:
        arm, matrix = self.chosen_arm(run), run.matrix
        blank = blank_rows(self.step.reads, matrix)
        rows = None if blank is None else np.flatnonzero(~blank)
        count = matrix.rows if rows is None else len(rows)
        if count == 0:
            self._skip(run)
            return
        tensors = list(map(tensor_of, arm.plan.tensors, repeat(matrix), repeat(rows)))
        size, record = self.step.batch_size or count, run.record(self.step)
        if record is not None:
            record.batches = -(-count // size)
        if count <= size:
            outputs = await call(arm, tensors, count, self._deadline(arm, run), record)
        else:
            outputs, rows = await self._in_batches(arm, tensors, size, rows, run)
        await self._write(arm.plan.outputs, outputs, rows, blank, run)

    def chosen_arm(self, run: Run) -> Arm:
        routes = self.step.routes
        arm = self._arms[0 if routes is None else choose_arm(routes, run.routing_key)]
        record = run.record(self.step)
        if record is None:
            return arm
        record.endpoint = arm.plan.endpoint.text or "local"
        record.version = arm.model.version
        record.rows = run.matrix.rows
        if run.recording is not None:
            run.recording.arms[self.step.name] = f"{arm.plan.endpoint.model}@{arm.model.version}"
        return arm

    def _skip(self, run: Run) -> None:
        record = run.record(self.step)
        if record is not None:
            record.skipped = "no row has all inputs"
        self.leave_blank(run)

    async def _in_batches(
        self, arm: Arm, tensors: Sequence[Array], size: int, rows: Array | None, run: Run
    ) -> tuple[list[Array], Array | None]:
        """Call the model for `size` rows at a time. `rows` are the places of the tensors' rows
        among all rows of the request (None: the same); those that were answered come back.

        A batch that fails loses its own rows and no others.
        """
        step, count = self.step, len(tensors[0])
        parts = [slice(start, start + size) for start in range(0, count, size)]
        deadline, record = self._deadline(arm, run), run.record(self.step)

        async def one(part: slice) -> list[Array]:
            batch = [tensor[part] for tensor in tensors]
            return await call(arm, batch, len(batch[0]), deadline, record)

        found = await self._asked([partial(one, part) for part in parts], arm, run)
        failures = [
            (part, cause)
            for part, cause in zip(parts, found, strict=True)
            if isinstance(cause, InferflowError)
        ]
        given = [each for each in found if not isinstance(each, InferflowError)]
        if not given:
            raise failures[0][1]
        answered = np.ones(count, dtype=bool)
        for part, cause in failures:
            answered[part] = False
            lost = np.zeros(run.matrix.rows, dtype=bool)
            lost[part if rows is None else rows[part]] = True
            run.mark(step, lost, str(cause))
        outputs = [np.concatenate(same) for same in zip(*given, strict=True)]
        if not failures:
            return outputs, rows
        return outputs, np.flatnonzero(answered) if rows is None else rows[answered]

    def _deadline(self, arm: Arm, run: Run) -> Deadline:
        """When a call must be back. One that leaves this process a little before the request's own
        time is up, so that there is an answer to give without it."""
        whole = run.deadline if arm.is_local else run.deadline.ahead(MARGIN_MS)
        return whole.within(self.step.timeout_ms)

    async def _asked(
        self, calls: Sequence[Call[list[Array]]], arm: Arm, run: Run
    ) -> list[list[Array] | InferflowError]:
        """What each call gave. A failure is everybody's when the step or the request ends by it."""
        return await answers(
            calls,
            together=not arm.is_local,
            gives_up=lambda: self.step.on_error == "fail" or run.deadline.is_past(),
        )

    async def _write(
        self,
        outputs: Sequence[OutputPlan],
        arrays: Sequence[Array],
        rows: Array | None,
        blank: Array | None,
        run: Run,
        space: Space = "target",
    ) -> None:
        """Put scores in place. `rows` are those the model answered (None: all); `blank` are those
        it was never asked for, which stay blank under every policy."""
        step, count = self.step, run.matrix.count(space)
        lost: Array | None = None
        if rows is not None:
            lost = np.ones(count, dtype=bool)
            lost[rows] = False
        blocks = []
        for plan, array in zip(outputs, arrays, strict=True):
            values, odd, reason = as_scores(plan, array, run, step.model), None, ""
            if step.calibrations:
                values, odd, reason = await self._calibrate(plan, values, run.deadline)
            if rows is not None:
                values = scattered(values, rows, count)
                odd = None if odd is None else scattered(odd, rows, count)
            if odd is not None:
                run.mark(step, odd, reason, space)
            values, bad = judge_numbers(
                values, step.nan_policy, step.nan_default, run=run, step=step, space=space
            )
            values = _typed(values, run.plan.blocks[plan.block].dtype)
            invalid = lost
            if lost is not None and step.on_error == "default":
                values[lost] = default_scores(plan, step.nan_default)
                invalid = blank
            if odd is not None or bad is not None:
                invalid = merged([invalid, odd, bad], count)
            blocks.append((plan.block, values, invalid))
        for block, values, invalid in blocks:
            run.matrix.put(block, values, invalid=invalid)

    def fill_defaults(self, run: Run) -> None:
        self._stand_in(run, self._skipped(run))

    def leave_blank(self, run: Run) -> None:
        space: Space = "slate" if self.step.slate else "target"
        self._stand_in(run, np.ones(run.matrix.count(space), dtype=bool))

    def _skipped(self, run: Run) -> Array | None:
        """Rows this step was never to score, because they lack an input."""
        return blank_rows(self.step.reads, run.matrix)

    def _stand_in(self, run: Run, blank: Array | None) -> None:
        for output in self.step.arms[0].outputs:
            row = default_scores(output, self.step.nan_default)
            run.matrix.put(output.block, row, invalid=blank)


async def call(
    arm: Arm, tensors: Sequence[Array], rows: int, deadline: Deadline, record: StepRecord | None
) -> list[Array]:
    """Run one batch and check that there is an answer for every row."""
    if not arm.takes_rows:
        tensors = [
            _shaped(each, plan) for each, plan in zip(tensors, arm.plan.tensors, strict=True)
        ]
    outputs = await timed(arm.model.run(tensors, deadline=deadline), record)
    if len(outputs) != len(arm.plan.outputs):
        raise ModelFailed(
            arm.plan.endpoint.model,
            f"it gave {len(outputs)} output(s) where {len(arm.plan.outputs)} were asked for",
        )
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
        if piece.is_plain or values.dtype == tensor.dtype:
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
    """A model output as the block its score columns lie in. Where that has no NaN, floats stay
    floats until they have been calibrated and judged."""
    dtype = run.plan.blocks[plan.block].dtype
    values = output if output.ndim == 2 else output.reshape(len(output), -1)
    if values.shape[1] != plan.width:
        raise ModelFailed(
            model,
            f"output {plan.tensor!r} has {values.shape[1]} value(s) per row, not {plan.width}",
        )
    assert dtype is not None
    return _typed(values, dtype) if dtype.is_float else values


def _typed(values: Array, dtype: DType | None) -> Array:
    if dtype is None or values.dtype == dtype.numpy:
        return values
    return cast(values, dtype_of(values), dtype.vector)


def scattered(values: Array, rows: Array, count: int) -> Array:
    """Rows of a part put back at their places; the others hold zeros and are marked blank."""
    whole = np.zeros((count, *values.shape[1:]), dtype=values.dtype)
    whole[rows] = values
    return whole


def default_scores(output: OutputPlan, value: float) -> Array:
    """One row of an output's block, holding the step's default."""
    dtype = output.columns[0].dtype
    assert dtype is not None
    if dtype.is_text:
        return np.full((1, output.width), str(value), dtype=object)
    return cast(np.full((1, output.width), value, dtype=np.float64), FP64.vector, dtype.vector)
