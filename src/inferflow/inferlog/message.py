"""A logged request as messages: rows of one format, a byte about them, and the envelope.

The messages are those of the original, byte for byte. What the original does not tell goes beside
them as headers: the config's version, the schema's digest, what the rows are, and which endpoint
and model version answered. Pairs and slates are messages of their own, with an event name of
their own, so that whoever only knows targets meets nothing unknown.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np

from inferflow._proto.writing import field, fields, length_of, tag, varint
from inferflow.inferlog.cells import utf8
from inferflow.inferlog.columnar import arrow_stream, parquet_file
from inferflow.inferlog.rows import RowLayout, Rows, row_layout
from inferflow.inferlog.taken import PlanLog, Taken, spaces_of
from inferflow.inferlog.zstd import compressor
from inferflow.plan.plan import Space

Format = Literal["proto", "arrow", "parquet"]
FORMATS: tuple[Format, ...] = ("proto", "arrow", "parquet")
"""By their number in the metadata byte."""

EVENTS = {
    "targets": "inferflow_inference_logs",
    "pairs": "inferflow_pair_logs",
    "slates": "inferflow_slate_logs",
}
TYPE_URL = "type.googleapis.com/InferflowLog"
CONFIG_VERSION = "inferflow-config-version"
SCHEMA = "inferflow-schema"
ROWS = "inferflow-rows"
MODELS = "inferflow-models"
EXPERIMENT = "inferflow-experiment"

_USER, _TRACKING, _CONFIG, _ENTITY, _FEATURES, _METADATA, _PARENT = map(tag, range(1, 8))
_ENCODED = tag(1)
_EVENT, _EVENT_ID, _PROPERTIES, _EVENT_USER = tag(1), tag(2), tag(4), tag(5)
_CREATED_AT = varint(3 << 3)
_PACKED_TYPE, _PACKED_VALUE = field(tag(1), TYPE_URL.encode()), tag(2)
_ENVELOPE = tag(1)
_MOST_HEADERS = 256
_SHORT = 0x7F
"""The longest length that is a letter of one byte."""
_BEFORE = [_ENTITY.decode() + chr(length) for length in range(_SHORT + 1)]
"""What comes before an id of so many letters."""

Headers = tuple[tuple[str, str], ...]
_Which = tuple[str, str, tuple[tuple[str, tuple[str, str]], ...]]
"""What rows are, the experiment, and what answered each model step."""


@dataclass(frozen=True, slots=True)
class LogMessage:
    config_id: str
    value: bytes
    """The envelope with the log in it."""
    headers: Headers
    rows: int


def metadata_byte(version: int, format: Format, *, compressed: bool = False) -> bytes:
    """Bit 0: compressed; bits 2 to 5: schema version; bits 6 and 7: format."""
    return bytes([compressed | (version & 0xF) << 2 | FORMATS.index(format) << 6])


class MessageWriter:
    """Writes the messages of one config's requests."""

    def __init__(
        self,
        log: PlanLog,
        format: Format = "proto",
        *,
        compressed: bool = False,
        largest: int = 900_000,
    ) -> None:
        self._log = log
        self._format = format
        self._largest = largest
        self._compress = compressor() if compressed else None
        self._layouts: dict[Space, RowLayout] = {
            "target": row_layout(log.placed, "target"),
            "slate": row_layout(log.placed, "slate"),
        }
        self._known_headers: dict[_Which, Headers] = {}
        self._config = field(_CONFIG, utf8(log.plan.config_id))
        self._metadata = field(
            _METADATA, metadata_byte(log.schema.version, format, compressed=compressed)
        )

    def write(self, taken: Taken) -> list[LogMessage]:
        """Targets first. No message is larger than it may be, unless a single row is."""
        written: list[LogMessage] = []
        for space in spaces_of(taken.run):
            headers = self._headers(taken, space)
            for log, rows in self._logs(taken, space):
                value = _envelope(taken, taken.kind(space), log)
                written.append(LogMessage(taken.config_id, value, headers, rows))
        return written

    def _headers(self, taken: Taken, space: Space) -> Headers:
        """What is told beside the log, written once for requests that were answered alike."""
        which = (taken.kind(space), taken.experiment, tuple(taken.models().items()))
        found = self._known_headers.get(which)
        if found is None:
            if len(self._known_headers) >= _MOST_HEADERS:
                self._known_headers.clear()
            found = self._known_headers[which] = _headers(taken.log, *which)
        return found

    def _logs(self, taken: Taken, space: Space) -> list[tuple[bytes, int]]:
        """The log itself and the number of its rows, batch by batch."""
        run = taken.run
        rows = self._layouts[space].encode(run.matrix) if self._format == "proto" else None
        ids = _row_names(taken, space)
        head = _given(_USER, taken.user_id) + _given(_TRACKING, run.request.tracking_id)
        head += self._config
        tail = self._metadata + _given(_PARENT, run.request.parent_entity)

        def logs(part: slice) -> list[tuple[bytes, int]]:
            features = self._features(taken, space, rows, part)
            log = b"".join((head, entities(ids[part]), *features, tail))
            count = part.stop - part.start
            if len(log) > self._largest and count > 1:
                middle = part.start + count // 2
                return logs(slice(part.start, middle)) + logs(slice(middle, part.stop))
            return [(log if self._compress is None else self._compress(log), count)]

        size, total = self._log.plan.log.batch_size, len(ids)
        parts = [slice(start, min(start + size, total)) for start in range(0, total, size)]
        return [log for part in parts for log in logs(part)]

    def _features(
        self, taken: Taken, space: Space, rows: Rows | None, part: slice
    ) -> Sequence[bytes]:
        if rows is not None:
            return per_entity(rows[part])
        encode = arrow_stream if self._format == "arrow" else parquet_file
        encoded = encode(self._log.placed, taken.run.matrix, space, part)
        return [field(_FEATURES, field(_ENCODED, encoded))]


def per_entity(rows: Rows) -> Sequence[bytes]:
    """Each row as a message of its own. All at once where they have the same length."""
    if not isinstance(rows, np.ndarray):
        return fields(_FEATURES, fields(_ENCODED, rows))
    inner = _ENCODED + varint(rows.shape[1])
    before = np.frombuffer(_FEATURES + varint(len(inner) + rows.shape[1]) + inner, np.uint8)
    joined = np.empty((len(rows), len(before) + rows.shape[1]), np.uint8)
    joined[:, : len(before)] = before
    joined[:, len(before) :] = rows
    return [joined.tobytes()]


def _row_names(taken: Taken, space: Space) -> Sequence[str]:
    ids = taken.ids(space)
    if space == "target":
        return cast(Sequence[str], ids)
    return [json.dumps(each, ensure_ascii=False) for each in ids]


def entities(names: Sequence[str]) -> bytes:
    """The ids of rows, each as a field. Short ones of plain letters are joined as text, with
    their lengths as letters."""
    if max(map(len, names)) <= _SHORT and "".join(names).isascii():
        return "".join([_BEFORE[len(name)] + name for name in names]).encode()
    return b"".join(fields(_ENTITY, [name.encode("utf-8", "replace") for name in names]))


def _given(tag: bytes, text: str) -> bytes:
    """A field of text, which is left out when it is empty."""
    return field(tag, text.encode("utf-8", "replace")) if text else b""


def _envelope(taken: Taken, kind: str, log: bytes) -> bytes:
    request = taken.run.request
    packed = _PACKED_TYPE + _PACKED_VALUE + length_of(log) + log
    value = b"".join(
        (
            _given(_EVENT, EVENTS[kind]),
            _given(_EVENT_ID, request.tracking_id),
            _CREATED_AT + varint(int(taken.at)),
            _PROPERTIES + length_of(packed) + packed,
            _given(_EVENT_USER, taken.user_id),
        )
    )
    return _ENVELOPE + length_of(value) + value


def _headers(
    log: PlanLog, kind: str, experiment: str, used: Sequence[tuple[str, tuple[str, str]]]
) -> Headers:
    models = {step: f"{endpoint}@{version}" for step, (endpoint, version) in used}
    headers = (
        (CONFIG_VERSION, log.plan.digest),
        (SCHEMA, log.digest),
        (ROWS, kind),
        (MODELS, json.dumps(models)),
    )
    return (*headers, (EXPERIMENT, experiment)) if experiment else headers
