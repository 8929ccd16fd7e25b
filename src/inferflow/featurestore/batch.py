"""What is to be written, typed and checked as a whole before anything is.

Rows and tables both become a `Batch`: key texts, and per group the features that are spoken of.
The first row that does not fit is named; nothing of a batch with such a row is used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from inferflow.dtypes import Array
from inferflow.dtypes.keytext import canonical_keys
from inferflow.engine.ports import KeyColumns
from inferflow.errors import CastFailed, InvalidInput, RowRejected
from inferflow.featurestore.group import FeatureColumn
from inferflow.featurestore.values import default_elements, feature_elements
from inferflow.plan.catalog import EntityInfo, FeatureInfo
from inferflow.plan.problems import nearest


@dataclass(frozen=True, slots=True, eq=False)
class RawColumn:
    """A column as it came in."""

    values: Array | Sequence[Any]
    has_value: Array | None = None
    """False where there is none; None means every row has one."""
    is_named: Array | None = None
    """False where the row does not mention the column at all."""


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Typed rows of one entity, ready to be written."""

    keys: KeyColumns
    """In schema order, in their canonical text."""
    groups: Mapping[str, Mapping[str, FeatureColumn]]
    """Group → feature → column."""

    def __len__(self) -> int:
        return len(self.keys[0])

    def part(self, rows: slice) -> Batch:
        """Some of the rows."""
        groups = {
            label: {name: column.part(rows) for name, column in columns.items()}
            for label, columns in self.groups.items()
        }
        return Batch(tuple(column[rows] for column in self.keys), groups)

    def only(self, rows: Array) -> Batch:
        """The rows of these numbers, in their order."""
        groups = {
            label: {name: column.part(rows) for name, column in columns.items()}
            for label, columns in self.groups.items()
        }
        at = rows.tolist()
        return Batch(tuple([column[row] for row in at] for column in self.keys), groups)


def batch_of_rows(
    entity: EntityInfo, group: str | None, rows: Sequence[Mapping[str, Any]], *, source: str
) -> Batch:
    """A batch from rows that name what they speak of. None means that there is no value."""
    if not all(isinstance(row, Mapping) for row in rows):
        raise InvalidInput(f"{source}: a list of rows is wanted, each with its values by name")
    names = dict.fromkeys(name for row in rows for name in row)
    table: dict[str, RawColumn] = {}
    for name in names:
        values = [row.get(name) for row in rows]
        has_value = np.array([value is not None for value in values], np.bool_)
        is_named = np.array([name in row for row in rows], np.bool_)
        table[name] = RawColumn(values, has_value, None if is_named.all() else is_named)
    return batch_of_table(entity, group, table, source=source)


def batch_of_table(
    entity: EntityInfo, group: str | None, table: Mapping[str, RawColumn], *, source: str
) -> Batch:
    """A batch from columns. Raises InvalidInput for a wrong column, RowRejected for a wrong row."""
    features = {
        name: _feature(entity, group, name, source) for name in table if name not in entity.keys
    }
    for key in entity.keys:
        if key not in table:
            raise InvalidInput(f"{source}: no column {key!r}, a key of entity {entity.label!r}")
    if not features:
        raise InvalidInput(f"{source}: there is no feature besides the key")
    counts = {len(column.values) for column in table.values()}
    if len(counts) > 1:
        raise InvalidInput(f"{source}: the columns have different lengths: {sorted(counts)}")
    refused: list[tuple[int, str]] = []
    keys: list[list[str]] = []
    groups: dict[str, dict[str, FeatureColumn]] = {}
    for key in entity.keys:
        try:
            keys.append(_key_texts(table[key]))
        except CastFailed as failed:
            refused.append((failed.position or 0, f"key {key!r}: {failed.what}"))
    for name, (label, feature) in features.items():
        try:
            groups.setdefault(label, {})[feature.name] = _typed(table[name], feature)
        except CastFailed as failed:
            refused.append((failed.position or 0, f"feature {name!r}: {failed.what}"))
    if refused:
        row, what = min(refused)
        raise RowRejected(source, row + 1, what)
    return Batch(tuple(keys), groups)


def _feature(
    entity: EntityInfo, group: str | None, name: str, source: str
) -> tuple[str, FeatureInfo]:
    """The group and feature a column means: `price`, or `attributes:price` when groups share it."""
    if group is not None and group not in entity.groups:
        hint = _meant(group, entity.groups)
        raise InvalidInput(f"{source}: entity {entity.label!r} has no group {group!r}{hint}")
    labels = list(entity.groups) if group is None else [group]
    known = {
        f"{label}:{each}": (label, entity.groups[label].features[each])
        for label in labels
        for each in entity.groups[label].features
    }
    if name in known:
        return known[name]
    holders = [label for label in labels if name in entity.groups[label].features]
    if len(holders) == 1:
        return holders[0], entity.groups[holders[0]].features[name]
    if holders:
        both = " or ".join(repr(f"{label}:{name}") for label in holders)
        raise InvalidInput(f"{source}: column {name!r} is in several groups; write {both}")
    hint = _meant(name, [*entity.keys, *(f.name for _, f in known.values()), *known])
    raise InvalidInput(f"{source}: column {name!r} is no key or feature of {entity.label!r}{hint}")


def _meant(name: str, known: Sequence[str] | Mapping[str, Any]) -> str:
    close = nearest(name, known)
    return f"; did you mean {close!r}?" if close else ""


def _key_texts(column: RawColumn) -> list[str]:
    for mask in (column.has_value, column.is_named):
        if mask is not None and not mask.all():
            raise CastFailed("the key is missing", position=int(np.argmin(mask)))
    return canonical_keys(column.values)


def _typed(column: RawColumn, feature: FeatureInfo) -> FeatureColumn:
    masks = [mask for mask in (column.has_value, column.is_named) if mask is not None]
    there = np.logical_and.reduce(masks) if masks else None
    if there is None or there.all():
        elements = feature_elements(column.values, feature.dtype, feature.dim)
        return FeatureColumn(elements, None, column.is_named)
    rows = np.flatnonzero(there)
    elements = default_elements(feature).repeat(len(there), axis=0)
    values = column.values
    part = (
        values[rows] if isinstance(values, np.ndarray) else [values[row] for row in rows.tolist()]
    )
    try:
        elements[rows] = feature_elements(part, feature.dtype, feature.dim)
    except CastFailed as failed:
        raise CastFailed(failed.what, position=int(rows[failed.position or 0])) from None
    return FeatureColumn(elements, column.has_value, column.is_named)
