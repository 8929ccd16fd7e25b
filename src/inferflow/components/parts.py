"""An expression over the rows of a request in parts, each of them a call.

A part is a batch where rows do not depend on each other, and a slate where they do. One that
fails loses its own rows and no others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from inferflow.engine.matrix import Array
from inferflow.engine.ports import Computed
from inferflow.errors import InferflowError


@dataclass(slots=True)
class Answered:
    """One value per row, as far as the calls were answered."""

    computed: Computed
    lost: tuple[tuple[Array, str], ...] = ()
    """Masks of rows whose call failed, which hold zeros; and why it did."""


def batches(rows: int, size: int | None) -> list[slice]:
    """Parts of so many rows at most; None takes all at once."""
    if not size or rows <= size:
        return [slice(0, rows)]
    return [slice(start, min(start + size, rows)) for start in range(0, rows, size)]


def between(offsets: Array) -> list[slice]:
    """A part from each offset to the next."""
    return [slice(start, stop) for start, stop in pairwise(offsets.tolist())]


def joined(parts: Sequence[slice], found: Sequence[Computed | InferflowError]) -> Answered:
    """What the calls gave, one after another. Raises the first failure when all failed."""
    given = [each for each in found if isinstance(each, Computed)]
    if not given:
        raise next(each for each in found if isinstance(each, InferflowError))
    rows = parts[-1].stop
    values = np.zeros(rows, given[0].values.dtype)
    invalid = np.zeros(rows, bool)
    reasons: dict[str, None] = {}
    lost: list[tuple[Array, str]] = []
    for part, each in zip(parts, found, strict=True):
        if isinstance(each, InferflowError):
            lost.append((_mask(part, rows), str(each)))
            continue
        values[part] = each.values
        if each.invalid is not None:
            invalid[part] = each.invalid
            reasons[each.reason] = None
    marks = invalid if reasons else None
    return Answered(Computed(values, marks, "; ".join(reasons)), tuple(lost))


def _mask(part: slice, rows: int) -> Array:
    mask = np.zeros(rows, bool)
    mask[part] = True
    return mask
