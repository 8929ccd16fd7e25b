"""A read as the bytes of a query. All but the keys is known when a plan is loaded."""

from __future__ import annotations

from collections.abc import Sequence

from inferflow._proto.pool import message_class
from inferflow._proto.writing import fields, tag
from inferflow.engine.ports import FeatureRead, KeyColumns

_Query = message_class("retrieve.Query")
_KEYS, _COLS = tag(4), tag(1)


class FeatureQuery:
    def __init__(self, read: FeatureRead) -> None:
        query = _Query(entity_label=read.entity, keys_schema=read.keys)
        for group in read.groups:
            # One that is wanted in two types is asked for once: the original fills it once.
            labels = dict.fromkeys(label for run in group.runs for label in run.features)
            query.feature_groups.add(label=group.label, feature_labels=labels)
        self._head: bytes = query.SerializeToString()

    def of(self, keys: Sequence[bytes]) -> bytes:
        """The query for keys as `key_messages` writes them."""
        return self._head + b"".join(fields(_KEYS, keys))


def key_messages(keys: KeyColumns) -> list[bytes]:
    """Each key as the bytes of a Keys message; a Row that answers it begins with the same."""
    columns = [fields(_COLS, _utf8(column)) for column in keys]
    if len(columns) == 1:
        return columns[0]
    return [b"".join(parts) for parts in zip(*columns, strict=True)]


def _utf8(column: Sequence[str]) -> list[bytes]:
    try:
        return [text.encode() for text in column]
    except UnicodeEncodeError:
        # Half a surrogate pair has no UTF-8; as a question mark it is a key nobody has stored.
        return [text.encode("utf-8", "replace") for text in column]
