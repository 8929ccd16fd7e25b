"""Functions in which a row's answer depends on that row alone.

Kernels compute in the type of their operands. Checks say for which rows there is no answer;
they are only paid for by the functions that can fail.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from inferflow.compute.machine import Check, Frame, Kernel, Stack
from inferflow.compute.marks import Array, Marks, Why, join, mark, where_taken


def truth(predicate: Callable[..., Array]) -> Kernel:
    """A predicate that answers 1 or 0 in the type of its first operand."""

    def kernel(first: Array, *others: Array) -> Array:
        return predicate(first, *others).astype(first.dtype)

    return kernel


def divisor_is_zero(_left: Array, right: Array) -> Marks | None:
    if np.count_nonzero(right) == right.size:  # NaN counts as non-zero, -0.0 as zero
        return None
    return mark(right == 0, Why.DIVISION)


def at_most(bound: float, why: Why) -> Check:
    def check(value: Array) -> Marks | None:
        return mark(value <= bound, why)

    return check


def below_zero(value: Array) -> Marks | None:
    return mark(value < 0, Why.SQRT)


def _not_boolean(value: Array) -> Array:
    neither: Array = (value != 0) & (value != 1)
    return neither


def either_not_boolean(why: Why) -> Check:
    def check(left: Array, right: Array) -> Marks | None:
        return join(mark(_not_boolean(left), why), mark(_not_boolean(right), why))

    return check


def operand_not_boolean(value: Array) -> Marks | None:
    return mark(_not_boolean(value), Why.NOT)


def sigmoid(value: Array) -> Array:
    return 1 / (1 + np.exp(-value))


def clip(value: Array, low: Array, high: Array) -> Array:
    return np.minimum(np.maximum(value, low), high)


def choose(stack: Stack, _frame: Frame) -> None:
    """`if`: marks of the branch that is not taken do not count, so `if` can guard a division."""
    otherwise, otherwise_marks = stack.pop()
    then, then_marks = stack.pop()
    condition, marks = stack[-1]
    taken = condition != 0
    marks = join(marks, mark(_not_boolean(condition), Why.IF))
    marks = join(marks, where_taken(taken, then_marks, otherwise_marks))
    stack[-1] = np.where(taken, then, otherwise), marks


def default(stack: Stack, _frame: Frame) -> None:
    """`default`: the fallback counts only where it is used; a marked row stays marked."""
    fallback, fallback_marks = stack.pop()
    value, marks = stack[-1]
    absent = np.isnan(value)
    marks = join(marks, where_taken(absent, fallback_marks, None))
    stack[-1] = np.where(absent, fallback, value), marks
