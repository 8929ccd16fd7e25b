"""A call that is refused before its message is read.

gRPC takes it for a method with a stream of messages, of which the handler then reads none. To take
a message in costs about as much as to refuse, and a server that refuses has no time for it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

Refuse = Callable[[Any, Any], Awaitable[bytes]]


class Refusing:
    """A handler that ends a call. Nothing is put around it: no check, no span."""

    request_streaming = True
    response_streaming = False
    request_deserializer = None
    response_serializer = None
    unary_unary = None
    unary_stream = None
    stream_stream = None

    def __init__(self, refuse: Refuse) -> None:
        self.stream_unary = refuse
