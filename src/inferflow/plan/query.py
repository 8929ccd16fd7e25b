"""A feature query with every name resolved; only the keys change from request to request."""

from __future__ import annotations

from dataclasses import dataclass

from inferflow.dtypes import DType


@dataclass(frozen=True, slots=True)
class RunRead:
    """Features of one group that share a dtype, laid side by side in one 2-D array.

    `dtype` is the element type wanted, which may differ from the stored one: the store casts.
    """

    dtype: DType
    features: tuple[str, ...]
    widths: tuple[int, ...]
    """Array columns each feature takes: 1 for a scalar, its length for a vector."""


@dataclass(frozen=True, slots=True)
class GroupRead:
    label: str
    runs: tuple[RunRead, ...]


@dataclass(frozen=True, slots=True)
class FeatureRead:
    entity: str
    keys: tuple[str, ...]
    """Names of the key parts, in the order the key columns will come."""
    groups: tuple[GroupRead, ...]
