"""Packs the features of a group into rows, and takes runs out of many rows at once.

The head of a row is its layout's version and two flags in one number, so that a reader can
tell with one comparison per row whether it is the plain case: this version, every feature
given, nothing after the row's own end.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct

import numpy as np

from inferflow.dtypes import Array
from inferflow.errors import StoreFailed
from inferflow.featurestore.layout import HEADER_BYTES, Layout, row_dtype

NEVER = int(np.iinfo(np.int64).max)
"""`expires_ms` of a row that stays."""
PARTIAL = 1
"""Flag: at least one feature was never given; the `given` bits say which."""
CARRIES_KEY = 2
"""Flag: the row is followed by the key parts it is stored under the digest of."""
FLAG_BITS = 8
_TIMES = Struct("<8xqq")
"""When a row was written and when it expires."""


def plain_head(version: int) -> int:
    """The head of a row of this version without any flag."""
    return version << FLAG_BITS


def encode_rows(
    layout: Layout,
    version: int,
    runs: Sequence[Array],
    *,
    given: Array | None,
    written_ms: int,
    expires_ms: int,
) -> list[bytes]:
    """One packed row per row of `runs`, which are [rows, width] in the order of `layout.runs`.

    `given` is [rows, features]; None means every feature of every row was.
    """
    count = len(runs[0])
    table = np.zeros(count, row_dtype(layout.fields, layout.size))
    table["head"] = plain_head(version)
    table["written"] = written_ms
    table["expires"] = expires_ms
    if given is None:
        table["given"] = 0xFF
    else:
        table["given"] = np.packbits(given, axis=1, bitorder="little")
        table["head"] |= np.where(given.all(axis=1), 0, PARTIAL).astype(np.uint64)
    tails: list[bytes] | None = None
    for number, (run, values) in enumerate(zip(layout.runs, runs, strict=True)):
        if run.element.is_text:
            table[f"run{number}"], tails = _encode_texts(values)
        elif run.element.is_bool:
            table[f"run{number}"] = np.packbits(values, axis=1, bitorder="little")
        else:
            table[f"run{number}"] = values
    joined, size = table.tobytes(), layout.size
    fixed = [joined[start : start + size] for start in range(0, len(joined), size)]
    return fixed if tails is None else [a + b for a, b in zip(fixed, tails, strict=True)]


def _encode_texts(values: Array) -> tuple[Array, list[bytes]]:
    """Where each text ends in its row's tail, and the tails."""
    count, width = values.shape
    encoded = [text.encode("utf-8", "surrogateescape") for text in values.ravel().tolist()]
    lengths = np.fromiter(map(len, encoded), np.int64, len(encoded)).reshape(count, width)
    tails = [b"".join(encoded[at : at + width]) for at in range(0, count * width, width)]
    return lengths.cumsum(axis=1), tails


def lifetime_ms(row: bytes) -> int | None:
    """How long a row was meant to live when it was written; None for one that stays."""
    if len(row) < HEADER_BYTES:
        return None
    written_ms, expires_ms = _TIMES.unpack_from(row)
    return None if expires_ms == NEVER else max(1, expires_ms - written_ms)


def version_of(row: bytes) -> int:
    """The layout version a row was written with."""
    return int.from_bytes(row[:8], "little") >> FLAG_BITS


def carries_key(row: bytes) -> bool:
    return bool(row[0] & CARRIES_KEY)


def carrying_key(row: bytes, parts: bytes) -> bytes:
    """The row of a key that is stored under its digest."""
    return bytes((row[0] | CARRIES_KEY,)) + row[1:] + parts


def carried_key(layout: Layout, row: bytes) -> bytes:
    """What follows a row's own end."""
    end = layout.size
    if layout.text_run is not None:
        ends = np.frombuffer(row[: layout.size], row_dtype(layout.fields, layout.size))
        end += int(ends[f"run{layout.text_run}"][0, -1])
    return row[end:]


# --- taking apart ---------------------------------------------------------------------------


def join_fixed(layout: Layout, rows: Sequence[bytes]) -> bytes:
    """The fixed parts of rows of one layout, back to back."""
    size = layout.size
    joined = b"".join([row[:size] for row in rows])
    if len(joined) != size * len(rows):
        raise StoreFailed("a stored row is shorter than its layout; the store is damaged")
    return joined


Columns = slice | Array
"""Elements of a run: a slice costs nothing, an index array one copy."""


def elements(
    layout: Layout, number: int, columns: Columns, table: Array, rows: Sequence[bytes]
) -> Array:
    """Some elements of one run, [rows, columns], in the run's element type."""
    run = layout.runs[number]
    stored: Array = table[f"run{number}"]
    if run.element.is_text:
        return _decode_texts(stored, columns, rows, layout.size)
    if run.element.is_bool:
        bits = np.unpackbits(stored, axis=1, count=run.width, bitorder="little")
        stored = bits.view(np.bool_)
    return stored[:, columns]


def given_of(layout: Layout, table: Array) -> Array:
    """[rows, features]: which features were given."""
    bits = np.unpackbits(table["given"], axis=1, count=len(layout.features), bitorder="little")
    return bits.view(np.bool_)


def _decode_texts(ends: Array, columns: Columns, rows: Sequence[bytes], size: int) -> Array:
    stops = ends.astype(np.int64) + size
    starts = np.full_like(stops, size)
    starts[:, 1:] = stops[:, :-1]
    wanted_starts, wanted_stops = starts[:, columns], stops[:, columns]
    texts = np.empty(wanted_stops.size, object)
    texts[:] = [
        row[start:stop].decode("utf-8", "surrogateescape")
        for row, row_starts, row_stops in zip(
            rows, wanted_starts.tolist(), wanted_stops.tolist(), strict=True
        )
        for start, stop in zip(row_starts, row_stops, strict=True)
    ]
    return texts.reshape(wanted_stops.shape)
