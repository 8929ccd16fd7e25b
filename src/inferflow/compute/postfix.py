"""Reads postfix text: `a b +`.

The original's language, exactly: tokens between blanks, case-sensitive; a token is a binary
operator, else a unary one, else a number written `-?digits[.digits]`, else a column.
"""

from __future__ import annotations

import difflib
import re

from inferflow.compute.functions import FUNCTIONS
from inferflow.compute.program import (
    NUMBER_IN_POSTFIX,
    Program,
    ProgramBuilder,
    check_length,
    stopped_at,
)
from inferflow.errors import ExpressionInvalid

OPERATORS = {name: len(f.params) for name, f in FUNCTIONS.items() if f.in_postfix}
"""Token → operands it takes: 14 binary, 7 unary."""

_LIKE_A_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def parse_postfix(text: str) -> Program:
    check_length(text)
    builder = ProgramBuilder()
    names: list[str] = []
    for match in re.finditer(r"\S+", text):
        token, position = match.group(), match.start()
        if token in OPERATORS:
            builder.operator(token, position)
        elif NUMBER_IN_POSTFIX.fullmatch(token):
            builder.number(float(token), position)
        elif _LIKE_A_NUMBER.fullmatch(token):
            hint = "numbers in postfix are digits, or digits.digits, with - in front if below 0"
            raise stopped_at(position, f"unknown token {token!r}", hint)
        else:
            builder.variable(token, position)
            names.append(token)
    try:
        return builder.finish()
    except ExpressionInvalid as left_over:
        raise ExpressionInvalid(
            left_over.what, position=left_over.position, hint=_misspelt(names)
        ) from None


def _misspelt(names: list[str]) -> str:
    """A column that nearly is an operator explains why too many values are left."""
    for name in names:
        if name in FUNCTIONS:
            return f"{name} is not an operator of postfix; write the expression in infix to use it"
        nearest = difflib.get_close_matches(name, OPERATORS, n=1, cutoff=0.8)
        if nearest:
            return f"{name} is no operator and was read as a column; did you mean {nearest[0]}?"
    return ""
