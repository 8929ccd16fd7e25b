"""Bytes as a message, or a clear word why they are none."""

from __future__ import annotations

from typing import Any

from google.protobuf.message import DecodeError

from inferflow.errors import InvalidRequest


def parse(message: Any, body: bytes) -> Any:
    """A message from its bytes. Raises InvalidRequest."""
    try:
        return message.FromString(body)
    except DecodeError:
        what = f"these bytes are not a {message.DESCRIPTOR.name} message"
        raise InvalidRequest("request", what) from None
