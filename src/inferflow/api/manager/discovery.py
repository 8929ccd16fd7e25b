"""For clients: which workers to ask, and a token they accept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc

from inferflow.access import KeyCard, KeyRates
from inferflow.api.manager import reading, writing
from inferflow.api.manager.calling import Calls, Message
from inferflow.api.manager.rules import DISCOVERY
from inferflow.errors import NotFound
from inferflow.serving.manager.services import Services


class DiscoveryService:
    def __init__(self, services: Services, clock: Callable[[], float]) -> None:
        self._discovery = services.discovery
        self._live = services.live
        self._rates = KeyRates(clock)

    def handlers(self, calls: Calls) -> grpc.GenericRpcHandler:
        def unary(method: str, request: str, answer: Any) -> Any:
            return calls.unary(f"/{DISCOVERY}/{method}", writing.declared(request), answer)

        methods = {
            "Discover": unary("Discover", "DiscoverRequest", self._discover),
            "Refresh": unary("Refresh", "RefreshRequest", self._refresh),
        }
        return grpc.method_handlers_generic_handler(DISCOVERY, methods)

    async def _discover(self, by: KeyCard, asked: Message) -> Message:
        self._rates.take(by.key_id, by.rate)
        wanted = reading.wanted(asked)
        try:
            found = self._discovery.find(by, wanted)
        except NotFound:
            # Another manager may have published it a moment ago.
            if not await self._live.refresh():
                raise
            found = self._discovery.find(by, wanted)
        return writing.found(found)

    async def _refresh(self, by: KeyCard, asked: Message) -> Message:
        self._rates.take(by.key_id, by.rate)
        return writing.found(self._discovery.renew(by, asked.token))
