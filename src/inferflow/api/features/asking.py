"""The keys of a query. They stay bytes as far as possible: an answer repeats them as they came."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from inferflow._proto.coarse import RetrieveQuery
from inferflow._proto.pool import message_class
from inferflow.api.features.selection import Groups
from inferflow.dtypes import Array
from inferflow.engine.ports import KeyColumns
from inferflow.errors import InvalidRequest

_Keys = message_class("retrieve.Keys")

_COLS = 0x0A
_SHORT = 0x80
"""Lengths below it take one byte."""


@dataclass(frozen=True, slots=True)
class Asked:
    entity: str
    groups: Groups
    keys_schema: tuple[str, ...]
    keys: Sequence[bytes]
    """One Keys message per row of the answer."""


def parse_query(body: bytes) -> Asked:
    query = parsed(RetrieveQuery, body)
    groups = tuple((group.label, tuple(group.feature_labels)) for group in query.feature_groups)
    return Asked(query.entity_label, groups, tuple(query.keys_schema), query.keys)


def parsed(message: Any, body: bytes) -> Any:
    try:
        return message.FromString(body)
    except DecodeError:
        name = message.DESCRIPTOR.full_name
        raise InvalidRequest("request", f"these bytes are not a {name} message") from None


def distinct(keys: Sequence[bytes]) -> tuple[Sequence[bytes], Array | None]:
    """Each key once, and which of them every row has; None where no key comes twice."""
    place = {key: at for at, key in enumerate(dict.fromkeys(keys))}
    if len(place) == len(keys):
        return keys, None
    return list(place), np.fromiter((place[key] for key in keys), np.intp, len(keys))


def key_columns(keys: Sequence[bytes], names: Sequence[str]) -> KeyColumns:
    """One column of texts per name. Raises InvalidRequest with the key that is not so."""
    try:
        if len(names) == 1 and all(map(_is_one_short, keys)):
            return ([key[2:].decode() for key in keys],)
        rows = [_Keys.FromString(key).cols for key in keys]
    except (UnicodeDecodeError, DecodeError):
        raise InvalidRequest("keys", "there is one that is not UTF-8 text") from None
    for row in rows:
        if len(row) != len(names):
            raise InvalidRequest(
                "keys", f"{list(row)} has {len(row)} value(s) for {', '.join(names)}"
            )
    return tuple(list(column) for column in zip(*rows, strict=True))


def _is_one_short(key: bytes) -> bool:
    return len(key) > 1 and key[0] == _COLS and key[1] == len(key) - 2 < _SHORT
