"""Reads infix text: `0.7 * score + 0.3 * log(`user:profile:age`)`.

A Pratt parser: each operator has a binding power, and an operand is parsed as far as operators
bind more tightly than the one on its left. Nothing is built in between; instructions go to the
`ProgramBuilder` in the order they will be evaluated.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from typing import NamedTuple

from inferflow.compute.functions import FUNCTIONS
from inferflow.compute.program import (
    MAX_DEPTH,
    Program,
    ProgramBuilder,
    check_length,
    stopped_at,
)
from inferflow.errors import ExpressionInvalid

COMPARISONS = frozenset({">", "<", ">=", "<=", "==", "!="})
BINDING: dict[str, int] = {
    "|": 1,
    "&": 2,
    **dict.fromkeys(COMPARISONS, 3),
    "+": 4,
    "-": 4,
    "*": 5,
    "/": 5,
    "^": 7,
}
PREFIX = 6
"""Minus and `!` in front of an operand: tighter than `*`, looser than `^`."""

_TOKEN = re.compile(
    r"""(?P<blank>\s+)
      | (?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
      | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<quoted>`[^`]+`)
      | (?P<symbol>>=|<=|==|!=|[-+*/^><&|!(),])""",
    re.VERBOSE,
)
_HINTS = {
    "=": "equality is ==",
    ":": "a full column name goes in backquotes",
    "`": "a backquoted name needs a closing backquote",
    "%": "there is no remainder operator",
    "&": "and is a single &",
    "|": "or is a single |",
    "*": "power is ^",
    ".": "a full column name goes in backquotes",
}


class NotInfix(ExpressionInvalid):
    """The text does not follow the grammar (as opposed to: it does, but names an unknown
    function), so it may still be postfix."""


class Token(NamedTuple):
    kind: str
    text: str
    position: int


def parse_infix(text: str) -> Program:
    check_length(text)
    return _Parser(text).parse()


def _tokens(text: str) -> Iterator[Token]:
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            character = text[position]
            what = f"unexpected {character!r}"
            raise stopped_at(position, what, _HINTS.get(character, ""), error=NotInfix)
        if match.lastgroup != "blank":
            yield Token(str(match.lastgroup), match.group(), position)
        position = match.end()
    yield Token("end", "", position)


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._next = next(self._tokens)
        self._builder = ProgramBuilder()

    def parse(self) -> Program:
        self._expression(0, depth=1)
        if self._next.kind != "end":
            raise self._unexpected()
        return self._builder.finish()

    def _expression(self, loosest: int, depth: int) -> None:
        """Parse an operand and every operator after it that binds at least as `loosest`."""
        if depth > MAX_DEPTH:
            raise stopped_at(self._next.position, f"nested more than {MAX_DEPTH} levels deep")
        self._operand(depth)
        while self._next.kind == "symbol":
            symbol = self._next.text
            power = BINDING.get(symbol, -1)
            if power < loosest:
                return
            position = self._advance().position
            self._expression(power if symbol == "^" else power + 1, depth + 1)
            self._builder.operator(symbol, position)
            if symbol in COMPARISONS and self._next.text in COMPARISONS:
                raise self._unexpected("join comparisons with &: a < b & b < c")

    def _operand(self, depth: int) -> None:
        token = self._advance()
        if token.kind == "number":
            self._builder.number(float(token.text), token.position)
        elif token.kind == "quoted":
            self._builder.variable(token.text[1:-1], token.position)
        elif token.kind == "name" and self._next.text == "(":
            self._call(token, depth)
        elif token.kind == "name":
            self._builder.variable(token.text, token.position)
        elif token.text == "(":
            self._expression(0, depth + 1)
            self._close(token)
        elif token.text == "-":
            self._expression(PREFIX, depth + 1)
            self._builder.negate(token.position)
        elif token.text == "!":
            self._expression(PREFIX, depth + 1)
            self._builder.operator("!", token.position)
        else:
            self._next = token
            raise self._unexpected(_HINTS.get(token.text, ""))

    def _call(self, name: Token, depth: int) -> None:
        function = FUNCTIONS.get(name.text)
        if function is None:
            known = [f.name for f in FUNCTIONS.values() if f.is_callable]
            nearest = difflib.get_close_matches(name.text, known, n=1)
            hint = f"did you mean {nearest[0]}?" if nearest else ""
            raise stopped_at(name.position, f"there is no function {name.text}", hint)
        opening = self._advance()
        arguments = 0
        if self._next.text != ")":
            self._expression(0, depth + 1)
            arguments = 1
            while self._next.text == ",":
                self._advance()
                self._expression(0, depth + 1)
                arguments += 1
        self._close(opening)
        self._builder.call(function, arguments, name.position)

    def _close(self, opening: Token) -> None:
        if self._next.text != ")":
            raise self._unexpected(f"the ( at character {opening.position + 1} is still open")
        self._advance()

    def _advance(self) -> Token:
        token = self._next
        if token.kind != "end":
            self._next = next(self._tokens)
        return token

    def _unexpected(self, hint: str = "") -> ExpressionInvalid:
        shown = repr(self._next.text) if self._next.text else "end"
        return stopped_at(self._next.position, f"unexpected {shown}", hint, error=NotInfix)
