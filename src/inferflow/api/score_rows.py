"""Answers as bytes: one row message per target, pair or slate, written in bulk.

TargetScore, PairScore and SlateScore have the same two fields. Rows that all have the same
length (numbers, none blank, no errors) differ only in their values, so they are written as one
table of bytes; any other row is put together from its fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from inferflow._proto.alike import Kind, filled, row_form
from inferflow._proto.writing import field, fields, tag, varint
from inferflow.api.status import short
from inferflow.dtypes import DType, encode
from inferflow.errors import EngineFault
from inferflow.scores import ScoreColumn, Table

_ERROR, _VALUE = tag(1), tag(2)
_NAME, _DTYPE, _DIM = tag(1), b"\x10", b"\x18"
_KINDS_SHOWN = 3


def schema_bytes(table: Table, at: bytes) -> bytes:
    """One FeatureSchema per column."""
    return b"".join(
        [
            _schema(
                at,
                column.name,
                column.dtype,
                int(column.values.shape[1]) if column.dtype.is_vector else 0,
            )
            for column in table.columns.values()
        ]
    )


@lru_cache(maxsize=4096)
def _schema(at: bytes, name: str, dtype: DType, dim: int) -> bytes:
    written = field(_NAME, utf8(name)) + _DTYPE + varint(dtype.code)
    return field(at, written + _DIM + varint(dim) if dim else written)


def row_bytes(table: Table, at: bytes) -> bytes:
    """One score message per row."""
    columns = list(table.columns.values())
    if any(table.errors):
        return _unequal_rows(columns, table.errors, at)
    for column in columns:
        if column.blank is not None or column.dtype.is_text:
            return _unequal_rows(columns, table.errors, at)
    return _equal_rows(columns, len(table.errors), at)


def _equal_rows(columns: list[ScoreColumn], rows: int, at: bytes) -> bytes:
    pattern, form = row_form(tuple([_kind(column) for column in columns]), at)
    return bytes(filled(pattern, form, [column.values for column in columns], rows))


def _kind(column: ScoreColumn) -> Kind:
    values = column.values
    if values.dtype != column.dtype.numpy:
        raise EngineFault(f"{column.name!r} holds {values.dtype}, not {column.dtype.name}")
    return values.dtype, values.shape[1:]


def _unequal_rows(columns: list[ScoreColumn], errors: Sequence[str], at: bytes) -> bytes:
    texts = {text: field(_ERROR, utf8(short(text))) if text else b"" for text in set(errors)}
    written = [[texts[error] for error in errors]]
    written += [fields(_VALUE, column_bytes(column)) for column in columns]
    return b"".join(fields(at, map(b"".join, zip(*written, strict=True))))


def column_bytes(column: ScoreColumn) -> list[bytes]:
    """The bytes of each row; none where the row is blank."""
    values, blank = column.values, column.blank
    if blank is None:
        return encode(values, column.dtype)
    if column.dtype.is_text:
        values = values.copy()
        values[blank] = ""
    encoded = encode(values, column.dtype)
    for row in np.flatnonzero(blank).tolist():
        encoded[row] = b""
    return encoded


def utf8(text: str) -> bytes:
    """Text for a string field, which must be UTF-8 whatever the text came from."""
    return text.encode("utf-8", "replace")


def failure_of(*tables: Table | None) -> str:
    """Why nothing could be scored: each row of each table has an error and lacks a value.
    Empty when any row came through."""
    for table in tables:
        if table is not None and table.columns and not all(table.errors):
            return ""
    answered = [table for table in tables if table is not None and table.columns]
    if not answered or not all(_lacks_values(table) for table in answered):
        return ""
    causes = list(dict.fromkeys(error for table in answered for error in table.errors))
    more = f"; and {len(causes) - _KINDS_SHOWN} more" if len(causes) > _KINDS_SHOWN else ""
    return short("; ".join(causes[:_KINDS_SHOWN]) + more)


def _lacks_values(table: Table) -> bool:
    """Whether every row lacks a value."""
    masks = [column.blank for column in table.columns.values() if column.blank is not None]
    return bool(masks) and bool(np.logical_or.reduce(masks).all())
