"""Calls of the Open Inference Protocol passed on as they are, to one server or to several that
answer alike. What the server says is what the caller is told: nothing is read on the way."""

from __future__ import annotations

from typing import Any

import grpc

from inferflow._proto.pool import message_class
from inferflow.client.failures import Refusal, error_of
from inferflow.client.oip.line import INFER
from inferflow.rpc.channel import open_channel
from inferflow.rpc.options import MIB, ChannelOptions
from inferflow.rpc.tls_channel import ChannelTls

SERVICE = "inference.GRPCInferenceService"
Headers = tuple[tuple[str, str], ...]

_Infer = message_class("inference.ModelInferRequest")


class Relay:
    """For the event loop it was made in."""

    def __init__(
        self, addresses: str, *, max_answer_mb: int = 64, tls: ChannelTls | None = None
    ) -> None:
        self.addresses = addresses
        options = ChannelOptions(max_receive_bytes=max_answer_mb * MIB, attempts=2, tls=tls)
        self._channel = open_channel(addresses, options)
        self._infer: Any = self._channel.unary_unary(INFER)

    async def infer(
        self, model: str, version: str, body: bytes, *, headers: Headers, deadline_ms: float
    ) -> bytes:
        """The bytes of an answer to a request that names no version of its own."""
        named: bytes = _Infer(model_version=version).SerializeToString()
        answer: bytes = await self._told(self._infer, named + body, model, headers, deadline_ms)
        return answer

    async def ask(self, method: str, request: Any, *, headers: Headers, deadline_ms: float) -> Any:
        """The answer of any other call, as a message."""
        about = getattr(request, "name", "") or getattr(request, "model_name", "")
        call: Any = self._channel.unary_unary(f"/{SERVICE}/{method}")
        body = await self._told(call, request.SerializeToString(), about, headers, deadline_ms)
        return message_class(f"inference.{method}Response").FromString(body)

    async def _told(
        self, call: Any, body: bytes, about: str, headers: Headers, deadline_ms: float
    ) -> bytes:
        try:
            answer: bytes = await call(body, timeout=deadline_ms / 1000, metadata=headers)
        except grpc.aio.AioRpcError as refused:
            raise relayed_error(refused, about, self.addresses, deadline_ms) from refused
        return answer

    async def close(self) -> None:
        """Calls under way are cancelled."""
        await self._channel.close()


def relayed_error(refused: Any, about: str, addresses: str, budget_ms: float) -> Exception:
    return error_of(
        Refusal(
            refused.code(),
            refused.details() or "",
            dict(refused.trailing_metadata() or ()),
            about,
            addresses,
            budget_ms,
            1,
            what="model",
        )
    )
