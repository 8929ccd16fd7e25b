"""What a caller wants to write, as a batch: typed and checked as a whole, before any of it is.

A feature takes its value from the list of its type. A feature that is a number also takes it from
another list of numbers, when that is the only one with the right number of values and the value
has an exact or rounded form in the feature's type. Every row that does not fit is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from inferflow._proto.pool import message_class
from inferflow.api.features.asking import parsed
from inferflow.dtypes import Array, DType
from inferflow.errors import CastFailed, InvalidRequest, NotFound
from inferflow.featurestore.batch import Batch
from inferflow.featurestore.group import FeatureColumn
from inferflow.featurestore.persist_lists import LISTS, NUMBER_LISTS, list_of
from inferflow.featurestore.schema import FeatureSchema
from inferflow.featurestore.values import feature_elements
from inferflow.plan.catalog import EntityInfo, FeatureInfo
from inferflow.plan.problems import nearest

_Query = message_class("persist.Query")

_MOST_TOLD = 20
"""Rows that are named when more do not fit."""


@dataclass(frozen=True, slots=True)
class Writing:
    entity: str
    batch: Batch | None
    """None when there is no row."""


@dataclass(slots=True)
class _Entry:
    """Some features of one group that share a list."""

    label: str
    features: list[FeatureInfo]
    rows: list[Sequence[Any]] = field(default_factory=list)
    """Per row the values of the features, or nothing for a row that does not fit."""

    @property
    def is_vectors(self) -> bool:
        return self.features[0].dtype.is_vector


def read_writing(body: bytes, schema: FeatureSchema) -> Writing:
    """Raises InvalidRequest with every row that does not fit, NotFound for what is not there."""
    query = parsed(_Query, body)
    entity = schema.entity(query.entity_label)
    entries = [_entry(schema, entity, each) for each in query.feature_group_schema]
    order = _key_order(entity, tuple(query.keys_schema))
    _check_once(entries)
    if not query.data:
        return Writing(entity.label, None)
    if not entries:
        raise InvalidRequest("feature_group_schema", "there is no group to write")
    problems: dict[int, str] = {}
    keys = [_keys(at, data.key_values, entity, order, problems) for at, data in _rows(query)]
    for at, data in _rows(query):
        _collect(at, data.feature_values, entries, problems)
    groups: dict[str, dict[str, FeatureColumn]] = {}
    for entry in entries:
        columns = groups.setdefault(entry.label, {})
        for number, feature in enumerate(entry.features):
            values = [row[number] if row else None for row in entry.rows]
            columns[feature.name] = _typed(values, feature, problems)
    if problems:
        raise _refusal(problems, len(query.data))
    return Writing(entity.label, Batch(tuple(map(list, zip(*keys, strict=True))), groups))


def _rows(query: Any) -> Iterator[tuple[int, Any]]:
    return enumerate(query.data)


def _refusal(problems: dict[int, str], rows: int) -> InvalidRequest:
    told = [f"data[{at}]: {problems[at]}" for at in sorted(problems)[:_MOST_TOLD]]
    more = len(problems) - len(told)
    text = "; ".join(told) + (f"; and {more} more" if more else "")
    return InvalidRequest(
        "data", f"{len(problems)} of {rows} row(s) do not fit, and nothing was written: {text}"
    )


# --- what is named --------------------------------------------------------------------------


def _entry(schema: FeatureSchema, entity: EntityInfo, written: Any) -> _Entry:
    group = schema.group(entity.label, written.label)
    features: list[FeatureInfo] = []
    for name in written.feature_labels:
        found = group.features.get(name)
        if found is None:
            raise NotFound(
                f"feature in {group.label!r}", name, nearest=nearest(name, group.features)
            )
        features.append(found)
    if not features:
        raise InvalidRequest("feature_group_schema", f"{group.label!r} names no feature")
    if len({feature.dtype.is_vector for feature in features}) > 1:
        raise InvalidRequest(
            "feature_group_schema",
            f"{group.label!r} mixes vectors and single values",
            "name the group twice, once for each",
        )
    return _Entry(group.label, features)


def _check_once(entries: Sequence[_Entry]) -> None:
    named = [(entry.label, feature.name) for entry in entries for feature in entry.features]
    for label, name in named:
        if named.count((label, name)) > 1:
            raise InvalidRequest("feature_group_schema", f"'{label}:{name}' is named twice")


def _key_order(entity: EntityInfo, names: tuple[str, ...]) -> tuple[int, ...]:
    if sorted(names) != sorted(entity.keys):
        raise InvalidRequest(
            "keys_schema",
            f"{', '.join(names) or 'nothing'} where {entity.label!r} has the key"
            f" {', '.join(entity.keys)}",
        )
    return tuple(names.index(name) for name in entity.keys)


# --- what rows hold -------------------------------------------------------------------------


def _keys(
    at: int,
    values: Sequence[str],
    entity: EntityInfo,
    order: tuple[int, ...],
    problems: dict[int, str],
) -> tuple[str, ...]:
    if len(values) != len(order):
        problems.setdefault(
            at, f"{len(values)} key value(s) where there are {', '.join(entity.keys)}"
        )
        return ("",) * len(order)
    if not all(values):
        problems.setdefault(at, "a key cannot be empty")
    return tuple(values[place] for place in order)


def _collect(
    at: int, values: Sequence[Any], entries: Sequence[_Entry], problems: dict[int, str]
) -> None:
    """Put the values of one row where their entries collect them."""
    if len(values) != len(entries):
        problems.setdefault(
            at, f"{len(values)} feature_values for {len(entries)} groups in feature_group_schema"
        )
    for entry, each in zip(entries, [*values, *[None] * len(entries)], strict=False):
        try:
            entry.rows.append(() if each is None else _values(each.values, entry))
        except InvalidRequest as refused:
            problems.setdefault(at, f"group {entry.label!r}: {refused.what}")
            entry.rows.append(())


def _values(values: Any, entry: _Entry) -> Sequence[Any]:
    count = len(entry.features)
    if not entry.is_vectors:
        return _listed(values, [feature.dtype for feature in entry.features], count)
    if len(values.vector) != count:
        raise InvalidRequest("vector", f"{len(values.vector)} vector(s) for {count} feature(s)")
    return [
        _listed(vector.values, [feature.dtype], feature.dim)
        for vector, feature in zip(values.vector, entry.features, strict=True)
    ]


def _listed(values: Any, dtypes: Sequence[DType], count: int) -> Sequence[Any]:
    """The list that holds the values of features of these types."""
    own = {list_of(dtype) for dtype in dtypes}
    if len(own) == 1:
        (name,) = own
        found: Sequence[Any] = getattr(values, name)
        if len(found) == count:
            return found
    lengths = {name: len(getattr(values, name)) for name in LISTS}
    may_be = own | (set(NUMBER_LISTS) if own <= set(NUMBER_LISTS) else set())
    fitting = [name for name, length in lengths.items() if length == count and name in may_be]
    if len(own) > 1 and not own <= set(NUMBER_LISTS):
        raise InvalidRequest("values", f"features of {', '.join(sorted(own))} in one list")
    if len(fitting) != 1:
        sent = ", ".join(f"{length} {name}" for name, length in lengths.items() if length)
        raise InvalidRequest(
            "values", f"{sent or 'nothing'} where {count} {' or '.join(sorted(own))} are wanted"
        )
    only: Sequence[Any] = getattr(values, fitting[0])
    return only


def _typed(values: list[Any], feature: FeatureInfo, problems: dict[int, str]) -> FeatureColumn:
    """One column, with a problem for every value that has no form in the feature's type."""
    at = np.array([row for row, value in enumerate(values) if value is not None], np.intp)
    elements = np.zeros((len(values), feature.dim), feature.dtype.element.numpy)
    if feature.dtype.is_vector:
        values = [value if value is None else list(value) for value in values]
    for rows, found in _fitting(values, feature, at, problems):
        elements[rows] = found
    return FeatureColumn(elements)


def _fitting(
    values: list[Any], feature: FeatureInfo, at: Array, problems: dict[int, str]
) -> Iterator[tuple[Array, Array]]:
    """Rows with their typed values: nearly always all at once, else by halves around the bad."""
    if not len(at):
        return
    try:
        yield at, feature_elements([values[row] for row in at], feature.dtype, feature.dim)
    except CastFailed as failed:
        if len(at) == 1:
            problems.setdefault(int(at[0]), f"feature {feature.name!r}: {failed.what}")
            return
        for half in np.array_split(at, 2):
            yield from _fitting(values, feature, half, problems)
