"""Where each feature of a group lies in its packed row.

A row is a header, one run per element type (widest first, so every run is aligned), one bit
per feature that says whether it was ever given, and a tail of text:

    head u64 | written_ms i64 | expires_ms i64 | runs … | given bits | padding to 8 | texts

Features of one element type, scalars and vectors alike, lie side by side in schema order. A
Bool run has one bit per element. A String run has one u32 per element: where its text ends in
the tail. N rows of one layout joined are therefore one numpy structured array.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from inferflow.dtypes import DType
from inferflow.plan.catalog import FeatureInfo

_HEADER: dict[str, tuple[Any, int]] = {
    "head": ("<u8", 0),
    "written": ("<i8", 8),
    "expires": ("<i8", 16),
}
HEADER_BYTES = 24


@dataclass(frozen=True, slots=True)
class StoredFeature:
    """What a layout knows of a feature: enough to read its bytes, for ever."""

    name: str
    dtype: DType
    dim: int


@dataclass(frozen=True, slots=True)
class Run:
    """All elements of one element type, side by side."""

    element: DType
    features: tuple[StoredFeature, ...]
    width: int
    """Elements, over all features."""

    @property
    def stored(self) -> np.dtype[Any]:
        """The numpy type of one stored item."""
        if self.element.is_text:
            return np.dtype("<u4")
        return np.dtype(np.uint8) if self.element.is_bool else self.element.numpy

    @property
    def items(self) -> int:
        """Stored items in one row."""
        return (self.width + 7) // 8 if self.element.is_bool else self.width


@dataclass(frozen=True, slots=True)
class Place:
    """Where one feature lies: elements `start` to `stop` of run number `run`."""

    run: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Layout:
    """The fixed shape of every row written under one version of a group."""

    features: tuple[StoredFeature, ...]
    runs: tuple[Run, ...]
    places: Mapping[str, Place]
    fields: Mapping[str, tuple[Any, int]]
    """Field name → (numpy type, offset): `head`, `written`, `expires`, `run0`, …, `given`."""
    size: int
    """Bytes of the fixed part. A row without text is exactly this long."""
    text_run: int | None
    """Number of the String run; None means rows have no tail."""


def row_dtype(fields: Mapping[str, tuple[Any, int]], size: int) -> np.dtype[Any]:
    """Rows of `size` bytes as a numpy type with these fields; the rest is not looked at."""
    return np.dtype(
        {
            "names": list(fields),
            "formats": [kind for kind, _ in fields.values()],
            "offsets": [offset for _, offset in fields.values()],
            "itemsize": size,
        }
    )


HEADER = row_dtype(_HEADER, HEADER_BYTES)


def stored_features(features: Iterable[FeatureInfo]) -> tuple[StoredFeature, ...]:
    return tuple(StoredFeature(each.name, each.dtype, each.dim) for each in features)


def lay_out(features: tuple[StoredFeature, ...]) -> Layout:
    """The layout of these features, in this order."""
    runs = _runs(features)
    fields = dict(_HEADER)
    offset = HEADER_BYTES
    for number, run in enumerate(runs):
        fields[f"run{number}"] = ((run.stored, (run.items,)), offset)
        offset += run.stored.itemsize * run.items
    given_bytes = (len(features) + 7) // 8
    fields["given"] = ((np.uint8, (given_bytes,)), offset)
    offset += given_bytes
    text_run = next((number for number, run in enumerate(runs) if run.element.is_text), None)
    return Layout(features, runs, _places(runs), fields, -(-offset // 8) * 8, text_run)


def _runs(features: tuple[StoredFeature, ...]) -> tuple[Run, ...]:
    by_element: dict[DType, list[StoredFeature]] = {}
    for feature in features:
        by_element.setdefault(feature.dtype.element, []).append(feature)
    runs = [
        Run(element, tuple(members), sum(member.dim for member in members))
        for element, members in by_element.items()
    ]
    # Bits last: their number of bytes is odd, and nothing after them needs to be aligned.
    runs.sort(key=lambda run: (-run.stored.itemsize, run.element.is_bool))
    return tuple(runs)


def _places(runs: tuple[Run, ...]) -> dict[str, Place]:
    places: dict[str, Place] = {}
    for number, run in enumerate(runs):
        start = 0
        for feature in run.features:
            places[feature.name] = Place(number, start, start + feature.dim)
            start += feature.dim
    return places
