"""A feature store that is a dict: `entity:group` → key → feature → value.

A key that is not there is MISSING, a row that is `EXPIRED` is expired, a feature its row leaves
out is a DEFAULT; all of them hold the declared default, as in a real store.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from inferflow.dtypes import Array, DType, cast
from inferflow.dtypes.keytext import canonical_key
from inferflow.engine.deadline import Deadline
from inferflow.engine.ports import FeatureRows, GroupRows, KeyColumns, ReadState
from inferflow.errors import NotFound, StoreFailed
from inferflow.plan.catalog import EntityInfo, FeatureInfo
from inferflow.plan.query import FeatureRead, GroupRead
from inferflow.testing.clock import ManualClock

EXPIRED: Final[Mapping[str, Any]] = {"": "expired"}
"""A row past its time to live."""

Key = str | int | tuple[str | int, ...]
"""The key's one part, or a tuple of them in the order the entity declares."""

Rows = Mapping[Key, Mapping[str, Any]]

WRITTEN_MS = 1_700_000_000_000
"""When every row that is there was written."""


class FakeFeatures:
    """Implements `engine.ports.FeatureReader`."""

    def __init__(
        self,
        entities: Sequence[EntityInfo],
        rows: Mapping[str, Rows],
        *,
        local: bool = True,
        clock: ManualClock | None = None,
    ) -> None:
        self.is_local = local
        """False: reads really wait, so that plans with them run as tasks."""
        self.broken = ""
        """Why no read succeeds; empty while all do."""
        self.takes_s = 0.0
        """How long a read takes by the clock."""
        self.reads: list[tuple[str, KeyColumns]] = []
        """Every read, as (entity, keys)."""
        self._clock = clock
        self._entities = {entity.label: entity for entity in entities}
        self._rows = {
            group: {_key(key): row for key, row in by_key.items()} for group, by_key in rows.items()
        }
        for group in rows:
            label, _, name = group.partition(":")
            if label not in self._entities or name not in self._entities[label].groups:
                raise NotFound("entity:group", group)

    def prepare(self, read: FeatureRead) -> FakeRead:
        entity = self._entities.get(read.entity)
        if entity is None:
            raise NotFound("entity", read.entity)
        for group in read.groups:
            known = entity.groups.get(group.label)
            if known is None:
                raise NotFound(f"group of {read.entity!r}", group.label)
            for run in group.runs:
                for feature in run.features:
                    if feature not in known.features:
                        raise NotFound(f"feature of {group.label!r}", feature)
        return FakeRead(self, entity, read)

    async def answer(self, entity: str, keys: KeyColumns, deadline: Deadline) -> None:
        """Note a read, take its time, and fail it if that is what the store does now."""
        if not self.is_local:
            await asyncio.sleep(0)
        self.reads.append((entity, keys))
        if self._clock is not None:
            self._clock.advance(self.takes_s)
        deadline.check("reading features")
        if self.broken:
            raise StoreFailed(self.broken)

    def row(self, group: str, key: tuple[str, ...]) -> Mapping[str, Any] | None:
        return self._rows.get(group, {}).get(key)


class FakeRead:
    """Implements `engine.ports.PreparedRead`, one value at a time."""

    def __init__(self, features: FakeFeatures, entity: EntityInfo, read: FeatureRead) -> None:
        self._features = features
        self._entity = entity
        self._read = read
        self._order = [read.keys.index(key) for key in entity.keys]

    async def fetch(self, keys: KeyColumns, *, deadline: Deadline) -> FeatureRows:
        await self._features.answer(self._entity.label, keys, deadline)
        wanted = list(zip(*(keys[at] for at in self._order), strict=True))
        return FeatureRows(tuple(self._group(group, wanted) for group in self._read.groups))

    def _group(self, group: GroupRead, wanted: Sequence[tuple[str, ...]]) -> GroupRows:
        name = f"{self._entity.label}:{group.label}"
        rows = [self._features.row(name, key) for key in wanted]
        states = np.array([_state(row) for row in rows], dtype=np.uint8)
        real = [
            row if state == ReadState.REAL else None
            for row, state in zip(rows, states, strict=True)
        ]
        known = self._entity.groups[group.label].features
        runs = tuple(
            np.concatenate([_values(known[each], real, run.dtype) for each in run.features], axis=1)
            for run in group.runs
        )
        absent = {
            each: np.array([row is not None and row.get(each) is None for row in real])
            for run in group.runs
            for each in run.features
        }
        return GroupRows(
            runs,
            states if states.any() else None,
            {each: mask for each, mask in absent.items() if mask.any()},
            np.where(states == ReadState.MISSING, 0, WRITTEN_MS),
        )


def _key(key: Key) -> tuple[str, ...]:
    return tuple(canonical_key(part) for part in (key if isinstance(key, tuple) else (key,)))


def _state(row: Mapping[str, Any] | None) -> ReadState:
    if row is None:
        return ReadState.MISSING
    return ReadState.EXPIRED if row is EXPIRED else ReadState.REAL


def _values(info: FeatureInfo, rows: Sequence[Mapping[str, Any] | None], wanted: DType) -> Array:
    """One feature of every row as [rows, elements] of the element type wanted."""
    stand_in = ("" if info.dtype.is_text else 0) if info.default is None else info.default
    values = np.empty((len(rows), info.dim), dtype=info.dtype.numpy)
    for at, row in enumerate(rows):
        value = None if row is None else row.get(info.name)
        values[at] = stand_in if value is None else value
    return cast(values, info.dtype.element.vector, wanted.element.vector)
