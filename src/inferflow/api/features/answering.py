"""Rows of features as the bytes of an answer.

Values of fixed size that stand side by side are written with one array operation each, whatever
the number of rows; a text is written by itself. A row begins with its key as it was asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from inferflow._proto.alike import VALUE, filled, row_form
from inferflow._proto.pool import message_class
from inferflow._proto.writing import field, fields, tag, varint
from inferflow.api.features.gotext import texts_of
from inferflow.api.features.selection import NOT_READ, Column, Selection
from inferflow.dtypes import Array, encode
from inferflow.engine.ports import FeatureRows, GroupRows, ReadState

_Presence = message_class("retrieve.Presence")

_ROW, _DECODED_ROW = tag(4), tag(3)
_VALUE = bytes((VALUE,))
_PRESENCE = tag(1000)
_REAL, _DEFAULT = int(ReadState.REAL), int(ReadState.DEFAULT)


@dataclass(frozen=True, slots=True)
class Found:
    rows: FeatureRows
    """One row per distinct key."""
    count: int
    """Distinct keys."""
    inverse: Array | None
    """Which of them each key of the query is; None where no key comes twice."""


def result(
    selection: Selection,
    keys: Sequence[bytes],
    found: Found,
    presence: bytes,
) -> bytes:
    """A Result for these keys."""
    rows = _rows(_ROW, keys, _bodies(selection, found), found.inverse)
    return selection.result_head + rows + presence


def decoded_result(
    selection: Selection,
    keys: Sequence[bytes],
    found: Found,
    presence: bytes,
) -> bytes:
    """The same as a DecodedResult."""
    columns = [
        fields(_VALUE, _utf8(texts_of(_elements(found.rows, column), column.dtype)))
        for column in _columns(selection, found)
    ]
    rows = _rows(_DECODED_ROW, keys, _joined(columns, found.count), found.inverse)
    return selection.decoded_head + rows + presence


def presence(selection: Selection, found: Found, now_ms: int) -> bytes:
    """Where values come from and when they were written, as a field of either answer."""
    groups = found.rows.groups
    states = np.zeros((found.count, len(selection.columns)), np.uint8)
    for at, column in enumerate(_columns(selection, found)):
        states[:, at] = _states(groups[column.group], column.feature)
    written = np.zeros((found.count, len(selection.group_of_entry)), np.int64)
    for at, number in enumerate(selection.group_of_entry):
        is_read = found.count and number != NOT_READ
        times = groups[number].written_ms if is_read else None
        if times is not None:
            written[:, at] = times
    if found.inverse is not None:
        states, written = states[found.inverse], written[found.inverse]
    message = _Presence(states=states.tobytes(), written_ms=written.ravel().tolist(), now_ms=now_ms)
    return field(_PRESENCE, message.SerializeToString())


def _states(group: GroupRows, feature: str) -> Array | int:
    absent = group.absent.get(feature)
    if absent is None:
        return _REAL if group.states is None else group.states
    found = np.zeros(len(absent), np.uint8) if group.states is None else group.states
    return np.where(absent & (found == _REAL), _DEFAULT, found)


# --- rows -----------------------------------------------------------------------------------


def _rows(
    at: bytes, keys: Sequence[bytes], bodies: Sequence[bytes], inverse: Array | None
) -> bytes:
    if inverse is not None:
        bodies = [bodies[number] for number in inverse.tolist()]
    heads: dict[int, bytes] = {}
    parts: list[bytes] = []
    for key, body in zip(keys, bodies, strict=True):
        size = len(key) + len(body)
        head = heads.get(size)
        if head is None:
            head = heads[size] = at + varint(size)
        parts += (head, key, body)
    return b"".join(parts)


def _columns(selection: Selection, found: Found) -> tuple[Column, ...]:
    """The columns there are values for: none where nothing was asked."""
    return selection.columns if found.count else ()


def _bodies(selection: Selection, found: Found) -> list[bytes]:
    """The columns of each row."""
    segments: list[list[bytes]] = []
    for is_text, columns in groupby(
        _columns(selection, found), lambda column: column.dtype.is_text
    ):
        if is_text:
            segments += [_texts(found.rows, column) for column in columns]
        else:
            segments.append(_fixed(found.rows, list(columns), found.count))
    return _joined(segments, found.count)


def _joined(segments: Sequence[list[bytes]], count: int) -> list[bytes]:
    if len(segments) == 1:
        return segments[0]
    return [b"".join(row) for row in zip(*segments, strict=True)] if segments else [b""] * count


def _fixed(rows: FeatureRows, columns: Sequence[Column], count: int) -> list[bytes]:
    arrays = [_plain(_elements(rows, column)) for column in columns]
    kinds = tuple((array.dtype, array.shape[1:]) for array in arrays)
    pattern, form = row_form(kinds)
    written = bytes(filled(pattern, form, arrays, count))
    size = form.itemsize
    return [written[start : start + size] for start in range(0, len(written), size)]


def _plain(values: Array) -> Array:
    """Bytes in place of the types that numpy itself does not have."""
    return values if values.dtype.isbuiltin == 1 else values.view(np.uint8)


def _texts(rows: FeatureRows, column: Column) -> list[bytes]:
    values = _elements(rows, column)
    return fields(_VALUE, encode(values if column.dtype.is_vector else values[:, 0], column.dtype))


def _elements(rows: FeatureRows, column: Column) -> Array:
    return rows.groups[column.group].runs[column.run][:, column.elements]


def _utf8(texts: Iterable[str]) -> list[bytes]:
    # A text must be UTF-8 on the wire; bytes that are not are shown as what they are not.
    raw = (text.encode("utf-8", "surrogateescape") for text in texts)
    return [text.decode("utf-8", "replace").encode() for text in raw]
