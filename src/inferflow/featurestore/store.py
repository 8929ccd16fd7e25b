"""The embedded feature store: reads for the engine, writes and look-ups for people.

A write is all or nothing. A row that names only some features of a group leaves the others as
they are; what it says has no value (None) reads as the default from then on. Whoever opens the
store under a new schema gets a new `FeatureStore` on the same rows; reads prepared under the
old one keep working.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import numpy as np

from inferflow.dtypes import Array
from inferflow.dtypes.keytext import canonical_key
from inferflow.engine.ports import GroupRows, KeyColumns, ReadState
from inferflow.errors import InvalidInput
from inferflow.featurestore.backend import Backend, RemoteBackend
from inferflow.featurestore.batch import Batch, batch_of_rows
from inferflow.featurestore.group import StoredGroup
from inferflow.featurestore.history import check_format, groups_ever
from inferflow.featurestore.keys import KeySpace, join_parts, split_parts
from inferflow.featurestore.reading import RemoteRead, StoreRead
from inferflow.featurestore.schema import FeatureSchema
from inferflow.plan.query import FeatureRead

_PAGE_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class StoredValue:
    """One feature of one key, for people to look at."""

    group: str
    feature: str
    value: Any
    """The default unless `state` is REAL."""
    state: ReadState
    age_s: float | None
    """Seconds since its row was written; None when there is no row."""


@dataclass(frozen=True, slots=True, eq=False)
class Page:
    """Some rows of a group, all of them real."""

    keys: KeyColumns
    rows: GroupRows
    """Runs in the order of the group's layout."""


class FeatureStore:
    """Implements `engine.ports.FeatureReader` over a backend, which the caller closes."""

    def __init__(
        self, schema: FeatureSchema, backend: Backend, *, now: Callable[[], float] = time.time
    ) -> None:
        self.schema = schema
        self.backend = backend
        self.is_local = not isinstance(backend, RemoteBackend)
        self._now = now
        check_format(backend)
        self._groups: dict[str, dict[str, StoredGroup]] = {
            entity.label: {
                label: StoredGroup(backend, entity, group) for label, group in entity.groups.items()
            }
            for entity in schema.entities.values()
        }

    def with_schema(self, schema: FeatureSchema) -> FeatureStore:
        """The same rows under another schema."""
        return FeatureStore(schema, self.backend, now=self._now)

    def group(self, entity: str, label: str) -> StoredGroup:
        """One group with its layouts. Raises NotFound."""
        self.schema.group(entity, label)
        return self._groups[entity][label]

    # --- reading ----------------------------------------------------------------------------

    def prepare(self, read: FeatureRead) -> StoreRead:
        """Resolve a query once. Raises NotFound when the schema has no such thing."""
        groups = {each.label: self.group(read.entity, each.label) for each in read.groups}
        entity = self.schema.entity(read.entity)
        if isinstance(self.backend, RemoteBackend):
            return RemoteRead(read, entity, groups, self.backend, self._now)
        return StoreRead(read, entity, groups, self.backend, self._now)

    def get(self, entity: str, key: object) -> tuple[StoredValue, ...]:
        """Every feature of one key. A composite key is a sequence, or a mapping by name."""
        parts = self._parts(entity, key)
        now_s = self._now()
        groups = list(self._groups[entity].values())
        rows = self.backend.get_many([each.space.keys(parts)[0] for each in groups])
        found: list[StoredValue] = []
        for group, row in zip(groups, rows, strict=True):
            found += _stored_values(group, row, now_s)
        return tuple(found)

    def scan(self, entity: str, group: str) -> Iterator[Page]:
        """Every row of a group that has not expired, page by page."""
        stored = self.group(entity, group)
        count = len(self.schema.entity(entity).keys)
        records = chain.from_iterable(map(self.backend.scan, stored.space.prefixes))
        while page := list(islice(records, _PAGE_ROWS)):
            found = stored.decoder.decode([row for _, row in page], int(self._now() * 1000))
            if found.states is not None:
                live = found.states == ReadState.REAL
                page = [record for record, is_live in zip(page, live, strict=True) if is_live]
                found = _only(found, live)
            keys = [split_parts(stored.parts(key, row), count) for key, row in page]
            yield Page(tuple([list(column) for column in zip(*keys, strict=True)]), found)

    # --- writing ----------------------------------------------------------------------------

    def put(
        self,
        entity: str,
        group: str | None,
        rows: Sequence[Mapping[str, Any]],
        *,
        source: str = "put",
    ) -> int:
        """Write rows that hold their key and any features by name. Returns how many keys.

        Without a group, features of any group are found by name, or as `group:feature`.
        Raises RowRejected with the number of the first row that does not fit.
        """
        if not rows:
            return 0
        return self.write(
            entity, batch_of_rows(self.schema.entity(entity), group, rows, source=source)
        )

    def write(self, entity: str, batch: Batch) -> int:
        """Write a batch in one transaction. Of rows with equal keys the later one wins."""
        parts = join_parts(batch.keys)
        row_of = {part: row for row, part in enumerate(dict.fromkeys(parts))}
        columns = batch.groups
        if len(row_of) < len(parts):
            owner = np.fromiter((row_of[part] for part in parts), np.intp, len(parts))
            parts = list(row_of)
            columns = {
                label: {name: each.only_last(owner, len(parts)) for name, each in members.items()}
                for label, members in batch.groups.items()
            }
        groups = [self.group(entity, label) for label in columns]
        keys = [key for group in groups for key in group.space.keys(parts)]
        now_ms = int(self._now() * 1000)

        def change(old: Sequence[bytes | None]) -> list[bytes | None]:
            rows: list[bytes | None] = []
            for group in groups:
                found = old[len(rows) : len(rows) + len(parts)] if old else None
                rows += group.rows(parts, columns[group.info.label], found, now_ms)
            return rows

        if all(group.replaces(columns[group.info.label]) for group in groups):
            self.backend.replace(keys, change([]))
        else:
            self.backend.update(keys, change)
        return len(parts)

    def delete(self, entity: str, key: object) -> bool:
        """Forget a key in every group its entity ever had. False when nothing was there."""
        parts = self._parts(entity, key)
        named = self.schema.entity(entity).keys
        keys = [
            KeySpace(entity, label).keys(parts)[0]
            for label, keys in groups_ever(self.backend, entity)
            if keys == named
        ]
        was_there = False

        def change(old: Sequence[bytes | None]) -> list[bytes | None]:
            nonlocal was_there
            was_there = any(row is not None for row in old)
            return [None] * len(old)

        self.backend.update(keys, change)
        return was_there

    def _parts(self, entity: str, key: object) -> list[bytes]:
        names = self.schema.entity(entity).keys
        if isinstance(key, Mapping):
            values = [key.get(name) for name in names] if set(key) == set(names) else []
        else:
            values = list(key) if isinstance(key, list | tuple) else [key]
        if len(values) != len(names):
            raise InvalidInput(f"a key of {entity!r} has {', '.join(names)}; got {key!r}")
        return join_parts(tuple([canonical_key(value)] for value in values))


def _stored_values(group: StoredGroup, row: bytes | None, now_s: float) -> list[StoredValue]:
    found = group.decoder.decode([row], int(now_s * 1000))
    state = ReadState.REAL if found.states is None else ReadState(found.states[0])
    written_ms = 0 if found.written_ms is None else int(found.written_ms[0])
    values = []
    for feature in group.layout.features:
        place = group.layout.places[feature.name]
        elements = found.runs[place.run][0, place.start : place.stop].tolist()
        is_absent = feature.name in found.absent
        values.append(
            StoredValue(
                group.info.label,
                feature.name,
                elements if feature.dtype.is_vector else elements[0],
                ReadState.DEFAULT if is_absent else state,
                None if row is None else max(0.0, now_s - written_ms / 1000),
            )
        )
    return values


def _only(rows: GroupRows, mask: Array) -> GroupRows:
    """The rows of a mask, which are all real."""
    written_ms = None if rows.written_ms is None else rows.written_ms[mask]
    absent = {name: each[mask] for name, each in rows.absent.items()}
    return GroupRows(tuple([run[mask] for run in rows.runs]), None, absent, written_ms)
