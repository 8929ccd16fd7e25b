"""Writing protobuf's wire format: length-delimited fields, one at a time or a column at once."""

from __future__ import annotations

from collections.abc import Iterable

_LENGTH_DELIMITED = 2


def varint(number: int) -> bytes:
    """A number that is not negative, seven bits per byte, the lowest first."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def tag(field: int) -> bytes:
    """What stands before a string, bytes or message field."""
    return varint(field << 3 | _LENGTH_DELIMITED)


_SHORT = [varint(length) for length in range(4096)]
"""Lengths that are common enough to be written down."""


def length_of(payload: bytes) -> bytes:
    return _SHORT[len(payload)] if len(payload) < len(_SHORT) else varint(len(payload))


def field(tag: bytes, payload: bytes) -> bytes:
    return tag + length_of(payload) + payload


def fields(tag: bytes, payloads: Iterable[bytes]) -> list[bytes]:
    """The same field once per payload."""
    return [tag + length_of(payload) + payload for payload in payloads]
