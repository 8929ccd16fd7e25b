"""A body as its JSON part and the bytes behind it (the binary tensor extension)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from inferflow.api.gateway.score_json import parsed
from inferflow.errors import InvalidRequest

LENGTH = "inference-header-content-length"
BINARY = "application/octet-stream"
JSON = "application/json"

_MOST_DIGITS = 18
"""More than any body is long, and fewer than Python refuses to read."""


@dataclass(frozen=True, slots=True)
class Split:
    document: Any
    """None for a request that is one bare tensor."""
    blobs: memoryview


def split_body(body: bytes, length: str | None) -> Split:
    """`length` is the header's value. Raises InvalidRequest."""
    if length is None:
        return Split(parsed(body), memoryview(b""))
    is_number = length.isascii() and length.isdecimal() and len(length) <= _MOST_DIGITS
    if not is_number or int(length) > len(body):
        raise InvalidRequest(LENGTH, f"{length[:20]!r} is no length of a part of {len(body)} bytes")
    if int(length) == 0:
        return Split(None, memoryview(body))
    at = int(length)
    return Split(parsed(body[:at]), memoryview(body)[at:])


@dataclass(frozen=True, slots=True)
class Joined:
    body: bytes
    headers: dict[str, str]
    media_type: str


def join_body(document: dict[str, Any], blobs: Sequence[bytes]) -> Joined:
    """An answer: JSON alone, or JSON with bytes behind it and a header that says where it ends."""
    head = orjson.dumps(document, option=orjson.OPT_SERIALIZE_NUMPY)
    if not blobs:
        return Joined(head, {}, JSON)
    return Joined(b"".join((head, *blobs)), {LENGTH: str(len(head))}, BINARY)
