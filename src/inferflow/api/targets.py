"""Target rows as columns: ids, and the bytes of each value.

Most clients write all targets alike: an id, then values of fixed lengths. Then the end of every
row has the same layout, so one look at the first row tells where each value lies in all of them,
and a column is cut out of the rows at once. Rows that are written in any other way are read
one by one; both ways give the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from google.protobuf.message import DecodeError

from inferflow._proto import messages
from inferflow._proto.alike import same_between, value_spans
from inferflow.api.values import Parts
from inferflow.errors import InvalidRequest

_ID = 0x0A


def read_targets(rows: Sequence[bytes], columns: int) -> tuple[list[str], list[Parts]]:
    """Ids, and the values of each of so many columns. Raises InvalidRequest naming the target."""
    alike = _read_alike(rows, columns) if columns else _read_ids(rows)
    return alike or _read_each(rows, columns)


def _read_each(rows: Sequence[bytes], columns: int) -> tuple[list[str], list[Parts]]:
    ids: list[str] = []
    values: list[list[bytes]] = []
    for position, row in enumerate(rows):
        try:
            target = messages.Target.FromString(row)
        except DecodeError:
            raise InvalidRequest(f"targets[{position}]", "is not a Target message") from None
        given = list(target.feature_values)
        if len(given) != columns:
            raise InvalidRequest(
                f"targets[{position}].feature_values",
                f"{len(given)} value(s) for the {columns} column(s) of target_input_schema",
            )
        ids.append(target.id)
        values.append(given)
    return ids, [list(column) for column in zip(*values, strict=True)]


def _read_ids(rows: Sequence[bytes]) -> tuple[list[str], list[Parts]] | None:
    """The same for targets that are nothing but a short id; None when one is not."""
    try:
        ids = [row[2:].decode() for row in rows if row[0] == _ID and row[1] == len(row) - 2 < 0x80]
    except (IndexError, UnicodeDecodeError):
        return None
    return (ids, []) if len(ids) == len(rows) else None


def _read_alike(rows: Sequence[bytes], columns: int) -> tuple[list[str], list[Parts]] | None:
    """None when the rows are not all written alike."""
    first = rows[0]
    if len(first) < 2 or first[0] != _ID or first[1] > 0x7F:
        return None
    spans = value_spans(first, 2 + first[1])
    if spans is None or len(spans) != columns:
        return None
    tail = spans[-1][1]
    sizes = np.fromiter(map(len, rows), np.int64, len(rows))
    if sizes.min() < 2 + tail:
        return None
    joined = np.frombuffer(b"".join(rows), np.uint8)
    ends = np.cumsum(sizes)
    starts = ends - sizes
    # An id length of 0x80 and more would be the first byte of a longer number.
    lengths = joined[starts + 1]
    if (joined[starts] != _ID).any() or (lengths > 0x7F).any():
        return None
    if (lengths != sizes - tail - 2).any():
        return None
    table = joined[(ends - tail)[:, np.newaxis] + np.arange(tail)]
    if not same_between(table, spans):
        return None
    try:
        ids = [row[2 : len(row) - tail].decode() for row in rows]
    except UnicodeDecodeError:
        return None
    return ids, [table[:, start:stop] for start, stop in spans]
