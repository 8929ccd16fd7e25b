"""What if a feature had another value: a reader that says so, over one that reads the store.

A value belongs to a key, as in the store: another age of one user shows on every row that looks
that user up. The rows that come back are copies; nothing below is touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from inferflow.engine.deadline import Deadline
from inferflow.engine.ports import (
    Array,
    FeatureReader,
    FeatureRows,
    GroupRows,
    KeyColumns,
    PreparedRead,
    ReadState,
)
from inferflow.plan.query import FeatureRead


@dataclass(frozen=True, slots=True, eq=False)
class Instead:
    """One value that takes the place of what the store says."""

    read: FeatureRead
    """Of the step that asks; that very object, for two steps may ask the same."""
    group: int
    run: int
    start: int
    feature: str
    key: tuple[str, ...] | None
    """None: whatever the key."""
    elements: Array
    """[1, width]"""


class InsteadReader:
    """Implements `engine.ports.FeatureReader`."""

    def __init__(self, reader: FeatureReader, instead: Sequence[Instead]) -> None:
        self._reader = reader
        self._instead = instead
        self.is_local = reader.is_local

    def prepare(self, read: FeatureRead) -> PreparedRead:
        mine = [each for each in self._instead if each.read is read]
        prepared = self._reader.prepare(read)
        return _InsteadRead(prepared, read, mine) if mine else prepared


class _InsteadRead:
    def __init__(
        self, prepared: PreparedRead, read: FeatureRead, instead: Sequence[Instead]
    ) -> None:
        self._prepared = prepared
        self._read = read
        self._instead = instead

    async def fetch(self, keys: KeyColumns, *, deadline: Deadline) -> FeatureRows:
        found = await self._prepared.fetch(keys, deadline=deadline)
        groups = list(found.groups)
        for each in self._instead:
            at = _asked(keys, each.key)
            if at.any():
                groups[each.group] = self._with(groups[each.group], each, at)
        return FeatureRows(tuple(groups), found.failure)

    def _with(self, group: GroupRows, instead: Instead, at: Array) -> GroupRows:
        runs = list(group.runs)
        run = runs[instead.run] = runs[instead.run].copy()
        run[at, instead.start : instead.start + instead.elements.shape[1]] = instead.elements
        absent = {name: mask.copy() for name, mask in group.absent.items()}
        states = group.states
        if states is not None:
            # The row is there now, with this value; its other features have none, as before.
            unreal = at & (states != ReadState.REAL)
            states = np.where(unreal, np.uint8(ReadState.REAL), states)
            for name in self._features(instead.group):
                absent[name] = absent.get(name, np.zeros(len(at), bool)) | unreal
        if instead.feature in absent:
            absent[instead.feature] &= ~at
        return GroupRows(tuple(runs), states, absent, group.written_ms)

    def _features(self, group: int) -> list[str]:
        return [name for run in self._read.groups[group].runs for name in run.features]


def _asked(keys: KeyColumns, wanted: tuple[str, ...] | None) -> Array:
    """Mask of the keys that are meant."""
    if wanted is None:
        return np.ones(len(keys[0]), bool)
    return np.fromiter((each == wanted for each in zip(*keys, strict=True)), bool, len(keys[0]))
