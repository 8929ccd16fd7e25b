"""Reading columns the way a step declares them, and checking what it wrote."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inferflow.dtypes import DType, dtype_of
from inferflow.dtypes.casting import cast
from inferflow.engine.matrix import Array, Matrix, merged
from inferflow.engine.run import Run
from inferflow.errors import CastFailed, ComputeFailed
from inferflow.plan.plan import Column, Space, Step
from inferflow.plan.schema import NanPolicy


def through(values: Array, via: DType | None, name: str) -> Array:
    """Values after the type their reader declares; unchanged when it declares none.

    Values are one or two dimensional; elements convert one by one.
    """
    if via is None:
        return values
    own = dtype_of(values)
    try:
        return cast(values, own, via.vector if values.ndim == 2 else via)
    except CastFailed as failed:
        raise ComputeFailed(f"column {name!r}: {failed}") from failed


def blank_rows(columns: Sequence[Column], matrix: Matrix) -> Array | None:
    """Rows on which some input has no value; None when all have."""
    return (
        None
        if not matrix.has_blanks
        else merged([matrix.blank(column) for column in columns], matrix.rows)
    )


def judge_numbers(
    values: Array, policy: NanPolicy, default: float, *, run: Run, step: Step, space: Space
) -> tuple[Array, Array | None]:
    """Apply a step's policy to values that are not finite. Returns values and blank rows."""
    if values.dtype.kind not in "fV":  # float8 has a kind of its own
        return values, None
    finite = np.isfinite(values)
    if b"\0" not in finite.tobytes():  # `all`, in a fraction of the time for the usual few rows
        return values, None
    odd = ~finite
    run.nans[step.name] = run.nans.get(step.name, 0) + int(odd.sum())
    record = run.record(step)
    if record is not None:
        record.nans += int(odd.sum())
    if policy == "pass":
        return values, None
    if policy == "default":
        return np.where(odd, values.dtype.type(default), values), None
    rows: Array = np.any(odd, axis=1)
    run.mark(step, rows, "the score is not a finite number", space)
    return values, rows
