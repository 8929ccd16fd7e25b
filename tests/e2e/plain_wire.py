"""Protobuf's wire format in a page, written from field numbers and nothing else.

It shares no code and no generated file with the package or the protos, so the requests kept in
`wire/*.hex` say what a client of the original protocol sends, whatever happens to the protos here.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any


def number(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def data(field: int, value: bytes | str) -> bytes:
    """A string, bytes or message field."""
    raw = value.encode() if isinstance(value, str) else value
    return number(field << 3 | 2) + number(len(raw)) + raw


def integer(field: int, value: int) -> bytes:
    """An int32 or enum field; left out when it is 0, as proto3 does."""
    return number(field << 3) + number(value) if value else b""


def fp32(value: float) -> bytes:
    return struct.pack("<f", value)


def int32(value: int) -> bytes:
    return struct.pack("<i", value)


def read(message: bytes) -> Iterator[tuple[int, Any]]:
    """(field, value) in the order they were written."""
    at = 0

    def varint() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        elif key & 7 == 2:
            length = varint()
            at += length
            yield key >> 3, message[at - length : at]
        else:
            raise AssertionError(f"wire type {key & 7} in an answer")


def every(message: bytes, field: int) -> list[Any]:
    return [value for found, value in read(message) if found == field]
