"""Requests with more entries than any may have, told from their bytes alone.

An entry takes two bytes on the wire and many times that once a message is made of it. So the
entries of a large request are counted before: one that has too many is refused in the memory it
came in. Small requests cannot do much harm and are not looked at.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from inferflow.engine.limits import Limits
from inferflow.errors import InvalidRequest

LARGE_BYTES = 1 << 20
_FURTHEST = 200_000
"""Entries that are looked at; who spreads more of them over many messages is left to the parser,
in as many threads as there are processors."""

_LIMITS = {
    "targets": "targets",
    "pairs": "pairs",
    "slates": "slates",
    "context_features": "features",
    "target_input_schema": "features",
    "pair_input_schema": "features",
    "slate_input_schema": "features",
    "entities": "features",
    "ids": "targets",
    "features": "features",
}
"""Of fields that have one of their own."""
_SIZES = {1: 8, 5: 4}
_VARINT, _TEXT = 0, 2


def check_crowding(body: bytes, message: Any, limits: Limits) -> None:
    """Refuse the bytes of a `message` one of whose fields has more entries than its limit, or than
    any limit. Bytes that make no sense are somebody else's to refuse. Raises InvalidRequest."""
    if len(body) >= LARGE_BYTES:
        with suppress(IndexError, _Enough):
            _Count(limits).look(body, 0, len(body), message.DESCRIPTOR, "")


class _Enough(Exception):  # not an error: there is nothing more to look at
    pass


class _Count:
    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._left = _FURTHEST

    def look(self, body: bytes, at: int, end: int, kind: Any, place: str) -> None:
        """Count the fields of one message, and of those that are right inside of it."""
        room: dict[int, int] = {}
        inside = {} if place else _inside(kind)
        while at < end:
            self._left -= 1
            if self._left < 0:
                raise _Enough
            tag, at = _varint(body, at)
            number = tag >> 3
            left = room.get(number)
            if left is None:
                left = self._allowed(kind, number)
            elif left == 0:
                raise self._too_many(kind.fields_by_number[number].name, place)
            room[number] = left - 1
            wire = tag & 7
            if wire == _TEXT:
                size, at = _varint(body, at)
                if number in inside:
                    field = inside[number]
                    self.look(body, at, at + size, field.message_type, f"{field.name}.")
                at += size
            elif wire == _VARINT:
                at = _varint(body, at)[1]
            elif wire in _SIZES:
                at += _SIZES[wire]
            else:
                raise _Enough

    def _allowed(self, kind: Any, number: int) -> int:
        """As many as nobody counts, for a field that is not declared and kept as it came."""
        field, limits = kind.fields_by_number.get(number), self._limits
        if field is None:
            return _FURTHEST
        if field.name in _LIMITS:
            return int(getattr(limits, _LIMITS[field.name]))
        return max(limits.targets, limits.pairs, limits.slates)

    def _too_many(self, field: str, place: str) -> InvalidRequest:
        limit = _LIMITS.get(field)
        allowed = f"the limit max_{limit}={getattr(self._limits, limit)}" if limit else "any limit"
        return InvalidRequest(f"{place}{field}", f"there are more than {allowed}")


def _inside(kind: Any) -> dict[int, Any]:
    return {field.number: field for field in kind.fields if field.message_type is not None}


def _varint(body: bytes, at: int) -> tuple[int, int]:
    first = body[at]
    if first < 0x80:  # nearly all of them
        return first, at + 1
    value, shift = 0, 0
    while True:
        part = body[at]
        at += 1
        value |= (part & 0x7F) << shift
        if part < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise _Enough
