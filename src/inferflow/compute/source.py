"""From what people write to an `Expression`.

A bare text is infix if it follows the infix grammar, and postfix otherwise. A mapping says it
outright: `{infix: …}`, `{postfix: …}`, or `{expression: …}` for the same rule as a bare text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from inferflow.compute.expression import Expression, Kind, expression_from
from inferflow.compute.infix import NotInfix, parse_infix
from inferflow.compute.postfix import parse_postfix
from inferflow.compute.program import Program
from inferflow.errors import ExpressionInvalid

_PARSERS = {"infix": parse_infix, "postfix": parse_postfix}
_INFIX_PUNCTUATION = re.compile(r"[+*/^<>=!&|(),`]")


def compile_expression(source: str | Mapping[str, str]) -> Expression:
    """Parse and check an expression. Raises ExpressionInvalid with the place and the fix."""
    kind, text = _kind_and_text(source)
    if kind is not None:
        return expression_from(_PARSERS[kind](text), source=text, kind=kind)
    try:
        return expression_from(parse_infix(text), source=text, kind="infix")
    except NotInfix as not_infix:
        try:
            return expression_from(_evident_postfix(text), source=text, kind="postfix")
        except ExpressionInvalid as not_postfix:
            raise ExpressionInvalid(
                f"neither infix nor postfix. As infix: {not_infix}. As postfix: {not_postfix}",
                position=not_infix.position,
            ) from not_infix


def _kind_and_text(source: object) -> tuple[Kind | None, str]:
    """The kind is None when the text itself decides."""
    kind: Kind | None = None
    text = source
    if isinstance(source, Mapping):
        if len(source) != 1 or next(iter(source)) not in ("infix", "postfix", "expression"):
            keys = ", ".join(map(repr, source)) or "nothing"
            raise ExpressionInvalid(f"needs one of infix, postfix or expression, found {keys}")
        ((key, text),) = source.items()
        kind = None if key == "expression" else key
    if not isinstance(text, str):
        raise ExpressionInvalid(f"an expression is text, not {text!r}", hint="put it in quotes")
    return kind, text


def _evident_postfix(text: str) -> Program:
    """Postfix by elimination. Infix text with a typing error, such as `log(a`, would otherwise
    pass as a column of that name."""
    program = parse_postfix(text)
    for name in program.variables:
        found = _INFIX_PUNCTUATION.search(name)
        if found:
            raise ExpressionInvalid(
                f"{name!r} would be a column with {found.group()!r} in its name",
                hint="if it is, write {postfix: …}",
            )
    return program
