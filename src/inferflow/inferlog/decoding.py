"""Messages of the inference log, read back: whoever wrote them, in any of the formats.

A message does not say what its columns are; whoever reads it is asked for the schema of a config
and version, and of a digest where the message carries one. A missing number is not told apart
from zero in the proto format; the row is only known to lack something.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from inferflow._proto.messages import InferflowLog, KafkaRequest
from inferflow.dtypes import DType
from inferflow.errors import InvalidInput
from inferflow.inferlog import message
from inferflow.inferlog.arrow import parquet, pyarrow
from inferflow.inferlog.schema import LogField, LogSchema
from inferflow.inferlog.zstd import MAGIC, decompressed

FindSchema = Callable[[str, int, str], LogSchema]
"""The columns of a config and version; by digest, where that is not empty. Raises NotFound."""

Columns = dict[str, list[Any]]

_EVENT_ROWS = {event: rows for rows, event in message.EVENTS.items()}


@dataclass(slots=True)
class LoggedRows:
    """Rows of one request, as far as one message has them."""

    config_id: str
    version: int
    format: str
    user_id: str
    tracking_id: str
    rows: str
    """What they are: targets, pairs or slates."""
    ids: list[str]
    columns: dict[str, list[Any]]
    is_whole: list[bool]
    """Per row, whether every value was there when it was written."""
    parent_entity: str = ""
    at: int | None = None
    """Seconds since the epoch; None without an envelope."""
    config_version: str = ""
    experiment: str = ""
    models: dict[str, str] = field(default_factory=dict)
    """model step → endpoint@version."""

    def to_dicts(self) -> list[dict[str, Any]]:
        """One object per row, as a file of the log would have it."""
        names = list(self.columns)
        about = {
            "_at": self.at,
            "_config_id": self.config_id,
            "_config_version": self.config_version,
            "_experiment": self.experiment or None,
            "_user_id": self.user_id,
            "_tracking_id": self.tracking_id,
            "_parent_entity": self.parent_entity or None,
            "_rows": self.rows,
            "_models": self.models,
        }
        values = zip(*self.columns.values(), strict=True) if names else [() for _ in self.ids]
        return [
            {**about, "_id": row_id, **dict(zip(names, row, strict=True))}
            for row_id, row in zip(self.ids, values, strict=True)
        ]


def decode_message(
    value: bytes, find: FindSchema | None, headers: Mapping[str, str] | None = None
) -> LoggedRows:
    """A message with or without its envelope. Raises InvalidInput when it is neither. Nobody to
    `find` a schema: then without its columns."""
    headers = headers or {}
    envelope = _envelope(value)
    log = _parsed(InferflowLog, _plain(value if envelope is None else envelope.properties.value))
    if len(log.metadata) != 1:
        raise InvalidInput("this is no message of the inference log: it has no metadata byte")
    packed = log.metadata[0]
    if packed >> 6 >= len(message.FORMATS):
        raise InvalidInput(f"format {packed >> 6} of the inference log is not known")
    format, version = message.FORMATS[packed >> 6], packed >> 2 & 0xF
    columns: Columns = {}
    is_whole: list[bool] = []
    if find is not None:
        schema = find(log.model_config_id, version, headers.get(message.SCHEMA, ""))
        blobs = [each.encoded_features for each in log.features]
        columns, is_whole = _READERS[format](blobs, schema)
    event = "" if envelope is None else envelope.event_name
    return LoggedRows(
        config_id=log.model_config_id,
        version=version,
        format=format,
        user_id=log.user_id,
        tracking_id=log.tracking_id,
        rows=headers.get(message.ROWS) or _EVENT_ROWS.get(event, "targets"),
        ids=list(log.entities),
        columns=columns,
        is_whole=is_whole,
        parent_entity=next(iter(log.parent_entity), ""),
        at=None if envelope is None else envelope.created_at,
        config_version=headers.get(message.CONFIG_VERSION, ""),
        experiment=headers.get(message.EXPERIMENT, ""),
        models=json.loads(headers.get(message.MODELS, "{}")),
    )


def log_of(value: bytes) -> bytes:
    """The log inside an envelope, or what was given when it has none: what other decoders take."""
    envelope = _envelope(value)
    inner: bytes = value if envelope is None else envelope.properties.value
    return inner


def _envelope(value: bytes) -> Any | None:
    try:
        request = KafkaRequest.FromString(value)
    except DecodeError:
        return None
    is_ours = request.value.properties.type_url == message.TYPE_URL
    return request.value if is_ours else None


def _parsed(kind: Any, value: bytes) -> Any:
    try:
        return kind.FromString(value)
    except DecodeError:
        raise InvalidInput("these bytes are no message of the inference log") from None


def _plain(value: bytes) -> bytes:
    return decompressed(value) if value.startswith(MAGIC) else value


# --- the formats ----------------------------------------------------------------------------


def _proto_columns(blobs: Sequence[bytes], schema: LogSchema) -> tuple[Columns, list[bool]]:
    rows = [_proto_row(blob, schema.fields) for blob in blobs]
    columns = {
        each.name: [row[number] for row in rows] for number, each in enumerate(schema.fields)
    }
    return columns, [blob[:1] == b"\x01" for blob in blobs]


def _proto_row(blob: bytes, fields: Sequence[LogField]) -> list[Any]:
    at, row = 1, []
    for each in fields:
        size = each.dtype.size
        if each.dtype.is_vector or each.dtype.is_text:
            size = int.from_bytes(blob[at : at + 2], "little")
            at += 2
        cell = blob[at : at + size]
        if len(cell) != size:
            raise InvalidInput(f"a logged row ends within {each.name!r}: another schema wrote it")
        row.append(_value(cell, each.dtype))
        at += size
    if at != len(blob):
        raise InvalidInput("a logged row is longer than its schema says: another one wrote it")
    return row


def _arrow_columns(blobs: Sequence[bytes], schema: LogSchema) -> tuple[Columns, list[bool]]:
    pa = pyarrow("the arrow format of the inference log")
    with pa.ipc.open_stream(io.BytesIO(_one(blobs))) as stream:
        table = stream.read_all()
    _check_width(table.num_columns, schema)
    return _typed([column.to_pylist() for column in table.columns], schema)


def _parquet_columns(blobs: Sequence[bytes], schema: LogSchema) -> tuple[Columns, list[bool]]:
    pq = parquet("the parquet format of the inference log")
    table = pq.read_table(io.BytesIO(_one(blobs)))
    rows = [dict(row) for row in table.column("Features").to_pylist()]
    _check_width(max(map(len, rows), default=0), schema)
    return _typed([[row.get(n) for row in rows] for n in range(len(schema.fields))], schema)


_READERS = {"proto": _proto_columns, "arrow": _arrow_columns, "parquet": _parquet_columns}


def _one(blobs: Sequence[bytes]) -> bytes:
    if len(blobs) != 1:
        raise InvalidInput(f"a message of this format has one part, not {len(blobs)}")
    return blobs[0]


def _check_width(columns: int, schema: LogSchema) -> None:
    if columns != len(schema.fields):
        raise InvalidInput(
            f"a message with {columns} columns does not fit a schema of {len(schema.fields)}"
        )


def _typed(cells: Sequence[list[bytes | None]], schema: LogSchema) -> tuple[Columns, list[bool]]:
    columns = {
        each.name: [None if not cell else _value(cell, each.dtype) for cell in column]
        for each, column in zip(schema.fields, cells, strict=True)
    }
    return columns, [all(row) for row in zip(*cells, strict=True)]


def _value(cell: bytes, dtype: DType) -> Any:
    if dtype.is_vector and not cell:
        return None
    if dtype.is_text:
        text = cell.decode("utf-8", "replace")
        return json.loads(text) if dtype.is_vector and text.startswith("[") else text
    values = np.frombuffer(cell, dtype.numpy)
    is_known = values.dtype.kind in "fiub" and values.dtype.isbuiltin == 1
    listed: list[Any] = (values if is_known else values.astype(np.float32)).tolist()
    return listed if dtype.is_vector else listed[0]
