"""Which of a row's columns each feature is: a service announces that in every answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from inferflow._proto.pool import message_class

_FeatureSchema = message_class("retrieve.FeatureSchema")


@dataclass(frozen=True, slots=True)
class Layout:
    announced: tuple[bytes, ...]
    """The messages it was read from."""
    columns: Mapping[tuple[str, str], int]
    """Group and label → which column."""
    groups: Mapping[str, int]
    """Which of the announced groups."""


def read_layout(announced: Sequence[bytes]) -> Layout:
    """Raises DecodeError."""
    columns: dict[tuple[str, str], int] = {}
    groups: dict[str, int] = {}
    for number, schema in enumerate(map(_FeatureSchema.FromString, announced)):
        groups[schema.feature_group_label] = number
        for feature in schema.features:
            columns[schema.feature_group_label, feature.label] = feature.column_idx
    return Layout(tuple(announced), columns, groups)
