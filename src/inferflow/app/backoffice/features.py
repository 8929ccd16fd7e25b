"""The feature store as people look at it: what there is, what a key has, how old it is.

Values are read the way a request reads them, so whatever keeps them (a file, Redis, a service)
is shown alike.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from inferflow.dtypes.keytext import canonical_key
from inferflow.engine.deadline import Deadline
from inferflow.engine.ports import Array, FeatureReader, FeatureRows, GroupRows, ReadState
from inferflow.engine.scorer import finish
from inferflow.errors import InvalidInput, InvalidRequest, NotFound
from inferflow.featurestore import FeatureStore
from inferflow.plan.catalog import EntityInfo, FeatureInfo, GroupInfo
from inferflow.plan.problems import nearest
from inferflow.plan.query import FeatureRead, GroupRead, RunRead

Facts = dict[str, Any]

PATIENCE_MS = 10_000.0


class Shelf(Protocol):
    """Where a project's features are. Asked from threads."""

    @property
    def kind(self) -> str:
        """`lmdb`, `memory`, `redis` or `service`."""

    def store(self) -> FeatureStore:
        """The store, for writing too."""

    def reader(self, store: FeatureStore) -> FeatureReader: ...

    def refuse_writing(self) -> None:
        """Raises InvalidInput when what is written here would not be what others read."""


class ShelfFeatures:
    """Implements `api.gateway.management.ports.Features`."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf

    async def schema(self) -> Facts:
        store = await asyncio.to_thread(self._shelf.store)
        entities = [_entity(entity) for entity in store.schema.entities.values()]
        return {"entities": entities, "backend": self._shelf.kind}

    async def lookup(
        self, entity: str, keys: Sequence[Sequence[Any]], groups: Sequence[str]
    ) -> list[Facts]:
        store = await asyncio.to_thread(self._shelf.store)
        info = store.schema.entity(entity)
        wanted = [_group(info, label) for label in groups or info.groups]
        texts = [_key(info, key, f"keys[{n}]") for n, key in enumerate(keys)]
        unique = list(dict.fromkeys(texts))
        reader = self._shelf.reader(store)
        rows = await _read(reader, info, wanted, unique)
        at = {key: position for position, key in enumerate(unique)}
        return [
            {
                "key": list(key),
                "groups": {
                    group.label: _found(group, found, at[key])
                    for group, found in zip(wanted, rows.groups, strict=True)
                },
            }
            for key in texts
        ]

    async def put(self, entity: str, group: str, rows: Sequence[Facts]) -> int:
        return await asyncio.to_thread(self._put, entity, group, rows)

    def _put(self, entity: str, group: str, rows: Sequence[Facts]) -> int:
        self._shelf.refuse_writing()
        store = self._shelf.store()
        info = store.schema.entity(entity)
        _group(info, group)
        flat = []
        for number, row in enumerate(rows):
            key = dict(zip(info.keys, _key(info, row["key"], f"rows[{number}].key"), strict=True))
            if clash := sorted(key.keys() & row["values"].keys()):
                raise InvalidRequest(f"rows[{number}].values.{clash[0]}", "is part of the key")
            flat.append({**key, **row["values"]})
        return store.put(entity, group, flat, source="rows")


# --- asking ---------------------------------------------------------------------------------


def _group(info: EntityInfo, label: str) -> GroupInfo:
    found = info.groups.get(label)
    if found is None:
        raise NotFound(f"group of {info.label!r}", label, nearest=nearest(label, info.groups))
    return found


def _key(info: EntityInfo, key: Sequence[Any], field: str) -> tuple[str, ...]:
    if len(key) != len(info.keys):
        raise InvalidRequest(field, f"a key of {info.label!r} has {', '.join(info.keys)}")
    try:
        return tuple(canonical_key(part) for part in key)
    except InvalidInput as refused:
        raise InvalidRequest(field, str(refused)) from refused


async def _read(
    reader: FeatureReader,
    info: EntityInfo,
    groups: Sequence[GroupInfo],
    keys: Sequence[tuple[str, ...]],
) -> FeatureRows:
    runs = [tuple(_run(each) for each in group.features.values()) for group in groups]
    labelled = tuple(GroupRead(g.label, run) for g, run in zip(groups, runs, strict=True))
    prepared = reader.prepare(FeatureRead(info.label, info.keys, labelled))
    columns = tuple(list(part) for part in zip(*keys, strict=True))
    asking = prepared.fetch(columns, deadline=Deadline(PATIENCE_MS))
    return await asyncio.to_thread(finish, asking) if reader.is_local else await asking


def _run(feature: FeatureInfo) -> RunRead:
    return RunRead(feature.dtype.element, (feature.name,), (feature.dim,))


# --- telling --------------------------------------------------------------------------------


def _found(group: GroupInfo, rows: GroupRows, at: int) -> Facts:
    state = ReadState.REAL if rows.states is None else ReadState(int(rows.states[at]))
    values = {
        feature.name: _value(feature, rows, number, at, state)
        for number, feature in enumerate(group.features.values())
    }
    is_partial = any(each["state"] == "default" for each in values.values())
    written_ms = 0 if rows.written_ms is None else int(rows.written_ms[at])
    ttl_s = group.ttl_s
    return {
        "state": "partial" if is_partial else state.name.lower(),
        "written_ms": written_ms or None,
        "expires_ms": int(written_ms + ttl_s * 1000) if written_ms and ttl_s else None,
        "values": values,
    }


def _value(feature: FeatureInfo, rows: GroupRows, number: int, at: int, state: ReadState) -> Facts:
    absent = rows.absent.get(feature.name)
    if state is ReadState.REAL and absent is not None and absent[at]:
        state = ReadState.DEFAULT
    if state is not ReadState.REAL:
        return {"value": feature.default, "state": state.name.lower()}
    elements = _plain(rows.runs[number][at])
    value = elements if feature.dtype.is_vector else elements[0]
    return {"value": value, "state": "real"}


def _plain(values: Array) -> list[Any]:
    """Python values; a short float as the number that people wrote, not as its nearest double."""
    if values.dtype.kind in "iubO" or values.dtype == np.float64:
        listed: list[Any] = values.tolist()
        return listed
    is_numpys = values.dtype.kind == "f" and values.dtype.isbuiltin == 1
    return [float(str(each)) for each in (values if is_numpys else values.astype(np.float32))]


def _entity(entity: EntityInfo) -> Facts:
    return {
        "name": entity.label,
        "keys": list(entity.keys),
        "groups": [
            {
                "name": group.label,
                "ttl_s": group.ttl_s,
                "features": [
                    {
                        "name": feature.name,
                        "dtype": feature.dtype.name,
                        "default": feature.default,
                        "dim": feature.dim if feature.dtype.is_vector else None,
                    }
                    for feature in group.features.values()
                ],
            }
            for group in entity.groups.values()
        ],
    }
