"""API keys of a fleet, good for other servers too: its managers are asked whose they are.

Asked by call and not by a copy of all keys: what managers keep can be checked only with their own
secret, which no other process shall have. What was answered holds for a second, and is asked again
beside the calls in the next; so a revoked key ends within two. While no manager can be asked, a key
that was good lately stays good for as long as a session token would.

Keys themselves are not remembered, only digests of them.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import grpc

from inferflow._proto.pool import message_class
from inferflow.access import KeyCard, ModelPatterns, Permission, RateLimit
from inferflow.client.failures import AWAY
from inferflow.client.sdk.managers import key_header, listed
from inferflow.errors import RegistryBusy, Unauthenticated
from inferflow.rpc.channel import open_channel
from inferflow.rpc.options import ChannelOptions
from inferflow.rpc.tls_channel import ChannelTls

CHECK = "/inferflow.serving.v1.Registry/CheckKey"
FRESH_S, STALE_S, ALONE_S = 1.0, 2.0, 300.0
_SOON_S, _TIMEOUT_S = 0.4, 2.0
_MOST = 10_000

_Request = message_class("inferflow.serving.v1.CheckKeyRequest")
_Response = message_class("inferflow.serving.v1.CheckKeyResponse")
_PASSED_OVER = (*AWAY, grpc.StatusCode.DEADLINE_EXCEEDED)


@dataclass(slots=True)
class _Known:
    card: KeyCard
    asked: float
    asking: asyncio.Task[KeyCard] | None = None


class ManagerKeys:
    """Implements `access.KeySource`, for the event loop it is used in."""

    def __init__(
        self,
        managers: Sequence[str],
        key: str,
        *,
        tls: ChannelTls | None = None,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """Waits for nobody. `key` needs the permission `worker`."""
        self._addresses = listed(managers)
        self._headers = key_header(key)
        self._options = ChannelOptions(attempts=1, tls=tls)
        self._clock = clock
        self._wall = wall
        self._channels: dict[str, grpc.aio.Channel] = {}
        self._calls: dict[str, Any] = {}
        self._known: OrderedDict[bytes, _Known] = OrderedDict()

    async def identify(self, key: str) -> KeyCard:
        """Raises Unauthenticated, and RegistryBusy when nobody can tell."""
        digest = hashlib.sha256(key.encode()).digest()
        known = self._known.get(digest)
        age_s = ALONE_S if known is None else self._clock() - known.asked
        if known is None or age_s >= STALE_S:
            return await self._asked_now(digest, key, known, age_s)
        if age_s >= FRESH_S and known.asking is None:
            known.asking = asyncio.ensure_future(self._ask(digest, key))
            known.asking.add_done_callback(_noticed)
        return self._live(known.card)

    async def settle(self) -> None:
        """Returns when everything that is asked for beside calls has been answered."""
        asking = [each.asking for each in self._known.values() if each.asking is not None]
        await asyncio.gather(*asking, return_exceptions=True)

    async def close(self) -> None:
        await self.settle()
        for channel in self._channels.values():
            await channel.close()

    async def _asked_now(
        self, digest: bytes, key: str, known: _Known | None, age_s: float
    ) -> KeyCard:
        try:
            return self._live(await self._ask(digest, key))
        except RegistryBusy:
            if known is None or age_s >= ALONE_S:
                raise
            return self._live(known.card)

    async def _ask(self, digest: bytes, key: str) -> KeyCard:
        try:
            card = await self._answer(key)
        except Unauthenticated:
            self._known.pop(digest, None)
            raise
        except RegistryBusy:
            known = self._known.get(digest)
            if known is not None:
                known.asking = None
            raise
        self._known[digest] = _Known(card, self._clock())
        self._known.move_to_end(digest)
        if len(self._known) > _MOST:
            self._known.popitem(last=False)
        return card

    async def _answer(self, key: str) -> KeyCard:
        body = _Request(key=key).SerializeToString()
        why = ""
        for left, address in reversed(tuple(enumerate(reversed(self._addresses)))):
            try:
                answer = await self._call(address)(
                    body, timeout=_SOON_S if left else _TIMEOUT_S, metadata=self._headers
                )
            except grpc.aio.AioRpcError as failed:
                why = f"{address}: {failed.details() or failed.code().name}"
                if failed.code() not in _PASSED_OVER:
                    break
            else:
                return _card(_Response.FromString(answer))
        raise RegistryBusy(f"no manager could say whose API key this is; {why}")

    def _call(self, address: str) -> Any:
        """Channels belong to an event loop, so they are opened by the first call."""
        if address not in self._calls:
            channel = self._channels[address] = open_channel(address, self._options)
            self._calls[address] = channel.unary_unary(CHECK)
        return self._calls[address]

    def _live(self, card: KeyCard) -> KeyCard:
        if not card.is_live(int(self._wall() * 1000)):
            raise Unauthenticated("this API key is unknown, expired or revoked")
        return card


def _card(answer: Any) -> KeyCard:
    if not answer.HasField("key"):
        raise Unauthenticated("this API key is unknown, expired or revoked")
    key = answer.key
    known = frozenset(Permission)
    rate = RateLimit(key.requests_per_second, key.burst) if key.requests_per_second else None
    return KeyCard(
        key.key_id,
        key.name,
        frozenset(Permission(name) for name in key.permissions if name in known),
        ModelPatterns(tuple(key.models)),
        created_ms=key.created_ms,
        expires_ms=key.expires_ms or None,
        revoked_ms=key.revoked_ms or None,
        rate=rate,
    )


def _noticed(asking: asyncio.Task[KeyCard]) -> None:
    """What went wrong is found again by the next call that has to wait for it."""
    if not asking.cancelled():
        asking.exception()
