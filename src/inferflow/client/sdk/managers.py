"""Asking a manager where a model is served. Any of several may answer.

The one that answered last is asked first. One that is away, or does not answer soon, is passed over
for the next; only the last is waited for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import grpc
from google.protobuf.message import DecodeError

from inferflow._proto.pool import message_class
from inferflow.client.failures import AWAY
from inferflow.client.sdk.refusals import error_from
from inferflow.client.sdk.sessions import Session, Wanted, lifetime
from inferflow.client.sdk.workers import Workers
from inferflow.engine.deadline import Clock
from inferflow.errors import InferflowError, InvalidInput, ModelUnavailable, RemoteFailed
from inferflow.rpc.channel import open_channel
from inferflow.rpc.headers import AUTHORIZATION
from inferflow.rpc.options import ChannelOptions
from inferflow.rpc.tls_channel import ChannelTls

DISCOVER = "/inferflow.serving.v1.Discovery/Discover"
TIMEOUT_S = 5.0
"""How long the last manager may take."""
SOON_S = 0.4
"""How long any other may."""

_Request = message_class("inferflow.serving.v1.DiscoverRequest")
_Response = message_class("inferflow.serving.v1.DiscoverResponse")
_Infer = message_class("inference.ModelInferRequest")

_PASSED_OVER = (*AWAY, grpc.StatusCode.DEADLINE_EXCEEDED)


def listed(addresses: str | Sequence[str]) -> list[str]:
    """Addresses given as text with commas, or one by one."""
    parts = addresses.split(",") if isinstance(addresses, str) else addresses
    found = [part.strip().removeprefix("manager://") for part in parts]
    if not all(found) or not found:
        raise InvalidInput("managers: at least one address is wanted, as host:port")
    return found


def key_header(key: str) -> tuple[tuple[str, str], ...]:
    """Raises InvalidInput for what no header can carry."""
    if not key:
        return ()
    if not (key.isascii() and key.isprintable()):
        raise InvalidInput("key: an API key is printable ASCII text")
    return ((AUTHORIZATION, f"Bearer {key}"),)


class Managers:
    """For one event loop."""

    def __init__(
        self,
        addresses: Sequence[str],
        key: str,
        workers: Workers,
        *,
        tls: ChannelTls | None = None,
        clock: Clock,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.addresses = ", ".join(addresses)
        self._headers = key_header(key)
        self._workers = workers
        self._clock = clock
        self._wall = wall
        options = ChannelOptions(attempts=1, tls=tls)
        self._channels = {address: open_channel(address, options) for address in addresses}
        self._calls: dict[str, Any] = {
            address: channel.unary_unary(DISCOVER) for address, channel in self._channels.items()
        }
        self._order = list(addresses)

    async def discover(self, wanted: Wanted, avoid: tuple[str, ...]) -> Session:
        """Raises NotFound, Unauthenticated, PermissionDenied, RateLimited in the form of
        Overloaded, ModelUnavailable, InvalidRequest or RemoteFailed."""
        body = _Request(
            model=wanted.model,
            version=wanted.version,
            stage=wanted.stage,
            needs_gpu=wanted.needs_gpu,
            affinity_key=wanted.affinity,
            avoid=avoid,
        ).SerializeToString()
        refused: list[tuple[str, grpc.aio.AioRpcError]] = []
        for left, address in reversed(tuple(enumerate(reversed(self._order)))):
            try:
                answer: bytes = await self._calls[address](
                    body, timeout=SOON_S if left else TIMEOUT_S, metadata=self._headers
                )
            except grpc.aio.AioRpcError as failed:
                if failed.code() not in _PASSED_OVER:
                    raise self._error(failed, wanted, address) from failed
                refused.append((address, failed))
            else:
                self._prefer(address)
                return self._session(wanted, answer)
        raise _nobody(wanted, refused) from refused[-1][1]

    async def close(self) -> None:
        for channel in self._channels.values():
            await channel.close()

    def _prefer(self, address: str) -> None:
        if self._order[0] != address:
            self._order.remove(address)
            self._order.insert(0, address)

    def _error(self, failed: grpc.aio.AioRpcError, wanted: Wanted, address: str) -> InferflowError:
        return error_from(failed, str(wanted), address, budget_ms=TIMEOUT_S * 1000, attempts=1)

    def _session(self, wanted: Wanted, body: bytes) -> Session:
        try:
            answer = _Response.FromString(body)
        except DecodeError:
            raise RemoteFailed("OK", "and no DiscoverResponse with it") from None
        if not answer.workers:
            raise ModelUnavailable(str(wanted), f"{self.addresses} named no worker")
        soon_s, ends_s = lifetime(answer.token_expires_ms, self._wall())
        now = self._clock()
        return Session(
            wanted,
            answer.version,
            tuple(self._workers.get(each.worker_id, each.address) for each in answer.workers),
            key_header(answer.token),
            _Infer(model_version=answer.version).SerializeToString(),
            now + soon_s,
            now + ends_s,
        )


def _nobody(
    wanted: Wanted, refused: Sequence[tuple[str, grpc.aio.AioRpcError]]
) -> ModelUnavailable:
    """No worker is up, or no manager: either way somebody else may know more, or the same one
    later."""
    told = dict.fromkeys(f"{address}: {_reason(failed)}" for address, failed in refused)
    return ModelUnavailable(str(wanted), "; ".join(told))


def _reason(failed: grpc.aio.AioRpcError) -> str:
    if failed.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
        return "did not answer in time"
    return (failed.details() or failed.code().name).rpartition("last error: ")[2]
