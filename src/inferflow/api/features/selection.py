"""The features a query names, resolved once: what to read, and which column each of them becomes.

Every column that is asked for is filled, also when a group or a feature is named twice. A label
may ask for less precise floats than are stored: `price@DataTypeFP16`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inferflow._proto.pool import message_class
from inferflow.dtypes import FP8E4M3, FP8E5M2, FP16, FP32, FP64, DType, parse_dtype
from inferflow.errors import InvalidInput, InvalidRequest, NotFound
from inferflow.featurestore.schema import FeatureSchema
from inferflow.plan.catalog import FeatureInfo, GroupInfo
from inferflow.plan.problems import nearest
from inferflow.plan.query import FeatureRead, GroupRead, RunRead

_Result = message_class("retrieve.Result")
_DecodedResult = message_class("retrieve.DecodedResult")

NOT_READ = -1

_PRECISION = {FP64: 4, FP32: 3, FP16: 2, FP8E5M2: 1, FP8E4M3: 1}

Groups = tuple[tuple[str, tuple[str, ...]], ...]
"""Labels of groups and of their features, as asked for."""


@dataclass(frozen=True, slots=True)
class Column:
    """Where the values of one column of the answer are."""

    feature: str
    group: int
    run: int
    elements: slice
    dtype: DType


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    entity: str
    read: FeatureRead
    columns: tuple[Column, ...]
    group_of_entry: tuple[int, ...]
    """Which group of the read each group of the query is; NOT_READ for one without features."""
    result_head: bytes
    """What a Result says besides its rows."""
    decoded_head: bytes


def select(
    schema: FeatureSchema, entity: str, groups: Groups, keys_schema: tuple[str, ...]
) -> Selection:
    """Raises NotFound for what the schema does not have, InvalidRequest for what cannot be."""
    known = schema.entity(entity)
    if sorted(keys_schema) != sorted(known.keys):
        raise InvalidRequest(
            "keys_schema",
            f"{', '.join(keys_schema) or 'nothing'} where {entity!r} has the key"
            f" {', '.join(known.keys)}",
        )
    reading = _Reading()
    columns: list[Column] = []
    names: list[tuple[str, list[str]]] = []
    for label, features in groups:
        group = reading.group(schema.group(entity, label))
        found = [group.column(feature) for feature in features]
        columns += found
        names.append((label, [column.feature for column in found]))
    entries = tuple(reading.groups[label].number for label, _ in groups)
    read = FeatureRead(entity, keys_schema, reading.group_reads())
    heads = _heads(entity, keys_schema, names)
    return Selection(entity, read, tuple(columns), entries, *heads)


class _Reading:
    """Collects what is read of each group. One of which nothing is asked is not read."""

    def __init__(self) -> None:
        self.groups: dict[str, _GroupBuilder] = {}
        self._in_use: list[_GroupBuilder] = []

    def group(self, info: GroupInfo) -> _GroupBuilder:
        return self.groups.setdefault(info.label, _GroupBuilder(info, self._in_use))

    def group_reads(self) -> tuple[GroupRead, ...]:
        return tuple(each.group_read() for each in self._in_use)


class _GroupBuilder:
    """What is read of one group: each feature once per type, features of a type side by side."""

    def __init__(self, info: GroupInfo, in_use: list[_GroupBuilder]) -> None:
        self.number = NOT_READ
        self._info = info
        self._in_use = in_use
        self._runs: dict[DType, list[FeatureInfo]] = {}
        self._columns: dict[tuple[str, DType], Column] = {}

    def column(self, label: str) -> Column:
        name, quantised, wanted = label.partition("@")
        info = self._info.features.get(name)
        if info is None:
            raise NotFound(
                f"feature in {self._info.label!r}", name, nearest=nearest(name, self._info.features)
            )
        dtype = _quantised(label, info.dtype, wanted) if quantised else info.dtype
        found = self._columns.get((name, dtype))
        if found is None:
            if self.number == NOT_READ:
                self.number = len(self._in_use)
                self._in_use.append(self)
            members = self._runs.setdefault(dtype.element, [])
            start = sum(each.dim for each in members)
            members.append(info)
            run = list(self._runs).index(dtype.element)
            found = Column(name, self.number, run, slice(start, start + info.dim), dtype)
            self._columns[name, dtype] = found
        return found

    def group_read(self) -> GroupRead:
        return GroupRead(
            self._info.label,
            tuple(
                RunRead(
                    dtype,
                    tuple(each.name for each in members),
                    tuple(each.dim for each in members),
                )
                for dtype, members in self._runs.items()
            ),
        )


def _quantised(label: str, stored: DType, wanted: str) -> DType:
    try:
        dtype = parse_dtype(wanted)
    except InvalidInput as unknown:
        raise InvalidRequest("feature_labels", f"{label!r}: {unknown}") from None
    precision = _PRECISION.get(dtype.element)
    own = _PRECISION.get(stored.element)
    is_less = precision is not None and own is not None and precision < own
    if not is_less or dtype.is_vector is not stored.is_vector:
        raise InvalidRequest(
            "feature_labels",
            f"{label!r}: {stored.name} can only be had as floats of less precision,"
            f" and as {'a vector' if stored.is_vector else 'one value'}",
        )
    return dtype


def _heads(
    entity: str, keys_schema: Sequence[str], names: Sequence[tuple[str, list[str]]]
) -> tuple[bytes, bytes]:
    result = _Result(entity_label=entity, keys_schema=keys_schema)
    decoded = _DecodedResult(keys_schema=keys_schema)
    for message in (result, decoded):
        index = 0
        for label, features in names:
            schema = message.feature_schemas.add(feature_group_label=label)
            for feature in features:
                schema.features.add(label=feature, column_idx=index)
                index += 1
    return result.SerializeToString(), decoded.SerializeToString()
