"""Reads of a store, and the same through the wire without a network."""

from __future__ import annotations

from typing import Any

import numpy as np

from inferflow.api.features import answering
from inferflow.api.features.asking import distinct, key_columns, parse_query
from inferflow.api.features.selection import select
from inferflow.client.features.answer import AnswerReader
from inferflow.client.features.expected import expected_groups
from inferflow.client.features.query import FeatureQuery, key_messages
from inferflow.engine.deadline import Deadline
from inferflow.engine.ports import FeatureRead, FeatureRows, GroupRows
from inferflow.engine.scorer import finish
from inferflow.featurestore import FeatureStore


def served(store: FeatureStore, body: bytes, *, presence: bool = True) -> bytes:
    """The bytes a service of ours answers a query with."""
    asked = parse_query(body)
    selection = select(store.schema, asked.entity, asked.groups, asked.keys_schema)
    keys, inverse = distinct(asked.keys)
    columns = key_columns(keys, asked.keys_schema)
    rows = finish(store.prepare(selection.read).fetch(columns, deadline=Deadline(None)))
    found = answering.Found(rows, len(keys), inverse)
    told = answering.presence(selection, found, 0) if presence else b""
    return answering.result(selection, asked.keys, found, told)


def embedded(store: FeatureStore, read: FeatureRead, *keys: list[str]) -> FeatureRows:
    return finish(store.prepare(read).fetch(keys, deadline=Deadline(None)))


def reader(store: FeatureStore, read: FeatureRead) -> AnswerReader:
    return AnswerReader("there:1", expected_groups(read, store.schema))


def remote(store: FeatureStore, read: FeatureRead, *keys: list[str], **how: Any) -> FeatureRows:
    messages = key_messages(keys)
    body = served(store, FeatureQuery(read).of(messages), **how)
    return reader(store, read).read(body, messages)


def plain(rows: FeatureRows) -> list[dict[str, Any]]:
    """Everything that is said about rows, as values that can be compared."""
    return [_plain_group(group) for group in rows.groups]


def _plain_group(group: GroupRows) -> dict[str, Any]:
    states = group.states
    return {
        "runs": [
            run.tolist() if run.dtype == object else (run.dtype, run.tobytes())
            for run in group.runs
        ],
        "states": None if states is None or not states.any() else states.tolist(),
        "absent": {name: mask.tolist() for name, mask in group.absent.items() if mask.any()},
        "written": None if group.written_ms is None else np.asarray(group.written_ms).tolist(),
    }
