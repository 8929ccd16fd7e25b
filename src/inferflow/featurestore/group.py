"""The rows of one group of one entity: where they are, how old ones read, how new ones are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from inferflow.dtypes import Array
from inferflow.engine.ports import ReadState
from inferflow.featurestore.backend import Backend
from inferflow.featurestore.decoder import GroupDecoder, whole_group
from inferflow.featurestore.history import History
from inferflow.featurestore.keys import KeySpace, is_long
from inferflow.featurestore.layout import stored_features
from inferflow.featurestore.rowcodec import (
    NEVER,
    carried_key,
    carries_key,
    carrying_key,
    encode_rows,
    version_of,
)
from inferflow.plan.catalog import EntityInfo, GroupInfo


@dataclass(frozen=True, slots=True, eq=False)
class FeatureColumn:
    """What a batch of rows says about one feature."""

    elements: Array
    """[rows, dim], in the feature's element type."""
    has_value: Array | None = None
    """False where the row says that there is none; None means every row has one."""
    is_named: Array | None = None
    """False where the row says nothing, so what is stored stays; None means every row speaks."""

    def only_last(self, owner: Array, count: int) -> FeatureColumn:
        """One row per owner: the last that speaks. `owner` is the new row of each old one."""
        rows = np.arange(len(owner)) if self.is_named is None else np.flatnonzero(self.is_named)
        last = np.full(count, -1)
        np.maximum.at(last, owner[rows], rows)
        is_named = last >= 0
        return FeatureColumn(
            self.elements[last],
            None if self.has_value is None else self.has_value[last],
            None if is_named.all() else is_named,
        )

    def part(self, rows: slice | Array) -> FeatureColumn:
        """Some of the rows."""
        return FeatureColumn(
            self.elements[rows],
            None if self.has_value is None else self.has_value[rows],
            None if self.is_named is None else self.is_named[rows],
        )


class StoredGroup:
    """One group as the current schema declares it."""

    def __init__(self, backend: Backend, entity: EntityInfo, info: GroupInfo) -> None:
        self.info = info
        self.space = KeySpace(entity.label, info.label)
        self.history = History(backend, entity.label, entity.keys, info.label)
        self.version = self.history.version_of(stored_features(info.features.values()))
        self.layout = self.history.layout(self.version)
        self.read_all = whole_group(info.label, self.layout)
        self.decoder = GroupDecoder(info, self.history, self.read_all)

    def replaces(self, columns: Mapping[str, FeatureColumn]) -> bool:
        """True when new rows can be made without the old ones."""
        speaks = all(column.is_named is None for column in columns.values())
        return speaks and len(columns) == len(self.layout.features)

    def rows(
        self,
        parts: Sequence[bytes],
        columns: Mapping[str, FeatureColumn],
        old: Sequence[bytes | None] | None,
        now_ms: int,
    ) -> list[bytes | None]:
        """New rows for these keys. Features without a column keep what `old` holds for them, and
        a row that speaks of no feature at all stays as it is."""
        runs, given = self._start(len(parts), old, now_ms)
        for bit, feature in enumerate(self.layout.features):
            column = columns.get(feature.name)
            if column is not None:
                place = self.layout.places[feature.name]
                at = slice(None) if column.is_named is None else column.is_named
                runs[place.run][at, place.start : place.stop] = column.elements[at]
                given[at, bit] = True if column.has_value is None else column.has_value[at]
        ttl_s = self.info.ttl_s
        rows: list[bytes | None] = [
            *encode_rows(
                self.layout,
                self.version,
                runs,
                given=None if given.all() else given,
                written_ms=now_ms,
                expires_ms=NEVER if ttl_s is None else now_ms + round(ttl_s * 1000),
            )
        ]
        for row, part in enumerate(parts):
            if is_long(part):
                rows[row] = carrying_key(rows[row] or b"", part)
        if old is not None:
            for row in _silent(columns):
                rows[row] = old[row]
        return rows

    def parts(self, key: bytes, row: bytes) -> bytes:
        """The joined key parts of a stored row."""
        if not carries_key(row):
            return self.space.parts(key)
        return carried_key(self.history.layout(version_of(row)), row)

    def _start(
        self, count: int, old: Sequence[bytes | None] | None, now_ms: int
    ) -> tuple[list[Array], Array]:
        """Runs and given bits before anything new is put in.

        What has expired is not kept: it must not come back to life with a new row.
        """
        if old is None:
            runs = [np.empty((count, run.width), run.element.numpy) for run in self.layout.runs]
            return runs, np.zeros((count, len(self.layout.features)), np.bool_)
        found = self.decoder.decode(old, now_ms)
        is_real = np.ones(count, np.bool_)
        if found.states is not None:
            is_real = found.states == ReadState.REAL
        given = np.repeat(is_real[:, np.newaxis], len(self.layout.features), axis=1)
        for bit, feature in enumerate(self.layout.features):
            if feature.name in found.absent:
                given[:, bit] &= ~found.absent[feature.name]
        return [np.array(run) for run in found.runs], given


def _silent(columns: Mapping[str, FeatureColumn]) -> list[int]:
    """Rows that speak of no feature."""
    masks = [column.is_named for column in columns.values() if column.is_named is not None]
    if len(masks) < len(columns):
        return []
    silent: list[int] = np.flatnonzero(~np.logical_or.reduce(masks)).tolist()
    return silent
