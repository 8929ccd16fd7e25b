"""Writes rows to a store that is a service: those that are not there yet as they should be.

What the service has is read first and compared, so writing the same twice changes nothing, and
what was cut short is simply done again. A call is all or nothing on the service's side. An empty
cell says nothing: the wire has no form for it, so what is stored there stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from inferflow._proto.pool import message_class
from inferflow.client.features.reader import FeatureLine, RemoteFeatures, RemoteRead
from inferflow.client.oip.line import Line, Method
from inferflow.dtypes import Array
from inferflow.engine.deadline import Deadline
from inferflow.engine.ports import FeatureRead, FeatureRows, GroupRead, RunRead
from inferflow.errors import Overloaded, StoreFailed, StoreUnreachable, Unreachable
from inferflow.featurestore.batch import Batch
from inferflow.featurestore.group import FeatureColumn
from inferflow.featurestore.persist_lists import list_of
from inferflow.featurestore.schema import FeatureSchema
from inferflow.plan.catalog import EntityInfo, FeatureInfo

AT_ONCE = 1_000
"""Rows per call."""
PATIENCE_MS = 10_000.0
"""For each call: the longest a service grants."""

_Query = message_class("persist.Query")


def _failed(entity: str, why: str) -> StoreFailed:
    return StoreFailed(f"features of {entity!r} could not be written: {why}")


PERSIST = Method("/persist.FeatureService/PersistFeatures", "features of", _failed)


class FeatureWriter:
    """Of one service. The line is its owner's to close."""

    def __init__(self, line: FeatureLine, schema: FeatureSchema) -> None:
        self._reader = RemoteFeatures(line, schema)
        self._schema = schema
        self._line = Line(line.address, line.options.line, PERSIST)

    async def changed(self, entity: str, batch: Batch) -> Array:
        """Numbers of the rows that the service does not have as they are here. Of rows with equal
        keys the last one counts. Raises StoreFailed, DeadlinePassed."""
        read = _read_of(self._schema.entity(entity), batch)
        prepared = self._reader.prepare(read)
        last = np.array(sorted({key: row for row, key in _keys(batch)}.values()), np.intp)
        parts = [last[at : at + AT_ONCE] for at in range(0, len(last), AT_ONCE)]
        found = [rows[await _differs(prepared, read, batch.only(rows))] for rows in parts]
        return np.concatenate(found) if found else last

    async def write(
        self,
        entity: str,
        batch: Batch,
        rows: Array,
        *,
        done: Callable[[int], None] = lambda _: None,
    ) -> None:
        """Write rows of a batch, some per call; `done` is told how many are. Raises StoreFailed
        naming the rows that a call was refused for; those of earlier calls are written then."""
        info = self._schema.entity(entity)
        for at in range(0, len(rows), AT_ONCE):
            some = rows[at : at + AT_ONCE]
            part = batch.only(some)
            for body in _bodies(info, part):
                try:
                    await self._line.ask(body, entity, Deadline(PATIENCE_MS))
                except (Unreachable, Overloaded) as away:
                    raise StoreUnreachable(f"{_told(some)}: {away}") from away
                except StoreFailed as refused:
                    raise StoreFailed(f"{_told(some)}: {refused}") from refused
            done(at + len(some))

    def close(self) -> None:
        self._line.close()


def _told(rows: Array) -> str:
    return f"rows {int(rows[0]) + 1} to {int(rows[-1]) + 1}"


def _keys(batch: Batch) -> Iterable[tuple[int, tuple[str, ...]]]:
    return enumerate(zip(*batch.keys, strict=True))


# --- comparing ------------------------------------------------------------------------------


def _read_of(entity: EntityInfo, batch: Batch) -> FeatureRead:
    """Everything the batch speaks of, each feature as an array of its own."""
    groups = []
    for label, columns in batch.groups.items():
        features = [entity.groups[label].features[name] for name in columns]
        runs = [RunRead(each.dtype.element, (each.name,), (each.dim,)) for each in features]
        groups.append(GroupRead(label, tuple(runs)))
    return FeatureRead(entity.label, entity.keys, tuple(groups))


async def _differs(prepared: RemoteRead, read: FeatureRead, batch: Batch) -> Array:
    """Per row, whether any of its values is another one there, or none at all."""
    found = await prepared.fetch(batch.keys, deadline=Deadline(PATIENCE_MS))
    return _different(found, read, batch.groups, len(batch))


def _different(
    found: FeatureRows,
    read: FeatureRead,
    groups: Mapping[str, Mapping[str, FeatureColumn]],
    rows: int,
) -> Array:
    differs = np.zeros(rows, np.bool_)
    for group, there in zip(read.groups, found.groups, strict=True):
        is_real = np.ones(rows, np.bool_) if there.states is None else there.states == 0
        for run, stored in zip(group.runs, there.runs, strict=True):
            (name,) = run.features
            column = groups[group.label][name]
            is_same = is_real & _equal(stored, column.elements, is_float=run.dtype.is_float)
            if name in there.absent:
                is_same &= ~there.absent[name]
            differs |= _speaks(column) & ~is_same
    return differs


def _equal(one: Array, other: Array, *, is_float: bool) -> Array:
    """Per row. A zero has a sign here, and what is not a number equals itself."""
    if is_float:
        one, other = one.astype(np.float64), other.astype(np.float64)
        same = (one == other) & (np.signbit(one) == np.signbit(other))
        same |= np.isnan(one) & np.isnan(other)
    else:
        same = one == other
    rows: Array = np.all(same, axis=1)
    return rows


def _speaks(column: FeatureColumn) -> Array:
    """Per row, whether it has a value."""
    speaks = np.ones(len(column.elements), np.bool_)
    for mask in (column.has_value, column.is_named):
        if mask is not None:
            speaks &= mask
    return speaks


# --- writing --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Entry:
    """Features of one group whose values go into one list."""

    group: str
    features: tuple[FeatureInfo, ...]


def _bodies(entity: EntityInfo, batch: Batch) -> Iterable[bytes]:
    """One query for rows that speak of the same features; nearly always for all."""
    spoken = {
        (label, name): _speaks(column)
        for label, columns in batch.groups.items()
        for name, column in columns.items()
    }
    patterns = np.stack(list(spoken.values()), axis=1)
    kinds, kind_of = np.unique(patterns, axis=0, return_inverse=True)
    for number, kind in enumerate(kinds):
        wanted = [place for place, is_there in zip(spoken, kind, strict=True) if is_there]
        if wanted:
            rows = np.flatnonzero(kind_of.reshape(-1) == number)
            yield _body(entity, batch.only(rows), _entries(entity, wanted))


def _entries(entity: EntityInfo, wanted: Sequence[tuple[str, str]]) -> list[_Entry]:
    lists: dict[tuple[str, str, bool], list[FeatureInfo]] = {}
    for label, name in wanted:
        feature = entity.groups[label].features[name]
        # A vector has a message of its own, so vectors of all types may stand together.
        kind = "" if feature.dtype.is_vector else list_of(feature.dtype)
        lists.setdefault((label, kind, feature.dtype.is_vector), []).append(feature)
    return [_Entry(label, tuple(features)) for (label, _, _), features in lists.items()]


def _body(entity: EntityInfo, batch: Batch, entries: Sequence[_Entry]) -> bytes:
    query: Any = _Query(entity_label=entity.label, keys_schema=entity.keys)
    for entry in entries:
        names = [feature.name for feature in entry.features]
        query.feature_group_schema.add(label=entry.group, feature_labels=names)
    columns = [
        [_plain(batch.groups[entry.group][each.name], each) for each in entry.features]
        for entry in entries
    ]
    for row, key in _keys(batch):
        data = query.data.add(key_values=key)
        for entry, values in zip(entries, columns, strict=True):
            _fill(data.feature_values.add().values, entry, [each[row] for each in values])
    body: bytes = query.SerializeToString()
    return body


def _plain(column: FeatureColumn, feature: FeatureInfo) -> list[list[Any]]:
    """Values that a message takes: small floats have no form of their own in it."""
    elements = column.elements
    plain: list[list[Any]] = (
        elements.astype(np.float64) if feature.dtype.element.is_float else elements
    ).tolist()
    return plain


def _fill(message: Any, entry: _Entry, values: Sequence[Sequence[Any]]) -> None:
    for feature, elements in zip(entry.features, values, strict=True):
        target = message.vector.add().values if feature.dtype.is_vector else message
        getattr(target, list_of(feature.dtype)).extend(elements)
