"""A group as a table again: one row per live key, in a form that imports back to equal values.

A feature the row has no value for is a null (an empty cell in a CSV, None in a dict). A CSV has
only one kind of empty cell, so an empty String comes back as no value; Parquet keeps the two
apart. The float8 types are written as FP32, which holds them exactly. A file appears whole or
not at all.
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from inferflow.dtypes import FP32, Array, cast
from inferflow.dtypes.text import format_elements
from inferflow.engine.ports import KeyColumns
from inferflow.errors import InvalidInput, MissingExtra
from inferflow.featurestore.layout import StoredFeature
from inferflow.featurestore.store import FeatureStore, Page


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """One feature of one page."""

    feature: StoredFeature
    elements: Array
    """[rows, dim]"""
    has_value: Array

    def rows(self) -> list[Any]:
        """Python values, None where there is none."""
        is_vector = self.feature.dtype.is_vector
        values = self.elements.tolist() if is_vector else self.elements[:, 0].tolist()
        pairs = zip(values, self.has_value.tolist(), strict=True)
        return [value if there else None for value, there in pairs]


class _Export:
    """One group on its way out."""

    def __init__(self, store: FeatureStore, entity: str, group: str) -> None:
        self.keys = store.schema.entity(entity).keys
        self._layout = store.group(entity, group).layout
        self.features = self._layout.features
        self.header = [*self.keys, *(feature.name for feature in self.features)]
        self._pages = store.scan(entity, group)

    def pages(self) -> Iterator[tuple[KeyColumns, list[_Column]]]:
        for page in self._pages:
            yield page.keys, [self._column(feature, page) for feature in self.features]

    def _column(self, feature: StoredFeature, page: Page) -> _Column:
        place = self._layout.places[feature.name]
        elements = page.rows.runs[place.run][:, place.start : place.stop]
        absent = page.rows.absent.get(feature.name)
        has_value = np.ones(len(elements), np.bool_) if absent is None else ~absent
        return _Column(feature, elements, has_value)


def export_columns(store: FeatureStore, entity: str, group: str) -> dict[str, list[Any]]:
    """Every live row as plain Python columns, keys first."""
    export = _Export(store, entity, group)
    columns: dict[str, list[Any]] = {name: [] for name in export.header}
    for keys, page in export.pages():
        for name, texts in zip(export.keys, keys, strict=True):
            columns[name] += texts
        for column in page:
            columns[column.feature.name] += column.rows()
    return columns


def export_file(store: FeatureStore, entity: str, group: str, path: str | Path) -> int:
    """Write every live row to a .parquet or .csv file and return how many there were."""
    path = Path(path)
    writers = {".parquet": _write_parquet, ".csv": _write_csv}
    write = writers.get(path.suffix.lower())
    if write is None:
        raise InvalidInput(f"{path.name}: only .parquet and .csv files can be written")
    unfinished = path.with_name(path.name + ".part")
    try:
        rows = write(_Export(store, entity, group), unfinished)
        os.replace(unfinished, path)
    except OSError as failed:
        raise InvalidInput(f"{path}: cannot be written: {failed.strerror or failed}") from failed
    except UnicodeEncodeError as failed:
        what = f"a text of {entity}:{group} holds bytes that are not UTF-8"
        raise InvalidInput(f"{path.name}: {what}; it cannot be exported to a file") from failed
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)
    return rows


# --- CSV ------------------------------------------------------------------------------------


def _write_csv(export: _Export, path: Path) -> int:
    count = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(export.header)
        for keys, page in export.pages():
            writer.writerows(zip(*keys, *map(_cells, page), strict=True))
            count += len(keys[0])
    return count


def _cells(column: _Column) -> list[str]:
    dtype = column.feature.dtype
    texts: list[list[str]] = format_elements(column.elements, dtype.element).tolist()
    join: Callable[[list[str]], str] = ":".join
    if dtype.is_vector and dtype.is_text:  # an element may hold any separator
        join = _json_array
    pairs = zip(texts, column.has_value.tolist(), strict=True)
    return [join(row) if there else "" for row, there in pairs]


def _json_array(texts: list[str]) -> str:
    return json.dumps(texts, ensure_ascii=False)


# --- Parquet --------------------------------------------------------------------------------


def _write_parquet(export: _Export, path: Path) -> int:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ModuleNotFoundError as missing:
        raise MissingExtra("parquet", for_what=f"writing {path.stem}") from missing
    fields = [(key, pa.string()) for key in export.keys]
    fields += [(feature.name, _arrow_type(feature)) for feature in export.features]
    schema = pa.schema(fields)
    count = 0
    with parquet.ParquetWriter(str(path), schema) as writer:
        for keys, page in export.pages():
            arrays = [pa.array(texts, pa.string()) for texts in keys]
            arrays += [_arrow_array(column) for column in page]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
            count += len(keys[0])
    return count


def _arrow_type(feature: StoredFeature) -> Any:
    import pyarrow as pa

    element = feature.dtype.element
    if element.is_text:
        kind = pa.string()
    else:
        kind = pa.from_numpy_dtype(FP32.numpy if _is_float8(feature) else element.numpy)
    return pa.list_(kind) if feature.dtype.is_vector else kind


def _arrow_array(column: _Column) -> Any:
    import pyarrow as pa

    kind = _arrow_type(column.feature)
    if column.feature.dtype.is_text:
        return pa.array(column.rows(), kind)
    elements, missing = column.elements, ~column.has_value
    if _is_float8(column.feature):
        elements = cast(elements, column.feature.dtype.vector, FP32.vector)
    if not column.feature.dtype.is_vector:
        return pa.array(elements[:, 0], kind, mask=missing)
    ends = np.arange(0, elements.size + 1, elements.shape[1], dtype=np.int32)
    flat = pa.array(np.ravel(elements))
    return pa.ListArray.from_arrays(pa.array(ends), flat, type=kind, mask=pa.array(missing))


def _is_float8(feature: StoredFeature) -> bool:
    return feature.dtype.is_float and feature.dtype.size == 1
