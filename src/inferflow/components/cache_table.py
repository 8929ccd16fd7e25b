"""Cached rows of one component: arrays with a slot per key.

All access is under one lock: a slot may be given to another key at any time, so a look-up and
the copy it leads to must not be torn apart.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from operator import itemgetter

import numpy as np

from inferflow.engine.ports import Array, FeatureRows, GroupRows
from inferflow.plan.query import FeatureRead

FIRST_SLOTS = 256
SLOT_OVERHEAD = 250
"""Bytes of a slot beyond its arrays: the key's text and its place in the index, rounded up."""
TEXT_OVERHEAD = 60


class CacheTable:
    def __init__(self, read: FeatureRead, may_grow: Callable[[CacheTable, int], bool]) -> None:
        self._read = read
        self._may_grow = may_grow
        self._lock = threading.Lock()
        self._index: dict[Hashable, int] = {}
        self._keys: list[Hashable] = []
        """Key of each slot that has ever been used."""
        self._free: list[int] = []
        """Slots among these that hold nothing at the moment."""
        self._next = 0
        """The slot to be reused next, once all are used."""
        self._capacity = 0
        self._text_bytes = 0
        groups = read.groups
        self._expiry = np.zeros(0, np.float64)
        self._states = np.zeros((0, len(groups)), np.uint8)
        self._written = np.zeros((0, len(groups)), np.int64)
        self._runs: list[list[Array]] = [
            [np.zeros((0, sum(run.widths)), run.dtype.numpy) for run in group.runs]
            for group in groups
        ]
        self._labels = [[name for run in group.runs for name in run.features] for group in groups]
        self._absent: list[Array] = [np.zeros((0, len(names)), np.bool_) for names in self._labels]
        # What no row has ever had is not looked for.
        self._ever_marked = self._ever_absent = False
        self._slot_bytes: int = (
            SLOT_OVERHEAD
            + sum(array[:1].itemsize * array.shape[1] for array in self._arrays_2d())
            + 8
        )

    def _arrays_2d(self) -> list[Array]:
        runs = [run for group in self._runs for run in group]
        return [self._states, self._written, *runs, *self._absent]

    @property
    def used_bytes(self) -> int:
        return self._capacity * self._slot_bytes + self._text_bytes

    def __len__(self) -> int:
        return len(self._index)

    # --- reading -----------------------------------------------------------------------------

    def read_all(
        self, keys: Sequence[Hashable], now: float, *, with_ages: bool
    ) -> FeatureRows | None:
        """The rows of these keys, if every one is here and fresh; with the time each was written
        only where somebody wants to know."""
        # A getter of many keys finds them in one call, in a third of the time of one by one.
        find = itemgetter(*keys)
        with self._lock:
            try:
                slots = np.array(find(self._index), np.intp, ndmin=1)
            except KeyError:
                return None
            if np.minimum.reduce(self._expiry.take(slots)) > now:
                return self._taken(slots, with_ages)
        return None

    def read_some(
        self, keys: Sequence[Hashable], now: float, *, with_ages: bool
    ) -> tuple[Array, FeatureRows | None]:
        """The same for those that are here and fresh, and at which positions of `keys`; None when
        there are none."""
        with self._lock:
            found = [
                (position, slot)
                for position, slot in enumerate(map(self._index.get, keys))
                if slot is not None and self._expiry[slot] > now
            ]
            if not found:
                return np.empty(0, np.intp), None
            positions, slots = np.array(found, dtype=np.intp).T
            return positions, self._taken(slots, with_ages)

    def _taken(self, slots: Array, with_ages: bool) -> FeatureRows:
        states = self._states.take(slots, axis=0) if self._ever_marked else None
        if states is not None and not np.count_nonzero(states):
            states = None
        groups = []
        for g, runs in enumerate(self._runs):
            absent: dict[str, Array] = {}
            if self._ever_absent:
                masks = self._absent[g].take(slots, axis=0)
                absent = {
                    name: masks[:, i] for i, name in enumerate(self._labels[g]) if masks[:, i].any()
                }
            groups.append(
                GroupRows(
                    tuple([run.take(slots, axis=0) for run in runs]),
                    None if states is None else states[:, g],
                    absent,
                    self._written[:, g].take(slots) if with_ages else None,
                )
            )
        return FeatureRows(tuple(groups))

    # --- writing -----------------------------------------------------------------------------

    def write(self, keys: Sequence[Hashable], rows: FeatureRows, expiry: float) -> None:
        """Keep rows; when there is no more room, in place of the oldest."""
        if not keys:
            return
        texts = _bytes_of_texts(rows, len(keys))
        self._reserve(len(keys), -(-int(texts.sum()) // len(keys)))
        start = self._room_for(texts)
        with self._lock:
            keep = slice(max(start, len(keys) - self._capacity), None)
            if not keys[keep]:
                return
            slots = np.array([self._slot_for(key) for key in keys[keep]], dtype=np.intp)
            self._expiry[slots] = expiry
            for g, group in enumerate(rows.groups):
                self._ever_marked |= group.states is not None
                self._states[slots, g] = 0 if group.states is None else group.states[keep]
                self._written[slots, g] = 0 if group.written_ms is None else group.written_ms[keep]
                for table, run in zip(self._runs[g], group.runs, strict=True):
                    if not run.dtype.hasobject:
                        table[slots] = run[keep]
                        continue
                    # A slot may be there twice, if a new key took it from another of these.
                    held = np.unique(slots)
                    self._text_bytes -= _text_bytes(table[held])
                    table[slots] = run[keep]
                    self._text_bytes += _text_bytes(table[held])
                self._absent[g][slots] = False
                for name, mask in group.absent.items():
                    self._ever_absent = True
                    self._absent[g][slots, self._labels[g].index(name)] = mask[keep]

    def _slot_for(self, key: Hashable) -> int:
        slot = self._index.get(key)
        if slot is not None:
            return slot
        if self._free:
            slot = self._free.pop()
            self._keys[slot] = key
        elif len(self._keys) < self._capacity:
            slot = len(self._keys)
            self._keys.append(key)
        else:
            slot = self._next
            self._next = (slot + 1) % self._capacity
            del self._index[self._keys[slot]]
            self._keys[slot] = key
        self._index[key] = slot
        return slot

    def _room_for(self, texts: Array) -> int:
        """From which of the new rows on there is room for their texts, after the oldest rows of
        this table have made some."""
        more = int(texts.sum())
        if more == 0 or self._may_grow(self, more):
            return 0
        with self._lock:
            room = 0
            while room < more and self._index:
                room += self._forget_oldest()
        return len(texts) - int(np.count_nonzero(np.cumsum(texts[::-1]) <= room))

    def _forget_oldest(self) -> int:
        """Drop the row that came first; returns the bytes of text that were in it."""
        slot = self._index.pop(next(iter(self._index)))
        self._free.append(slot)
        freed = 0
        for run in (run for runs in self._runs for run in runs if run.dtype.hasobject):
            freed += _text_bytes(run[slot])
            run[slot] = 0
        self._text_bytes -= freed
        return freed

    def _reserve(self, more: int, text_bytes: int) -> None:
        """Grow for so many new keys with so much text each, as far as the cache allows it.

        Permission is asked without holding the lock, because it may make another table give
        way, and that one may be asking for the same.
        """
        needed = len(self._index) + more
        each = self._slot_bytes + text_bytes
        while self._capacity < needed:
            grown = max(FIRST_SLOTS, self._capacity * 2)
            while grown > self._capacity:
                if self._may_grow(self, (grown - self._capacity) * each):
                    break
                grown = self._capacity + (grown - self._capacity) // 2
            if grown == self._capacity:
                return
            with self._lock:
                if grown > self._capacity:
                    self._resize(grown)

    def _resize(self, capacity: int) -> None:
        def resized(array: Array) -> Array:
            whole = np.zeros((capacity, *array.shape[1:]), array.dtype)
            kept = min(capacity, len(array))
            whole[:kept] = array[:kept]
            return whole

        self._expiry = resized(self._expiry)
        self._states, self._written = resized(self._states), resized(self._written)
        self._runs = [[resized(run) for run in runs] for runs in self._runs]
        self._absent = [resized(masks) for masks in self._absent]
        self._capacity = capacity

    def give_way(self) -> None:
        """Drop everything, because another table needs the room more. It fills again."""
        with self._lock:
            self._index.clear()
            self._keys.clear()
            self._free.clear()
            self._next = self._text_bytes = 0
            self._resize(0)


def _text_bytes(rows: Array) -> int:
    return sum(len(text) + TEXT_OVERHEAD for text in rows.reshape(-1).tolist() if text)


def _bytes_of_texts(rows: FeatureRows, count: int) -> Array:
    """Bytes of text in the row of each key."""
    texts = np.zeros(count, np.int64)
    for run in (run for group in rows.groups for run in group.runs if run.dtype.hasobject):
        texts += [_text_bytes(row) for row in run]
    return texts
