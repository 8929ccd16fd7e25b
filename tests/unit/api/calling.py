"""Calling handlers as a server would, without one."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc

from inferflow.api.service import ScoringService


class Aborted(Exception):
    """How a call ended that was not answered."""

    def __init__(self, code: grpc.StatusCode, details: str, trailing: Any) -> None:
        super().__init__(f"{code.name}: {details}")
        self.code = code
        self.details = details
        self.trailing = dict(trailing)


class CallContext:
    """What gRPC hands to a handler."""

    def __init__(
        self, metadata: Any = (), left_s: float | None = None, peer: str = "ipv4:127.0.0.1:5000"
    ) -> None:
        self._metadata = metadata
        self._left_s = left_s
        self._peer = peer
        self.trailing: dict[str, str] = {}

    def invocation_metadata(self) -> Any:
        return self._metadata

    def peer(self) -> str:
        return self._peer

    def time_remaining(self) -> float | None:
        return self._left_s

    def set_trailing_metadata(self, metadata: Any) -> None:
        self.trailing = dict(metadata)

    async def abort(self, code: grpc.StatusCode, details: str, trailing: Any = ()) -> None:
        raise Aborted(code, details, trailing)


class Caller:
    """Calls handlers as a server would, without one."""

    def __init__(self, service: ScoringService, *more: grpc.GenericRpcHandler) -> None:
        self._handlers = [*service.handlers(), *more]

    def __call__(
        self,
        path: str,
        message: Any,
        *,
        metadata: Any = (),
        left_s: float | None = None,
        peer: str = "ipv4:127.0.0.1:5000",
    ) -> bytes:
        body = message if isinstance(message, bytes) else message.SerializeToString()
        self.context = CallContext(metadata, left_s, peer)
        return asyncio.run(self.begin(path, body, self.context))

    async def begin(self, path: str, body: bytes, context: CallContext) -> bytes:
        details = _Details(path)
        for handler in self._handlers:
            found: Any = handler.service(details)
            if found is not None:
                if found.request_streaming:  # it refuses, and reads nothing
                    return bytes(await found.stream_unary(None, context))
                answer: bytes = await found.unary_unary(body, context)
                return answer
        raise AssertionError(f"nobody handles {path}")


class _Details:
    def __init__(self, path: str) -> None:
        self.method = path
        self.invocation_metadata = ()
