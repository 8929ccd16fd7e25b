"""The gateway's ports for what is reached over gRPC: an orchestrator, workers, a fleet.

Whatever came beside a request goes on beside the call: the caller's key, the request's id, its
trace, and the time that is left.
"""

from __future__ import annotations

from typing import Any, Protocol

from inferflow.api.gateway.ports import Beside
from inferflow.client.aio import AsyncClient
from inferflow.engine.request import ScoreRequest
from inferflow.rpc.headers import AUTHORIZATION, REQUEST_ID
from inferflow.scores import Scores

Headers = tuple[tuple[str, str], ...]


def headers_of(beside: Beside) -> Headers:
    given = (
        (REQUEST_ID, beside.request_id),
        (AUTHORIZATION, f"Bearer {beside.credential}" if beside.credential else ""),
    )
    return (*((name, value) for name, value in given if value), *beside.trace)


class RemoteScoring:
    """An orchestrator, or several that answer alike."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    async def score(self, request: ScoreRequest, beside: Beside) -> Scores:
        return await self._client.answer(request, headers_of(beside))

    async def is_ready(self) -> bool:
        return await self._client.is_serving()

    async def close(self) -> None:
        await self._client.close()


class _Relay(Protocol):
    async def infer(
        self, model: str, version: str, body: bytes, *, headers: Headers, deadline_ms: float
    ) -> bytes: ...

    async def ask(
        self, method: str, request: Any, *, headers: Headers, deadline_ms: float
    ) -> Any: ...

    async def close(self) -> None: ...


class RemoteModels:
    """Workers behind one address, or behind a manager."""

    def __init__(self, relay: _Relay) -> None:
        self._relay = relay

    async def infer(self, model: str, version: str, body: bytes, beside: Beside) -> bytes:
        return await self._relay.infer(
            model, version, body, headers=headers_of(beside), deadline_ms=beside.deadline_ms
        )

    async def ask(self, method: str, request: Any, beside: Beside) -> Any:
        return await self._relay.ask(
            method, request, headers=headers_of(beside), deadline_ms=beside.deadline_ms
        )

    async def close(self) -> None:
        await self._relay.close()
