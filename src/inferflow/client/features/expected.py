"""What a service is expected to send for a read, and what stands where it does not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from inferflow.dtypes import Array, DType, cast
from inferflow.engine.ports import FeatureRead, GroupRead, RunRead
from inferflow.errors import CastFailed, InvalidInput, NotFound
from inferflow.featurestore.schema import FeatureSchema
from inferflow.featurestore.values import default_elements, zero_elements
from inferflow.plan.catalog import FeatureInfo, GroupInfo
from inferflow.plan.problems import nearest


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """One feature of a run."""

    label: str
    dtype: DType
    """As the service stores it, which may differ from what is wanted."""
    columns: slice
    """Where it goes in the array of its run."""

    @property
    def width(self) -> int:
        return int(self.columns.stop - self.columns.start)


@dataclass(frozen=True, slots=True, eq=False)
class ExpectedRun:
    dtype: DType
    """Element type wanted."""
    members: tuple[Member, ...]
    defaults: Array
    """[1, width]."""


@dataclass(frozen=True, slots=True)
class ExpectedGroup:
    label: str
    runs: tuple[ExpectedRun, ...]


def expected_groups(read: FeatureRead, schema: FeatureSchema | None) -> tuple[ExpectedGroup, ...]:
    """Without a schema, features are taken to be stored as they are wanted. Raises NotFound for
    what the schema does not have."""
    found = []
    for group in read.groups:
        info = None if schema is None else schema.group(read.entity, group.label)
        found.append(
            ExpectedGroup(group.label, tuple(_run(group, run, info) for run in group.runs))
        )
    return tuple(found)


def _run(group: GroupRead, run: RunRead, info: GroupInfo | None) -> ExpectedRun:
    members: list[Member] = []
    defaults: list[Array] = []
    start = 0
    for label, width in zip(run.features, run.widths, strict=True):
        feature = _feature(group.label, label, width, run.dtype, info)
        members.append(Member(label, feature.dtype, slice(start, start + width)))
        defaults.append(_default(feature, run.dtype))
        start += width
    return ExpectedRun(run.dtype, tuple(members), np.concatenate(defaults, axis=1))


def _feature(
    group: str, label: str, width: int, wanted: DType, info: GroupInfo | None
) -> FeatureInfo:
    if info is None:
        return FeatureInfo(label, wanted.vector if width > 1 else wanted, width)
    found = info.features.get(label)
    if found is None:
        raise NotFound(f"feature in {group!r}", label, nearest=nearest(label, info.features))
    if found.dim != width:
        raise InvalidInput(f"feature {label!r} has {found.dim} elements, not {width}")
    return found


def _default(feature: FeatureInfo, wanted: DType) -> Array:
    try:
        return cast(default_elements(feature), feature.dtype.vector, wanted.vector)
    except CastFailed:
        if feature.default is None:  # the empty text, which nobody meant to be read as a number
            return zero_elements(wanted, feature.dim)
        raise
