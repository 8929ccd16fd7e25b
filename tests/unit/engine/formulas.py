"""Expressions, and the same in plain Python: of one row, or of one column of all rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

NO_ANSWER = object()
"""The value of a row an expression has none for."""


def _ratio(a: Any, b: Any) -> Any:
    return NO_ANSWER if b == 0 else a / b


def _root(a: Any) -> Any:
    return NO_ANSWER if a < 0 else np.sqrt(a)


def _numbers(values: Sequence[Any]) -> list[Any]:
    return [value for value in values if not math.isnan(value)]


def _ranks(values: Sequence[Any]) -> list[Any]:
    real = _numbers(values)
    return [
        math.nan if math.isnan(v) else float(1 + sum(other > v for other in real)) for v in values
    ]


def _scaled(values: Sequence[Any]) -> list[Any]:
    real = _numbers(values)
    if not real:
        return list(values)
    low, high = min(real), max(real)
    return [
        v if math.isnan(v) else type(v)(1) if low == high else (v - low) / (high - low)
        for v in values
    ]


def _best(values: Sequence[Any]) -> list[Any]:
    order = sorted(
        (i for i, v in enumerate(values) if not math.isnan(v)), key=lambda i: (-values[i], i)
    )
    return [float(i in order[:2]) for i in range(len(values))]


def _from_highest(values: Sequence[Any]) -> list[Any]:
    real = _numbers(values)
    return [v - max(real) if real else v for v in values]


@dataclass(frozen=True)
class Formula:
    """An expression, and the same in Python: of one row, or of one column of all rows."""

    text: str
    variables: tuple[str, ...]
    of_row: Callable[..., Any] | None = None
    of_rows: Callable[[Sequence[Any]], list[Any]] | None = None


FORMULAS = {
    "sum": Formula("a + b", ("a", "b"), lambda a, b: a + b),
    "ratio": Formula("a / b", ("a", "b"), _ratio),
    "root": Formula("sqrt(a)", ("a",), _root),
    "twice": Formula("a * 2 + 1", ("a",), lambda a: a * type(a)(2) + type(a)(1)),
    "larger": Formula("if(a > b, a, b)", ("a", "b"), lambda a, b: a if a > b else b),
    "rank": Formula("rank(a)", ("a",), of_rows=_ranks),
    "scaled": Formula("norm_min_max(a)", ("a",), of_rows=_scaled),
    "best": Formula("topk(a, 2)", ("a",), of_rows=_best),
    "below": Formula("a - max(a)", ("a",), of_rows=_from_highest),
}
