"""The in-memory cache in front of the feature store, bounded in bytes.

Cached rows of a component lie in tables, one array per run of its query, and an index says in
which slot a key's row is. A hit on a hundred keys is therefore a hundred dictionary look-ups
and one `take` per run, not a walk over entries. Slots are filled in turn; when the memory is
spent the oldest row makes room for the newest.

The scope of a table (config, cache version, component, query and schema) is its identity:
after a change of any of them another table is used, and old rows can never be met.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Hashable, Sequence

import numpy as np

from inferflow.components.cache_table import CacheTable
from inferflow.components.feature_rows import only
from inferflow.components.read import BatchedRead, failed_keys
from inferflow.engine.deadline import Deadline
from inferflow.engine.ports import Array, FeatureRows, GroupRows, KeyColumns
from inferflow.engine.recording import StepRecord
from inferflow.plan.plan import CacheRule
from inferflow.plan.query import FeatureRead


class FeatureCache:
    """Shared by every component of every plan in a process."""

    def __init__(self, size_mb: float, *, now: Callable[[], float] = time.time) -> None:
        self.now = now
        self.size_bytes = int(size_mb * 1024 * 1024)
        self._tables: weakref.WeakValueDictionary[str, CacheTable] = weakref.WeakValueDictionary()
        self._lock = threading.Lock()

    def scoped(self, rule: CacheRule, read: FeatureRead, store: BatchedRead) -> ScopedCache:
        """A component's part, in front of its store. Two plans with the same scope share what is
        cached, so that a reload that changes nothing keeps it; it goes when the last of them
        goes."""
        with self._lock:
            table = self._tables.get(rule.scope)
            if table is None:
                table = self._tables[rule.scope] = CacheTable(read, self._make_room)
        return ScopedCache(table, store, rule.ttl_s, self.now)

    @property
    def used_bytes(self) -> int:
        return sum(table.used_bytes for table in list(self._tables.values()))

    def __len__(self) -> int:
        return sum(len(table) for table in list(self._tables.values()))

    def _make_room(self, asking: CacheTable, more_bytes: int) -> bool:
        """May this table grow by so much? A table that holds less than its share may, and the
        largest one gives way; any other has to reuse its own slots."""
        with self._lock:
            tables = list(self._tables.values())
            free = self.size_bytes - sum(table.used_bytes for table in tables)
            if more_bytes <= free:
                return True
            largest = max(tables, key=lambda table: table.used_bytes)
            share = self.size_bytes // len(tables)
            if largest is asking or asking.used_bytes + more_bytes > share:
                return False
            largest.give_way()
            return more_bytes <= self.size_bytes - sum(table.used_bytes for table in tables)


class ScopedCache:
    """One component's way through the cache."""

    def __init__(
        self, table: CacheTable, store: BatchedRead, ttl_s: float, now: Callable[[], float]
    ) -> None:
        self._table = table
        self._store = store
        self._ttl_s = ttl_s
        self._now = now

    async def fetch(
        self, columns: KeyColumns, *, deadline: Deadline, record: StepRecord | None
    ) -> FeatureRows:
        """Answer from the cache, and ask the store only for what is not there."""
        keys: Sequence[Hashable] = (
            columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
        )
        is_recorded = record is not None and record.read is not None
        found = self._table.read_all(keys, self._now(), with_ages=is_recorded)
        if found is None:
            return await self._fetch_missing(keys, columns, deadline, record)
        if record is not None:
            record.cache_hits = len(keys)
        return found

    async def _fetch_missing(
        self,
        keys: Sequence[Hashable],
        columns: KeyColumns,
        deadline: Deadline,
        record: StepRecord | None,
    ) -> FeatureRows:
        is_recorded = record is not None and record.read is not None
        hits, found = self._table.read_some(keys, self._now(), with_ages=is_recorded)
        if record is not None:
            record.cache_hits = len(hits)
        if found is not None and len(hits) == len(keys):  # another request has just fetched them
            return found
        missing = np.ones(len(keys), dtype=bool)
        missing[hits] = False
        positions = np.flatnonzero(missing).tolist()
        wanted = tuple([column[i] for i in positions] for column in columns)
        fresh = await self._store.fetch(wanted, deadline=deadline, record=record)
        self._keep([keys[i] for i in positions], fresh)
        return fresh if found is None else _interleaved(found, fresh, missing)

    def _keep(self, keys: Sequence[Hashable], rows: FeatureRows) -> None:
        failed = failed_keys(rows)
        if failed is not None:  # an error is not an answer
            answered = np.flatnonzero(~failed)
            keys, rows = [keys[i] for i in answered.tolist()], only(rows, answered)
        self._table.write(keys, rows, self._now() + self._ttl_s)


def _interleaved(hits: FeatureRows, fresh: FeatureRows, missing: Array) -> FeatureRows:
    """Cached and fetched rows in the order of their keys."""
    return FeatureRows(
        tuple(
            _one_group(old, new, missing)
            for old, new in zip(hits.groups, fresh.groups, strict=True)
        ),
        fresh.failure,
    )


def _one_group(old: GroupRows, new: GroupRows, missing: Array) -> GroupRows:
    count = len(missing)

    def merged(cached: Array | None, fetched: Array | None, like: Array) -> Array:
        whole = np.zeros((count, *like.shape[1:]), dtype=like.dtype)
        if cached is not None:
            whole[~missing] = cached
        if fetched is not None:
            whole[missing] = fetched
        return whole

    states = None
    if old.states is not None or new.states is not None:
        states = merged(old.states, new.states, np.zeros(0, np.uint8))
    labels = {*old.absent, *new.absent}
    return GroupRows(
        runs=tuple(merged(a, b, b) for a, b in zip(old.runs, new.runs, strict=True)),
        states=states,
        absent={
            label: merged(old.absent.get(label), new.absent.get(label), np.zeros(0, np.bool_))
            for label in labels
        },
        written_ms=(
            None
            if old.written_ms is None
            else merged(old.written_ms, new.written_ms, np.zeros(0, np.int64))
        ),
    )
