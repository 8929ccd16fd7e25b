"""The internal form both spellings are compiled to: a checked, flat list of instructions.

`ProgramBuilder` follows the height of the stack while instructions arrive in evaluation order,
so arity, unknown operands and limits are settled here once for infix and postfix alike.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np

from inferflow.compute.functions import FUNCTIONS, Function
from inferflow.compute.params import Setting
from inferflow.errors import ExpressionInvalid

MAX_LENGTH = 10_000
"""Characters of an expression."""
MAX_NODES = 1_000
"""Numbers, columns, operators and calls of an expression."""
MAX_DEPTH = 100
"""Levels of nesting, and values that wait on the stack at once."""

NUMBER_IN_POSTFIX = re.compile(r"-?[0-9]+(\.[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Constant:
    value: float

    def __str__(self) -> str:
        return str(np.format_float_positional(self.value, trim="-"))


@dataclass(frozen=True, slots=True)
class Load:
    name: str
    column: int
    """Place among the expression's variables."""
    as_group: bool = False
    """Taken as it comes (text, ids, vectors) instead of as a number."""

    def __str__(self) -> str:
        reads_otherwise = (
            self.name in FUNCTIONS
            or NUMBER_IN_POSTFIX.fullmatch(self.name)
            or self.name.startswith("`")
            or self.name != "".join(self.name.split())
        )
        return f"`{self.name}`" if reads_otherwise else self.name


@dataclass(frozen=True, slots=True)
class Call:
    function: Function

    def __str__(self) -> str:
        return self.function.name


Instruction = Constant | Load | Call


@dataclass(frozen=True, slots=True)
class Program:
    instructions: tuple[Instruction, ...]
    variables: tuple[str, ...]
    """In first-use order."""

    def __str__(self) -> str:
        return " ".join(map(str, self.instructions))


def stopped_at(
    position: int, what: str, hint: str = "", *, error: type[ExpressionInvalid] = ExpressionInvalid
) -> ExpressionInvalid:
    """The error for a fault at a place in the text; people count characters from 1."""
    return error(f"character {position + 1}: {what}", position=position, hint=hint)


def check_length(text: str) -> None:
    if not text.strip():
        raise ExpressionInvalid("the expression is empty", position=0)
    if len(text) > MAX_LENGTH:
        what = f"the expression has {len(text)} characters; the limit is {MAX_LENGTH}"
        raise ExpressionInvalid(what, position=MAX_LENGTH)


class ProgramBuilder:
    """Takes operands and calls in evaluation order; positions are for error messages."""

    def __init__(self) -> None:
        self._instructions: list[Instruction] = []
        self._waiting: list[int] = []
        """For each value on the stack, the instruction that puts it there."""
        self._columns: dict[str, int] = {}

    def number(self, value: float, position: int) -> None:
        if not math.isfinite(value):
            raise stopped_at(position, "this number is too large")
        self._emit(Constant(value), 0, position)

    def variable(self, name: str, position: int) -> None:
        self._emit(Load(name, self._columns.setdefault(name, len(self._columns))), 0, position)

    def negate(self, position: int) -> None:
        """Minus in front of an operand: part of a number, else a product with -1."""
        last = self._instructions[self._waiting[-1]]
        if isinstance(last, Constant):
            self._instructions[self._waiting[-1]] = Constant(-last.value)
        else:
            self.number(-1.0, position)
            self.operator("*", position)

    def operator(self, name: str, position: int) -> None:
        """Apply a function to as many waiting values as it has parameters."""
        function = FUNCTIONS[name]
        wants, has = len(function.params), len(self._waiting)
        if has < wants:
            raise stopped_at(position, f"{name!r} needs {wants} value(s) before it, found {has}")
        self._check_operands(function, position)
        self._emit(Call(function), wants, position)

    def call(self, function: Function, arguments: int, position: int) -> None:
        """Apply a function as it is called in infix, where arguments may be left out."""
        fewest, most = function.arity
        if arguments < fewest or (most is not None and arguments > most):
            wanted = (
                f"{fewest}" if most == fewest else f"{fewest} or {'more' if most is None else most}"
            )
            what = f"{function.name} takes {wanted} argument(s), not {arguments}"
            raise stopped_at(position, what, hint=f"it is {function.signature}")
        if function.of_one:
            for _ in range(arguments - 1):
                self.operator(function.name, position)
            if arguments == 1:
                self.operator(function.of_one, position)
            return
        for param in function.params[arguments:]:
            if isinstance(param, Setting) and param.default is not None:
                self.number(param.default, position)
        self.operator(function.name, position)

    def finish(self) -> Program:
        if len(self._waiting) != 1:
            what = f"{len(self._waiting)} values are left at the end; there must be one"
            raise ExpressionInvalid(what, position=0)
        return Program(tuple(self._instructions), tuple(self._columns))

    def _check_operands(self, function: Function, position: int) -> None:
        places = self._waiting[len(self._waiting) - len(function.params) :]
        for param, place in zip(function.params, places, strict=True):
            operand = self._instructions[place]
            if param.is_group and isinstance(operand, Load):
                self._instructions[place] = Load(operand.name, operand.column, as_group=True)
            elif isinstance(param, Setting) and isinstance(operand, Constant):
                problem = param.problem(operand.value)
                if problem:
                    raise stopped_at(position, f"{function.name}: {problem}")

    def _emit(self, instruction: Instruction, takes: int, position: int) -> None:
        del self._waiting[len(self._waiting) - takes :]
        self._waiting.append(len(self._instructions))
        self._instructions.append(instruction)
        if len(self._instructions) > MAX_NODES:
            raise stopped_at(position, f"more than {MAX_NODES} numbers, columns and operations")
        if len(self._waiting) > MAX_DEPTH:
            raise stopped_at(position, f"more than {MAX_DEPTH} values wait to be used")
