"""A group as a table again: one row per live key, in a form that imports back to equal values.

A feature the row has no value for is a null (an empty cell in a CSV, None in a dict). A CSV has
only one kind of empty cell, so an empty String comes back as no value; Parquet keeps the two
apart. The float8 types are written as FP32, which holds them exactly.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from inferflow.dtypes import FP8E4M3, FP8E5M2, FP32, Array, DType, cast
from inferflow.dtypes.text import format_elements
from inferflow.errors import InvalidInput, MissingExtra
from inferflow.featurestore.layout import StoredFeature
from inferflow.featurestore.store import FeatureStore, Page


def export_columns(store: FeatureStore, entity: str, group: str) -> dict[str, list[Any]]:
    """Every live row as plain Python columns, keys first."""
    keys = store.schema.entity(entity).keys
    features = store.group(entity, group).layout.features
    columns: dict[str, list[Any]] = {name: [] for name in (*keys, *(f.name for f in features))}
    for page in store.scan(entity, group):
        for name, texts in zip(keys, page.keys, strict=True):
            columns[name] += texts
        for feature in features:
            elements, has_value = _feature_of(store, entity, group, page, feature)
            rows = elements.tolist() if feature.dtype.is_vector else elements[:, 0].tolist()
            columns[feature.name] += [
                value if there else None for value, there in zip(rows, has_value, strict=True)
            ]
    return columns
