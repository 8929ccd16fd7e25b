"""Groups of targets scored together. A pair is a slate of two.

Kept as `indices` into the target rows with `offsets` where each slate begins and ends, so
that gathering a column for all slates is one indexing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from inferflow.engine.limits import Limits
from inferflow.errors import InvalidRequest

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Slates:
    kind: Literal["pairs", "slates"]
    offsets: Array
    indices: Array

    @property
    def count(self) -> int:
        return len(self.offsets) - 1

    @property
    def sizes(self) -> Array:
        return np.diff(self.offsets)

    def members(self, number: int) -> Array:
        """Target rows of one slate, in slate order."""
        return self.indices[self.offsets[number] : self.offsets[number + 1]]

    @classmethod
    def of(
        cls,
        kind: Literal["pairs", "slates"],
        groups: Any,
        rows: int,
        limits: Limits,
    ) -> Slates:
        """Check every index against the targets there are."""
        if isinstance(groups, np.ndarray):
            groups = groups.tolist()
        if not isinstance(groups, Sequence) or isinstance(groups, str):
            raise InvalidRequest(kind, "a list of lists of target indices is wanted")
        if not groups:
            raise InvalidRequest(kind, f"there are no {kind}")
        limits.check(kind, len(groups), kind)
        groups = [group.tolist() if isinstance(group, np.ndarray) else group for group in groups]
        sizes = [_size(kind, number, group, limits) for number, group in enumerate(groups)]
        flat = [index for group in groups for index in group]
        if not all(type(index) is int for index in flat):
            flat = _whole_numbers(kind, groups)
        offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        if min(flat) < 0 or max(flat) >= rows:
            first = next(i for i, index in enumerate(flat) if not 0 <= index < rows)
            number = int(np.searchsorted(offsets, first, side="right")) - 1
            place = first - int(offsets[number])
            raise InvalidRequest(
                f"{kind}[{number}][{place}]",
                f"index {flat[first]} is outside the {rows} target(s)",
                f"indices run from 0 to {rows - 1}",
            )
        return cls(kind, offsets, np.array(flat, dtype=np.int64))


def _size(kind: str, number: int, group: object, limits: Limits) -> int:
    field = f"{kind}[{number}]"
    if not isinstance(group, Sequence) or isinstance(group, str):
        raise InvalidRequest(field, f"a list of target indices is wanted, not {group!r}")
    if kind == "pairs" and len(group) != 2:
        raise InvalidRequest(field, f"a pair has two targets, not {len(group)}")
    if len(group) == 0:
        raise InvalidRequest(field, "a slate has at least one target")
    limits.check("slate_size", len(group), field)
    return len(group)


def _whole_numbers(kind: str, groups: Sequence[Sequence[object]]) -> list[int]:
    flat: list[int] = []
    for number, group in enumerate(groups):
        for place, index in enumerate(group):
            if isinstance(index, bool) or not isinstance(index, int | np.integer):
                raise InvalidRequest(
                    f"{kind}[{number}][{place}]", f"{index!r} is not a target index"
                )
            flat.append(int(index))
    return flat
