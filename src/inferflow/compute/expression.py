"""A compiled expression: frozen, shared by every request, evaluated over whole columns."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextvars import Context
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from inferflow.compute.columns import as_group, as_numbers
from inferflow.compute.machine import (
    Frame,
    Operand,
    Stack,
    Step,
    push_constant,
    push_group,
    push_number,
)
from inferflow.compute.marks import Array, Marks, failure, reason
from inferflow.compute.program import Call, Constant, Instruction, Load, Program
from inferflow.dtypes import FP32, FP64, DType
from inferflow.errors import ComputeFailed, InvalidInput

Kind = Literal["infix", "postfix"]

_QUIET = Context()
_QUIET.run(np.seterr, all="ignore")
"""Where numpy does not warn. A copy of it costs a fraction of `np.errstate`, which is made anew
each time; an expression asks nothing else of its context."""


@dataclass(slots=True)
class Evaluation:
    """One value per row, and which rows have none."""

    values: Array
    """In the precision asked for; NaN in the rows that are marked."""
    invalid: Array | None = None
    """Mask of the rows the expression has no answer for; None when there are none."""
    reason: str = ""
    """Why, for the marked rows: `division by zero`."""


@dataclass(frozen=True, slots=True)
class Expression:
    """What an expression reads, and the steps that answer it."""

    source: str
    kind: Kind
    variables: tuple[str, ...]
    """Columns it reads, in first-use order."""
    numeric_variables: tuple[str, ...]
    """Those that must be numbers; the others may be text or vectors."""
    cross_row: bool
    """True when a row's answer depends on other rows."""
    digest: str
    """Equal for expressions that mean the same instructions, in any spelling and process."""
    _listing: str = field(repr=False)
    _numeric: tuple[bool, ...] = field(repr=False)
    _grouping: tuple[int, ...] = field(repr=False)
    _steps: Mapping[DType, tuple[Step, ...]] = field(repr=False, compare=False)

    def postfix(self) -> str:
        """The compiled form as one line. It is postfix text again as long as nothing beyond
        the original's operators is used."""
        return self._listing

    def evaluate(
        self,
        columns: Sequence[Array],
        rows: int,
        *,
        precision: DType = FP32,
        strict: bool = False,
    ) -> Evaluation:
        """Answer for all rows at once.

        Columns come in the order of `variables`, each with `rows` values or one for all rows.
        Every operator computes in `precision`, FP32 or FP64. A row without an answer is marked;
        with `strict` the first one fails the evaluation instead. Raises ComputeFailed also when
        a column does not fit. The columns are left as they are and never returned.
        """
        steps = self._steps.get(precision)
        if steps is None:
            raise InvalidInput(f"expressions are evaluated in FP32 or FP64, not in {precision}")
        dtype = precision.numpy
        values, marks = _QUIET.copy().run(self._result, steps, columns, rows, dtype, strict)
        if values.shape != (rows,):
            values = np.full(rows, values, dtype)
        elif len(steps) == 1:
            values = values.copy()
        if marks is None:
            return Evaluation(values)
        return _marked(values, marks, rows, strict)

    def _result(
        self,
        steps: Sequence[Step],
        columns: Sequence[Array],
        rows: int,
        dtype: np.dtype[Any],
        strict: bool,
    ) -> Operand:
        frame = Frame(rows, dtype, strict, self._operands(columns, rows, dtype), columns)
        stack: Stack = []
        for step in steps:
            step(stack, frame)
        return stack[0]

    def _operands(self, columns: Sequence[Array], rows: int, dtype: np.dtype[Any]) -> list[Operand]:
        if len(columns) != len(self.variables):
            wanted = f"{len(self.variables)} columns ({', '.join(self.variables)})"
            raise ComputeFailed(f"the expression reads {wanted}, but {len(columns)} were given")
        for i in self._grouping:
            as_group(self.variables[i], columns[i], rows)
        return [
            (as_numbers(name, column, rows, dtype) if is_number else column, None)
            for name, column, is_number in zip(self.variables, columns, self._numeric, strict=True)
        ]


def _marked(values: Array, marks: Marks, rows: int, strict: bool) -> Evaluation:
    if strict:
        raise failure(marks, rows)
    invalid = np.broadcast_to(marks != 0, (rows,)).copy()
    values[invalid] = np.nan
    return Evaluation(values, invalid, reason(marks))


def expression_from(program: Program, *, source: str, kind: Kind) -> Expression:
    """Turn a checked program into steps for both precisions."""
    loads = [i for i in program.instructions if isinstance(i, Load)]
    numbers = {load.column for load in loads if not load.as_group}
    groups = {load.column for load in loads if load.as_group}
    listing = str(program)
    return Expression(
        source=source,
        kind=kind,
        variables=program.variables,
        numeric_variables=tuple(program.variables[i] for i in sorted(numbers)),
        cross_row=any(isinstance(i, Call) and i.function.cross_row for i in program.instructions),
        digest=hashlib.sha256(listing.encode()).hexdigest(),
        _listing=listing,
        _numeric=tuple(i in numbers for i in range(len(program.variables))),
        _grouping=tuple(sorted(groups)),
        _steps={
            precision: tuple(_step(i, precision.numpy) for i in program.instructions)
            for precision in (FP32, FP64)
        },
    )


def _step(instruction: Instruction, dtype: np.dtype[Any]) -> Step:
    if isinstance(instruction, Load):
        push = push_group if instruction.as_group else push_number
        return push(instruction.column)
    if isinstance(instruction, Constant):
        with np.errstate(over="ignore"):  # a number too large for the precision is infinite in it
            return push_constant(np.array(instruction.value, dtype))
    return instruction.function.step
