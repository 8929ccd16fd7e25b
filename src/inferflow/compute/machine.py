"""The stack machine expressions run on.

A compiled expression is a flat list of steps. Each step takes its operands off the stack and
puts one back: a value for every row (or one that stands for all of them) and its marks.
A marked row stays marked through every step; only a branch that `if` or `default` does not
take is forgotten. Steps are built once, when an expression is compiled, and share nothing
with the evaluation they run in but the frame.

Whoever runs steps silences numpy's floating-point warnings around all of them at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from inferflow.compute.marks import Array, Marks, join

Operand = tuple[Array, Marks | None]
Stack = list[Operand]


@dataclass(slots=True)
class Frame:
    """What one evaluation brings to the steps."""

    rows: int
    dtype: np.dtype[Any]
    strict: bool
    numbers: Sequence[Operand]
    """Columns in the evaluation's precision."""
    groups: Sequence[Array]
    """Columns as they came: text, ids, vectors."""


Step = Callable[[Stack, Frame], None]
Kernel = Callable[..., Array]
Check = Callable[..., Marks | None]


def push_constant(value: Array) -> Step:
    operand = (value, None)

    def step(stack: Stack, _frame: Frame) -> None:
        stack.append(operand)

    return step


def push_number(column: int) -> Step:
    def step(stack: Stack, frame: Frame) -> None:
        stack.append(frame.numbers[column])

    return step


def push_group(column: int) -> Step:
    def step(stack: Stack, frame: Frame) -> None:
        stack.append((frame.groups[column], None))

    return step


def unary(kernel: Kernel, check: Check | None = None) -> Step:
    """`check` returns the marks the kernel itself adds."""

    def step(stack: Stack, _frame: Frame) -> None:
        value, marks = stack[-1]
        if check is not None:
            marks = join(marks, check(value))
        stack[-1] = kernel(value), marks

    return step


def binary(kernel: Kernel, check: Check | None = None) -> Step:
    def step(stack: Stack, _frame: Frame) -> None:
        right, marks = stack.pop()
        left, left_marks = stack[-1]
        if left_marks is not None:
            marks = join(left_marks, marks)
        if check is not None:
            marks = join(marks, check(left, right))
        stack[-1] = kernel(left, right), marks

    return step


def ternary(kernel: Kernel) -> Step:
    def step(stack: Stack, _frame: Frame) -> None:
        third, marks = stack.pop()
        second, second_marks = stack.pop()
        first, first_marks = stack[-1]
        stack[-1] = kernel(first, second, third), join(join(first_marks, second_marks), marks)

    return step
