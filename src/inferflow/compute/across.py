"""Functions in which a row's answer depends on the other rows.

`AcrossRows` hands its kernel only the rows that take part: neither marked nor NaN. So kernels
see at least one row and, but for `percentile_rank`, no NaN. A kernel answers with one value
per row it was given, or with one value for all rows.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np

from inferflow.compute.machine import Frame, Kernel, Operand, Stack
from inferflow.compute.marks import Array, Marks, Why, failure, join, mark
from inferflow.compute.params import Setting


class NaNRows(enum.Enum):
    """What becomes of rows whose first operand is NaN."""

    LEFT_OUT = enum.auto()
    """They take no part and get the blank value."""
    MARKED = enum.auto()
    """They take no part and are marked: the function has no answer for them."""
    COUNTED = enum.auto()
    """They take part like any other row."""


@dataclass(frozen=True, slots=True)
class AcrossRows:
    """One step: gathers the rows that take part, calls the kernel, spreads its answer."""

    kernel: Kernel
    settings: tuple[Setting, ...] = ()
    columns: int = 1
    nan_rows: NaNRows = NaNRows.LEFT_OUT
    blank: float = float("nan")
    """For rows that take no part, and for all rows when none does."""

    def __call__(self, stack: Stack, frame: Frame) -> None:
        first_setting = len(stack) - len(self.settings)
        first_column = first_setting - self.columns
        settings = stack[first_setting:]
        columns = stack[first_column:first_setting]
        del stack[first_column:]
        stack.append(self._answer(columns, settings, frame))

    def _answer(self, columns: list[Operand], settings: list[Operand], frame: Frame) -> Operand:
        marks: Marks | None = None
        for _, more in columns:
            marks = join(marks, more)
        for _, more in settings:
            if more is not None:  # a setting belongs to the whole call, and so do its marks
                marks = join(marks, np.bitwise_or.reduce(more, axis=None))
        values = [_every_row(value, frame.rows) for value, _ in columns]
        nan = None
        if self.nan_rows is not NaNRows.COUNTED:
            nan = np.isnan(values[0])
            if not np.count_nonzero(nan):
                nan = None
        if nan is not None and self.nan_rows is NaNRows.MARKED:
            marks = join(marks, mark(nan, Why.PERCENTILE))
        if marks is not None and frame.strict:
            raise failure(marks, frame.rows)

        if marks is None and nan is None and frame.rows:
            return self._call(values, settings), None
        blank = np.full(frame.rows, self.blank, frame.dtype)
        taking_part = np.ones(frame.rows, np.bool_)
        if nan is not None:
            taking_part &= ~nan
        if marks is not None:
            taking_part &= marks == 0
        if not np.count_nonzero(taking_part):
            return blank, marks
        part = self._call([value[taking_part] for value in values], settings)
        if part.ndim == 0:
            return part, marks
        blank[taking_part] = part
        return blank, marks

    def _call(self, values: list[Array], settings: list[Operand]) -> Array:
        chosen = (
            setting.read(value) for setting, (value, _) in zip(self.settings, settings, strict=True)
        )
        return self.kernel(*values, *chosen)


def _every_row(value: Array, rows: int) -> Array:
    if value.ndim and len(value) == rows:
        return value
    return np.broadcast_to(value, (rows, *value.shape[1:]))


def mean(values: Array) -> Array:
    average: Array = np.add.reduce(values) / values.dtype.type(values.size)
    return average


def std(values: Array) -> Array:
    away = values - mean(values)
    return np.sqrt(mean(np.square(away)))


def count(values: Array) -> Array:
    return np.array(values.size, values.dtype)


def zscore(values: Array) -> Array:
    away = values - mean(values)
    spread = np.sqrt(mean(np.square(away)))
    return away / spread if spread != 0 else np.zeros_like(values)


def softmax(values: Array, temperature: float) -> Array:
    # Taking the largest away first keeps exp from overflowing.
    powers = np.exp((values - np.maximum.reduce(values)) / values.dtype.type(temperature))
    shares: Array = powers / np.add.reduce(powers)
    return shares


def rank(values: Array) -> Array:
    not_higher = np.searchsorted(np.sort(values), values, side="right")
    return (values.size - not_higher + 1).astype(values.dtype)


def percent_rank(values: Array) -> Array:
    if values.size == 1:
        return np.ones_like(values)
    shares: Array = (values.size - rank(values)) / values.dtype.type(values.size - 1)
    return shares


def topk(values: Array, k: float) -> Array:
    flags = np.zeros_like(values)
    flags[np.argsort(-values, kind="stable")[: int(k)]] = 1
    return flags


def norm_min_max(values: Array) -> Array:
    low, high = np.minimum.reduce(values), np.maximum.reduce(values)
    return np.ones_like(values) if low == high else (values - low) / (high - low)


def percentile_rank(values: Array) -> Array:
    if values.size == 1 or np.count_nonzero(values == values[0]) == values.size:
        return np.ones_like(values)
    positions = np.arange(values.size, dtype=values.dtype)
    shares: Array = positions / values.dtype.type(values.size - 1)
    return shares


def percentile(values: Array, percent: float) -> Array:
    return _percentile(np.sort(values), percent)


def norm_percentile(low_percent: float, high_percent: float) -> Kernel:
    def kernel(values: Array) -> Array:
        if values.size == 1:
            return np.ones_like(values)
        ordered = np.sort(values)
        low, high = _percentile(ordered, low_percent), _percentile(ordered, high_percent)
        # A column without spread is read against the bounds 1 and 2, as the original does.
        return values - 1 if low == high else (values - low) / (high - low)

    return kernel


def _percentile(ordered: Array, percent: float) -> Array:
    """Linear interpolation at percent/100 of the way from the first to the last."""
    spot = percent / 100 * (ordered.size - 1)
    below = int(spot)
    share = spot - below
    low: Array = ordered[below]
    # No share, no neighbour: past the end there is none, and 0 times infinity is not 0.
    if not share:
        return low
    between: Array = low + (ordered[below + 1] - low) * ordered.dtype.type(share)
    return between
