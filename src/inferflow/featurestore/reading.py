"""The hot path: a batch of keys in, blocks of features out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from math import inf

from inferflow.engine.deadline import Deadline
from inferflow.engine.ports import FeatureRows, KeyColumns
from inferflow.errors import DeadlinePassed, NotFound
from inferflow.featurestore.backend import Backend, RemoteBackend
from inferflow.featurestore.decoder import GroupDecoder
from inferflow.featurestore.group import StoredGroup
from inferflow.featurestore.history import NewLayout
from inferflow.featurestore.keys import join_parts
from inferflow.plan.catalog import EntityInfo
from inferflow.plan.problems import nearest
from inferflow.plan.query import FeatureRead


class StoreRead:
    """One query, resolved. All groups of a key are read at one moment."""

    def __init__(
        self,
        read: FeatureRead,
        entity: EntityInfo,
        groups: Mapping[str, StoredGroup],
        backend: Backend,
        now: Callable[[], float],
        *,
        may_wait: bool = True,
    ) -> None:
        self._backend = backend
        self._now = now
        self._order = _key_order(read.keys, entity)
        self._spaces = tuple(groups[group.label].space for group in read.groups)
        self._decoders = tuple(
            GroupDecoder(stored.info, stored.history, group, may_wait=may_wait)
            for group in read.groups
            for stored in [groups[group.label]]
        )

    async def fetch(self, keys: KeyColumns, *, deadline: Deadline) -> FeatureRows:
        """Never suspends. The arrays may be read-only views of one block."""
        deadline.check("reading features")
        now_ms = int(self._now() * 1000)
        return self._answer(self._backend.get_many(self._stored_keys(keys)), now_ms)

    def _stored_keys(self, keys: KeyColumns) -> list[bytes]:
        """What to ask the backend for: all keys in one group, then all in the next."""
        columns = tuple([keys[at] for at in self._order])
        if len(self._spaces) == 1:
            return self._spaces[0].keys_of(columns)
        parts = join_parts(columns)
        return [key for space in self._spaces for key in space.keys(parts)]

    def _answer(self, rows: Sequence[bytes | None], now_ms: int) -> FeatureRows:
        if len(self._decoders) == 1:
            return FeatureRows((self._decoders[0].decode(rows, now_ms),))
        count = len(rows) // len(self._decoders)
        return FeatureRows(
            tuple(
                decoder.decode(rows[at * count : (at + 1) * count], now_ms)
                for at, decoder in enumerate(self._decoders)
            )
        )


class RemoteRead(StoreRead):
    """The same from a backend in another process. Suspends while that is asked."""

    def __init__(
        self,
        read: FeatureRead,
        entity: EntityInfo,
        groups: Mapping[str, StoredGroup],
        backend: RemoteBackend,
        now: Callable[[], float],
    ) -> None:
        super().__init__(read, entity, groups, backend, now, may_wait=False)
        self._remote = backend

    async def fetch(self, keys: KeyColumns, *, deadline: Deadline) -> FeatureRows:
        deadline.check("reading features")
        rows = await self._remote.fetch_many(self._stored_keys(keys), deadline=deadline)
        now_ms = int(self._now() * 1000)
        while True:
            try:
                return self._answer(rows, now_ms)
            except NewLayout as new:
                await _learnt(new, deadline)


async def _learnt(new: NewLayout, deadline: Deadline) -> None:
    """Have a thread ask for a layout, so that others do not wait for it."""
    left_s = deadline.remaining_s()
    try:
        async with asyncio.timeout(None if left_s == inf else left_s):
            await asyncio.to_thread(new.learn)
    except TimeoutError:
        raise DeadlinePassed("reading features", deadline.budget_ms) from None


def _key_order(names: tuple[str, ...], entity: EntityInfo) -> tuple[int, ...]:
    """Which of the given key columns is each key of the schema."""
    for name in names:
        if name not in entity.keys:
            raise NotFound(f"key of {entity.label!r}", name, nearest=nearest(name, entity.keys))
    for name in entity.keys:
        if names.count(name) != 1:
            raise NotFound(f"single key column of {entity.label!r}", name)
    return tuple(names.index(name) for name in entity.keys)
