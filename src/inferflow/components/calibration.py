"""Calibration applied to a score: Platt scaling, isotonic steps, or a named expression."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inferflow.dtypes import FP64, dtype_of
from inferflow.dtypes.casting import cast
from inferflow.engine.deadline import Deadline
from inferflow.engine.matrix import Array, merged
from inferflow.engine.ports import ComputeRunner, PreparedCompute
from inferflow.plan.plan import Calibration, OutputPlan


class Calibrator:
    """Calibrates the columns of a model's outputs; does nothing when there is nothing to do."""

    def __init__(self, calibrations: Sequence[Calibration], compute: ComputeRunner) -> None:
        self._by_block: dict[int, list[Calibration]] = {}
        self._expressions: dict[str, PreparedCompute] = {}
        for calibration in calibrations:
            self._by_block.setdefault(calibration.column.block, []).append(calibration)
            if calibration.kind == "expression":
                self._expressions[calibration.compute_id] = compute.prepare(
                    calibration.compute_id, (calibration.variable,), precision=FP64, strict=False
                )

    async def __call__(
        self, output: OutputPlan, values: Array, deadline: Deadline
    ) -> tuple[Array, Array | None, str]:
        """Calibrated values, which rows have none, and why."""
        chosen = self._by_block.get(output.block)
        if chosen is None:
            return values, None, ""
        values = values.copy()
        odd: Array | None = None
        reason = ""
        for calibration in chosen:
            start = calibration.column.offset
            stop = start + (calibration.column.width or 1)
            scores = values[:, start:stop].astype(np.float64)
            if calibration.kind == "platt":
                scores = platt(scores, calibration.a, calibration.b)
            elif calibration.kind == "isotonic":
                scores = np.interp(scores, calibration.x, calibration.y)
            else:
                prepared = self._expressions[calibration.compute_id]
                flat = scores.reshape(-1)
                computed = await prepared.run([flat], len(flat), deadline=deadline)
                scores = computed.values.reshape(scores.shape)
                if computed.invalid is not None:
                    without = computed.invalid.reshape(scores.shape)
                    scores = np.where(without, 0.0, scores)
                    odd = merged([odd, np.any(without, axis=1)], len(values))
                    reason = computed.reason
            values[:, start:stop] = cast(scores, FP64.vector, dtype_of(values))
        return values, odd, reason


def platt(scores: Array, a: float, b: float) -> Array:
    """1 / (1 + exp(a·s + b)), written so that no exponent overflows."""
    with np.errstate(all="ignore"):
        z = a * scores + b
        small = np.exp(-np.abs(z))
        return np.where(z >= 0, small / (1 + small), 1 / (1 + small))
