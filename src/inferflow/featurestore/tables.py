"""Columns from wherever people keep them: Parquet, CSV, Arrow, pandas, plain arrays.

What has no value: a null in Parquet and Arrow, None in a list, an empty cell in a CSV, and what
pandas calls missing (NaN included, as `to_parquet` does). NaN anywhere else is a number.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from inferflow.dtypes import Array
from inferflow.errors import InvalidInput, MissingExtra, RowRejected
from inferflow.featurestore.batch import RawColumn

Table = dict[str, RawColumn]

T = TypeVar("T")


def read_table(path: Path) -> Table:
    """The columns of a .parquet or .csv file."""
    return _read(path, {".parquet": _read_parquet, ".csv": _read_csv})


def column_names(path: Path) -> list[str]:
    """What a .parquet or .csv file calls its columns; its rows are not read."""
    return _read(path, {".parquet": _parquet_names, ".csv": _csv_names})


def _read(path: Path, readers: Mapping[str, Callable[[Path], T]]) -> T:
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise InvalidInput(f"{path.name}: only .parquet and .csv files can be imported")
    try:
        return reader(path)
    except OSError as unreadable:
        why = unreadable.strerror or unreadable
        raise InvalidInput(f"{path.name}: cannot be read: {why}") from unreadable


def table_of(data: object) -> Table:
    """The columns of a pandas DataFrame, a pyarrow Table or a mapping from names to values."""
    if isinstance(data, Mapping):
        return {name: _from_values(values) for name, values in data.items()}
    library = type(data).__module__.partition(".")[0]
    if library == "pandas":
        return _from_pandas(data)
    if library == "pyarrow" and hasattr(data, "column_names"):
        return _from_arrow(data)
    raise InvalidInput(
        f"{type(data).__name__} is not a table;"
        " give a DataFrame, an Arrow table or a dict of columns"
    )


def _from_values(values: Array | Sequence[Any]) -> RawColumn:
    if isinstance(values, np.ndarray) and values.dtype.kind != "O":
        return RawColumn(values)
    has_value = np.array([value is not None for value in values], np.bool_)
    return RawColumn(values, None if has_value.all() else has_value)


# --- files ----------------------------------------------------------------------------------


def _read_csv(path: Path) -> Table:
    """Cells as text; the schema says later what they are. A blank line is not a row."""
    header, rows = _csv_rows(path)
    if set(map(len, rows)) - {len(header)}:
        row = next(at for at, row in enumerate(rows) if len(row) != len(header))
        what = f"{len(rows[row])} cells where {len(header)} columns are named"
        raise RowRejected(path.name, row + 1, what)
    columns = zip(*rows, strict=True) if rows else ((),) * len(header)
    return {name: _from_cells(cells) for name, cells in zip(header, columns, strict=True)}


def _csv_names(path: Path) -> list[str]:
    return _csv_rows(path, at_most=0)[0]


def _csv_rows(path: Path, at_most: int | None = None) -> tuple[list[str], list[list[str]]]:
    """The header, and rows that are not blank."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, strict=True)
        try:
            header = next(reader, [])
            rows = [row for row in islice(reader, at_most) if row]
        except (csv.Error, UnicodeDecodeError) as broken:
            what = f"{path.name}, line {reader.line_num + 1}: not a CSV file: {broken}"
            raise InvalidInput(what) from broken
    if not header:
        raise InvalidInput(f"{path.name}: the first line must name the columns")
    if len(set(header)) < len(header):
        twice = next(name for name in header if header.count(name) > 1)
        raise InvalidInput(f"{path.name}: column {twice!r} is there twice")
    return header, rows


def _from_cells(cells: Sequence[str]) -> RawColumn:
    if "" not in cells:
        return RawColumn(cells)
    return RawColumn(cells, np.array([cell != "" for cell in cells], np.bool_))


def _read_parquet(path: Path) -> Table:
    # One thread: a few columns are decoded faster than a pool is started for them.
    return _parquet(
        path, lambda parquet: _from_arrow(parquet.read_table(str(path), use_threads=False))
    )


def _parquet_names(path: Path) -> list[str]:
    return _parquet(path, lambda parquet: list(parquet.read_schema(str(path)).names))


def _parquet(path: Path, read: Callable[[Any], T]) -> T:
    try:
        from pyarrow import ArrowException, parquet
    except ModuleNotFoundError as missing:
        raise MissingExtra("parquet", for_what=f"reading {path.name}") from missing
    try:
        return read(parquet)
    except ArrowException as broken:
        raise InvalidInput(f"{path.name}: not a Parquet file: {broken}") from broken


# --- Arrow ----------------------------------------------------------------------------------


def _from_arrow(table: Any) -> Table:
    return {name: _from_arrow_column(table.column(name)) for name in table.column_names}


def _from_arrow_column(chunked: Any) -> RawColumn:
    import pyarrow as pa

    column = chunked.combine_chunks()
    if isinstance(column, pa.ChunkedArray):  # only when there are no chunks at all
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    has_value = None
    if column.null_count:
        has_value = column.is_valid().to_numpy(zero_copy_only=False)
    kind = column.type
    if pa.types.is_fixed_size_list(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return RawColumn(_from_lists(column), has_value)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        dense = column.fill_null(False if pa.types.is_boolean(kind) else 0)
        return RawColumn(dense.to_numpy(zero_copy_only=False), has_value)
    return RawColumn(column.to_pylist(), has_value)


def _from_lists(column: Any) -> Array | list[Any]:
    """[rows, length] when every row is a list of that many plain numbers, else Python lists."""
    import pyarrow as pa

    flat = column.flatten()
    kind = flat.type
    is_plain = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    if column.null_count or flat.null_count or not is_plain or not len(column):
        rows: list[Any] = column.to_pylist()
        return rows
    lengths = column.value_lengths().to_numpy(zero_copy_only=False)
    if (lengths != lengths[0]).any():
        return list(column.to_pylist())
    return np.asarray(flat.to_numpy(zero_copy_only=False)).reshape(len(column), -1)


# --- pandas ---------------------------------------------------------------------------------


def _from_pandas(frame: Any) -> Table:
    if not frame.columns.is_unique:
        raise InvalidInput("the DataFrame has two columns of the same name")
    return {str(name): _from_series(frame[name]) for name in frame.columns}


def _from_series(series: Any) -> RawColumn:
    missing = series.isna().to_numpy(np.bool_)
    has_value = ~missing if missing.any() else None
    values = series.to_numpy()
    if values.dtype.kind in "biuf":
        return RawColumn(values, has_value)
    return RawColumn(series.astype(object).tolist(), has_value)
