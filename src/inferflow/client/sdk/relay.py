"""Calls of the Open Inference Protocol passed on to a fleet, each with its caller's own key.

That key decides which models its caller may ask, so every key has sessions of its own. Keys that
have not asked for longest make room for others. What there is is the registry's to say, and where
models are loaded its manager's to decide.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from inferflow._proto.pool import message_class
from inferflow._version import __version__
from inferflow.client.manager.admin import FleetAdmin
from inferflow.client.oip.relay import SERVICE, Headers
from inferflow.client.sdk.fleet import Fleet, FleetOptions
from inferflow.client.sdk.managers import listed
from inferflow.client.sdk.repository import repository_index
from inferflow.client.sdk.sessions import Session, Wanted
from inferflow.client.sdk.workers import Worker
from inferflow.engine.deadline import Deadline
from inferflow.errors import InvalidRequest
from inferflow.rpc.headers import AUTHORIZATION
from inferflow.rpc.tls_channel import ChannelTls

MOST_KEYS = 256
_BEARER = "Bearer "
_PLACING = ("RepositoryModelLoad", "RepositoryModelUnload")


@dataclass(slots=True)
class _Lent:
    fleet: Fleet
    calls: int = 0


class FleetRelay:
    """For the event loop it was made in."""

    def __init__(
        self,
        managers: str,
        *,
        key: str = "",
        tls: ChannelTls | None = None,
        most_keys: int = MOST_KEYS,
    ) -> None:
        """With a `key`, that is shown for every caller: whoever has it has let them in."""
        self._managers = listed(managers)
        self._key = key
        self._options = FleetOptions(tls=tls)
        self._most_keys = most_keys
        self._fleets: OrderedDict[str, _Lent] = OrderedDict()

    def __len__(self) -> int:
        """Keys whose sessions are remembered."""
        return len(self._fleets)

    async def infer(
        self, model: str, version: str, body: bytes, *, headers: Headers, deadline_ms: float
    ) -> bytes:
        """Raises as `Fleet.ask` does."""
        async with self._lent(headers) as fleet:
            return await fleet.ask(Wanted(model, version), body, Deadline(deadline_ms))

    async def ask(self, method: str, request: Any, *, headers: Headers, deadline_ms: float) -> Any:
        """What one of the model's workers says, or the registry where it is about all models.
        Raises InvalidRequest for what a fleet does not leave to its callers."""
        answer = message_class(f"inference.{method}Response")
        if method == "ServerMetadata":
            return answer(name="inferflow", version=__version__)
        if method == "ServerReady":
            return answer(ready=True)
        if method == "RepositoryIndex":
            return await asyncio.to_thread(self._index, self._shown(headers), request.ready)
        if method in _PLACING:
            raise InvalidRequest(
                "path",
                "a fleet's manager decides where models are loaded; give a version a stage with"
                " POST /api/v1/models/NAME/versions/VERSION/promote",
            )
        if not getattr(request, "name", ""):
            raise InvalidRequest("path", f"{method} has no one answer in a fleet; ask /api/v1")
        async with self._lent(headers) as fleet:
            body = await _asked(fleet, method, request, Deadline(deadline_ms))
        return answer.FromString(body)

    @asynccontextmanager
    async def _lent(self, headers: Headers) -> AsyncIterator[Fleet]:
        key = self._shown(headers)
        lent = self._fleets.get(key)
        if lent is None:
            lent = self._fleets[key] = _Lent(Fleet(self._managers, key, self._options))
        self._fleets.move_to_end(key)
        lent.calls += 1
        try:
            yield lent.fleet
        finally:
            lent.calls -= 1
            await self._make_room()

    def _shown(self, headers: Headers) -> str:
        return self._key or dict(headers).get(AUTHORIZATION, "").removeprefix(_BEARER)

    def _index(self, key: str, ready: bool) -> Any:
        with FleetAdmin(self._managers, key, tls=self._options.tls) as admin:
            return repository_index(admin.models(), only_ready=ready)

    async def _make_room(self) -> None:
        """Forget who has not asked for longest and waits for nothing."""
        surplus = len(self._fleets) - self._most_keys
        if surplus > 0:
            idle = [key for key, lent in self._fleets.items() if not lent.calls]
            for key in idle[:surplus]:
                await self._fleets.pop(key).fleet.close()

    async def close(self) -> None:
        """Calls under way are cancelled."""
        for lent in self._fleets.values():
            await lent.fleet.close()
        self._fleets.clear()


async def _asked(fleet: Fleet, method: str, request: Any, deadline: Deadline) -> bytes:
    """What the best worker of the model says about it."""

    def call(worker: Worker, session: Session, timeout_s: float | None) -> Awaitable[bytes]:
        asked = type(request)(name=request.name, version=session.version)
        method_of: Any = worker.channel.unary_unary(f"/{SERVICE}/{method}")
        answer: Awaitable[bytes] = method_of(
            asked.SerializeToString(), timeout=timeout_s, metadata=session.headers
        )
        return answer

    return await fleet.send(Wanted(request.name, request.version), call, deadline)
