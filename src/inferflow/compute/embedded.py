"""Evaluates named expressions in this process: the compute runner of the engine's ports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from inferflow.compute.book import ExpressionBook
from inferflow.compute.expression import Evaluation, Expression
from inferflow.compute.marks import Array
from inferflow.dtypes import DType
from inferflow.errors import InvalidInput, NotFound


class EmbeddedCompute:
    """Prepares expressions out of a book. Never suspends, never blocks on anything."""

    is_local = True
    endpoint = ""

    def __init__(self, book: ExpressionBook) -> None:
        self._book = book

    def prepare(
        self, compute_id: str, variables: tuple[str, ...], *, precision: DType, strict: bool
    ) -> PreparedExpression:
        """Bind an expression to the order in which its columns will come.

        `variables` may hold more than the expression reads. Raises NotFound when there is no
        such expression, its own ExpressionInvalid when there is but it has a problem, and
        InvalidInput when a column it reads is not among the variables.
        """
        expression = self._book.get(compute_id)
        if expression is None:
            for known, problem in self._book.problems:
                if known == compute_id:
                    raise problem.with_traceback(None)  # shared: must not collect frames
            raise NotFound("expression", compute_id, nearest=self._book.nearest(compute_id))
        absent = [name for name in expression.variables if name not in variables]
        if absent:
            raise InvalidInput(
                f"expression {compute_id!r} reads {', '.join(map(repr, absent))}, "
                f"which is not among its columns: {', '.join(map(repr, variables)) or 'none'}"
            )
        order = tuple(variables.index(name) for name in expression.variables)
        return PreparedExpression(expression, order, precision, strict)


@dataclass(frozen=True, slots=True)
class PreparedExpression:
    """An expression with its columns, precision and strictness settled."""

    expression: Expression
    order: tuple[int, ...]
    """For each variable of the expression, where its column is among those given."""
    precision: DType
    strict: bool
    batch_size: ClassVar[None] = None
    """There is nothing to gain from smaller pieces."""

    async def run(self, columns: Sequence[Array], rows: int, *, deadline: object) -> Evaluation:
        """Evaluate over all rows at once. The deadline is part of the port; there is nothing
        here to wait for, so it goes unused."""
        del deadline
        return self.expression.evaluate(
            [columns[place] for place in self.order],
            rows,
            precision=self.precision,
            strict=self.strict,
        )
