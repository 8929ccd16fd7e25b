"""The bytes of a Predict answer as scores.

An empty value is no value. Of text that cannot be told from an empty text; it is taken for no value
where the row has an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from inferflow._proto import coarse, messages
from inferflow._proto.alike import same_between, value_spans
from inferflow.client.outgoing import Outgoing
from inferflow.dtypes import Array, DType, decode, dtype_by_code
from inferflow.errors import CastFailed, InvalidInput, RemoteFailed
from inferflow.rpc.headers import ARM, CONFIG_VERSION
from inferflow.scores import ScoreColumn, Scores, Table

_ANSWERS = {
    None: coarse.PointWiseResponse,
    "pairs": coarse.PairWiseResponse,
    "slates": coarse.SlateWiseResponse,
}

_MOST_ELEMENTS = 1_000_000

Parts = Sequence[bytes] | Array
"""Values of a column: one `bytes` per row, or [rows, bytes of a value] when all have one length."""


def incoming(
    config_id: str, sent: Outgoing, body: bytes, trailing: Mapping[str, str | bytes]
) -> Scores:
    """Raises RemoteFailed when these bytes are no answer to what was sent."""
    try:
        message = _ANSWERS[sent.grouping].FromString(body)
    except DecodeError:
        raise _odd("these bytes are no answer") from None
    targets = _table(
        message.target_output_schema, message.target_scores, len(sent.ids), message.request_error
    )
    groups = None
    if sent.grouping is not None:
        one = sent.grouping.removesuffix("s")
        groups = _table(
            getattr(message, f"{one}_output_schema"),
            getattr(message, f"{one}_scores"),
            len(sent.members),
            message.request_error,
        )
    return Scores(
        config_id,
        sent.ids,
        targets,
        groups,
        sent.grouping,
        sent.members,
        config_version=str(trailing.get(CONFIG_VERSION, "")),
        arm=str(trailing.get(ARM, "")),
    )


def _odd(what: str) -> RemoteFailed:
    return RemoteFailed("OK", what)


def _table(schema: Any, rows: Any, count: int, request_error: str) -> Table:
    if not rows:
        if len(schema) and not request_error:
            raise _odd(f"no rows, where {count} were asked for")
        return Table({}, [request_error] * count)
    if len(rows) != count:
        raise _odd(f"{len(rows)} rows, where {count} were asked for")
    errors, columns = read_rows(list(rows), len(schema))
    table = {
        entry.name: _column(entry, parts, errors)
        for entry, parts in zip(schema, columns, strict=True)
    }
    return Table(table, errors)


def read_rows(rows: Sequence[bytes], columns: int) -> tuple[list[str], list[Parts]]:
    """The error of each row, and the values of each of so many columns."""
    spans = value_spans(rows[0], 0)
    if spans and len(spans) == columns and set(map(len, rows)) == {len(rows[0])}:
        table = np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), -1)
        if same_between(table, spans):
            return [""] * len(rows), [table[:, start:stop] for start, stop in spans]
    return _read_each(rows, columns)


def _read_each(rows: Sequence[bytes], columns: int) -> tuple[list[str], list[Parts]]:
    errors: list[str] = []
    values: list[list[bytes]] = []
    for position, row in enumerate(rows):
        try:
            score = messages.TargetScore.FromString(row)
        except DecodeError:
            raise _odd(f"row {position} is no score") from None
        given = list(score.output_values)
        if not given and score.error:
            given = [b""] * columns
        if len(given) != columns:
            raise _odd(f"row {position} has {len(given)} values for {columns} columns")
        errors.append(score.error)
        values.append(given)
    return errors, [list(column) for column in zip(*values, strict=True)]


def _column(entry: Any, parts: Parts, errors: Sequence[str]) -> ScoreColumn:
    try:
        dtype = dtype_by_code(entry.data_type)
        values, blank = _values(parts, dtype, entry.vector_dim, errors)
    except CastFailed as failed:
        raise _odd(f"column {entry.name!r}, row {failed.position}: {failed.what}") from None
    except InvalidInput as unknown:
        raise _odd(f"column {entry.name!r}: {unknown}") from None
    return ScoreColumn(entry.name, dtype, values, blank)


def _values(
    parts: Parts, dtype: DType, dim: int, errors: Sequence[str]
) -> tuple[Array, Array | None]:
    elements = _elements(parts, dtype, dim)
    if isinstance(parts, np.ndarray):
        rows, width = parts.shape
        if not dtype.is_text and not dtype.is_bool and width == dtype.size * elements:
            flat = np.frombuffer(parts.tobytes(), dtype.numpy)
            return (flat.reshape(rows, elements) if dtype.is_vector else flat), None
        parts = [row.tobytes() for row in parts]
    if dtype.is_text and not dtype.is_vector:
        blanks = [not part and bool(error) for part, error in zip(parts, errors, strict=True)]
    else:
        blanks = [not part for part in parts]
        if any(blanks):
            # A StringVector of empty texts is a length of zero for each.
            nothing = bytes((dtype.size or 2) * elements)
            parts = [part or nothing for part in parts]
    return decode(parts, dtype, elements), np.array(blanks) if any(blanks) else None


def _elements(parts: Parts, dtype: DType, dim: int) -> int:
    """Elements of a value. Servers need not announce how many a vector has."""
    if not dtype.is_vector:
        return 1
    if not 0 <= dim <= _MOST_ELEMENTS:
        raise InvalidInput(f"a vector cannot have {dim} elements")
    return dim if dim or dtype.is_text else max(map(len, parts)) // dtype.size
