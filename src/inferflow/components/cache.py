"""The in-memory cache in front of the feature store, bounded in bytes.

An entry is one key's whole answer as one packed record, so that a hit on many keys is a join
and a view, not a walk over features. Entries carry their own expiry and are checked with our
clock. The scope of a component (config, cache version, component, query and schema) is part
of every entry's key: after a change of any of them old entries are simply never found.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from struct import unpack_from
from typing import Any

import numpy as np
from cachebox import LRUCache

from inferflow.engine.deadline import Deadline
from inferflow.engine.ports import Array, FeatureRows, GroupRows, KeyColumns, PreparedRead
from inferflow.engine.recording import StepRecord
from inferflow.plan.plan import CacheRule
from inferflow.plan.query import FeatureRead

Entry = tuple[bytes, tuple[Any, ...]]
"""The packed record, and the texts of the key (which have no fixed size)."""

ENTRY_OVERHEAD = 200
"""Bytes of bookkeeping per entry: objects, list node, hash slot. Measured, rounded up."""


class FeatureCache:
    """Shared by every component of every plan in a process."""

    def __init__(self, size_mb: float, *, now: Callable[[], float] = time.time) -> None:
        self.now = now
        self._entries: LRUCache[str, Entry] = LRUCache(
            max(1, int(size_mb * 1024 * 1024)), getsizeof=_size
        )

    def scoped(self, rule: CacheRule, read: FeatureRead | None) -> ScopedCache | None:
        return None if read is None else ScopedCache(self, self._entries, rule, read)

    @property
    def used_bytes(self) -> int:
        return int(self._entries.current_size())

    def __len__(self) -> int:
        return len(self._entries)


def _size(key: str, entry: Entry) -> int:
    texts = sum(len(text) + 50 for row in entry[1] for text in row)
    return len(key) + len(entry[0]) + texts + ENTRY_OVERHEAD


class ScopedCache:
    """One component's view of the cache."""

    def __init__(
        self, cache: FeatureCache, entries: LRUCache[str, Entry], rule: CacheRule, read: FeatureRead
    ) -> None:
        self._cache = cache
        self._entries = entries
        self._ttl_s = rule.ttl_s
        # Fixed length, so that scope and key can be put together without a separator.
        self._prefix = hashlib.blake2b(rule.scope.encode(), digest_size=12).hexdigest()
        self._read = read
        self._record = _record_dtype(read)

    async def fetch(
        self,
        prepared: PreparedRead,
        columns: KeyColumns,
        deadline: Deadline,
        record: StepRecord | None,
    ) -> FeatureRows:
        """Answer from the cache, and ask the store only for what is not there."""
        keys = self._keys(columns)
        get = self._entries.get
        found: list[Entry | None] = [get(key) for key in keys]
        now = self._cache.now()
        missing = [i for i, entry in enumerate(found) if entry is None]
        if not missing:
            entries = [entry for entry in found if entry is not None]
            packed = self._joined(entries)
            missing = np.flatnonzero(packed["expiry"] <= now).tolist()
            if not missing:
                if record is not None:
                    record.cache_hits = len(keys)
                return self._unpacked(packed, entries)
        else:
            missing = [i for i, entry in enumerate(found) if entry is None or _expiry(entry) <= now]
        if record is not None:
            record.cache_hits = len(keys) - len(missing)
        wanted = tuple([column[i] for i in missing] for column in columns)
        fresh = self._packed(await prepared.fetch(wanted, deadline=deadline))
        for i, entry in zip(missing, fresh, strict=True):
            found[i] = entry
            self._entries.insert(keys[i], entry)
        entries = [entry for entry in found if entry is not None]
        return self._unpacked(self._joined(entries), entries)

    def _joined(self, entries: Sequence[Entry]) -> Array:
        return np.frombuffer(b"".join([entry[0] for entry in entries]), dtype=self._record)

    def _keys(self, columns: KeyColumns) -> list[str]:
        prefix = self._prefix
        if len(columns) == 1:
            return [prefix + key for key in columns[0]]
        return [
            prefix + "".join([f"{len(part)}:{part}" for part in parts])
            for parts in zip(*columns, strict=True)
        ]

    def _packed(self, rows: FeatureRows) -> list[Entry]:
        count = len(rows.groups[0].runs[0])
        packed = np.zeros(count, dtype=self._record)
        packed["expiry"] = self._cache.now() + self._ttl_s
        texts: list[list[Any]] = []
        for g, group in enumerate(rows.groups):
            if group.states is not None:
                packed["states"][:, g] = group.states
            if group.written_ms is not None:
                packed["written"][:, g] = group.written_ms
            for r, run in enumerate(group.runs):
                if run.dtype.hasobject:
                    texts.append(run.tolist())
                else:
                    packed[f"run{g}.{r}"] = _raw(run)
            for position, label in enumerate(_labels(self._read, g)):
                if label in group.absent:
                    packed[f"absent{g}"][:, position] = group.absent[label]
        records: list[bytes] = packed.view(f"V{self._record.itemsize}").tolist()
        by_key: Sequence[tuple[Any, ...]] = list(zip(*texts, strict=True)) or [()] * count
        return list(zip(records, by_key, strict=True))

    def _unpacked(self, packed: Array, entries: Sequence[Entry]) -> FeatureRows:
        all_real = not packed["states"].any()
        groups = []
        text = 0
        for g, group in enumerate(self._read.groups):
            runs: list[Array] = []
            for r, run in enumerate(group.runs):
                if run.dtype.is_text:
                    rows = np.empty((len(entries), sum(run.widths)), dtype=object)
                    rows[:] = [entry[1][text] for entry in entries]
                    runs.append(rows)
                    text += 1
                else:
                    raw = packed[f"run{g}.{r}"]
                    runs.append(raw if raw.dtype == run.dtype.numpy else raw.view(run.dtype.numpy))
            absent = packed[f"absent{g}"]
            groups.append(
                GroupRows(
                    runs=tuple(runs),
                    states=None if all_real else packed["states"][:, g],
                    absent={
                        label: absent[:, position]
                        for position, label in enumerate(_labels(self._read, g))
                    }
                    if absent.any()
                    else {},
                    written_ms=packed["written"][:, g],
                )
            )
        return FeatureRows(tuple(groups))


def _expiry(entry: Entry) -> float:
    at: float = unpack_from("<d", entry[0])[0]
    return at


def _labels(read: FeatureRead, group: int) -> list[str]:
    return [label for run in read.groups[group].runs for label in run.features]


def _raw(values: Array) -> Array:
    """float8 has no place in a structured array, its bytes do."""
    return values if values.dtype.kind != "V" and values.dtype.isbuiltin == 1 else values.view("u1")


def _record_dtype(read: FeatureRead) -> np.dtype[Any]:
    fields: list[Any] = [("expiry", "<f8"), ("written", "<i8", (len(read.groups),))]
    for g, group in enumerate(read.groups):
        for r, run in enumerate(group.runs):
            if not run.dtype.is_text:
                kind = run.dtype.numpy
                stored = kind if kind.isbuiltin == 1 else np.dtype("u1")
                fields.append((f"run{g}.{r}", stored, (sum(run.widths),)))
    fields.append(("states", "u1", (len(read.groups),)))
    fields += [(f"absent{g}", "?", (len(_labels(read, g)),)) for g in range(len(read.groups))]
    return np.dtype(fields)
