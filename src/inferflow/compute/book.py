"""All expressions of a project, by compute id: the content of `expressions.yaml`."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from inferflow.compute.expression import Expression
from inferflow.compute.source import compile_expression
from inferflow.errors import ExpressionInvalid


class ExpressionBook:
    """Compiles every expression once. One that is invalid does not keep the others out: it is
    listed in `problems` with its id."""

    def __init__(self, sources: Mapping[Any, Any]) -> None:
        expressions: dict[str, Expression] = {}
        problems: dict[str, ExpressionInvalid] = {}
        for key, source in sources.items():
            compute_id = str(key)
            try:
                if not isinstance(key, str | int) or isinstance(key, bool) or not compute_id:
                    raise ExpressionInvalid(f"{key!r} cannot be a compute id; use a text")
                if compute_id in expressions or compute_id in problems:
                    raise ExpressionInvalid("there are two expressions with this compute id")
                expressions[compute_id] = compile_expression(source)
            except ExpressionInvalid as problem:
                expressions.pop(compute_id, None)
                problems[compute_id] = problem
        self._expressions = MappingProxyType(expressions)
        self.problems: tuple[tuple[str, ExpressionInvalid], ...] = tuple(problems.items())

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the valid expressions, in the order written."""
        return tuple(self._expressions)

    def get(self, compute_id: str) -> Expression | None:
        return self._expressions.get(compute_id)

    def nearest(self, compute_id: str) -> str:
        """The id that may have been meant; empty when none is close."""
        close = difflib.get_close_matches(compute_id, self._expressions, n=1)
        return close[0] if close else ""
