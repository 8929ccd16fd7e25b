"""What a function takes.

A plain `Param` is a column of numbers. A group is a column used for telling rows apart: ids
or text, or vectors to compare. A setting is one number for the whole call, which is checked
when the expression is compiled if it is written as a literal, and at evaluation otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from inferflow.compute.marks import Array
from inferflow.errors import ComputeFailed


@dataclass(frozen=True, slots=True)
class Param:
    name: str
    is_group: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting(Param):
    must_be: str
    """Completes the sentence "k must be …"."""
    holds: Callable[[float], bool]
    default: float | None = None
    """Used when the argument is left out; None when it may not be."""

    def problem(self, value: float) -> str:
        """Why a value cannot be used; empty when it can."""
        return "" if self.holds(value) else f"{self.name} must be {self.must_be}, not {value:g}"

    def read(self, values: Array) -> float:
        """The one number all rows agree on."""
        first = values.reshape(-1)[0]
        if values.size > 1 and np.count_nonzero(values == first) != values.size:
            raise ComputeFailed(f"{self.name} must be the same in every row")
        problem = self.problem(float(first))
        if problem:
            raise ComputeFailed(problem)
        return float(first)
