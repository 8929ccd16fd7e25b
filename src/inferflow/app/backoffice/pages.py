"""What servers tell about configs and recordings, as plain values.

Of this process itself, or of the servers behind a client.
"""

from __future__ import annotations

import json
from typing import Any, Protocol

from inferflow.api.operate import Pages
from inferflow.client.aio import AsyncClient

Facts = dict[str, Any]


class ServerPages(Protocol):
    """Implements `api.gateway.management.ports.Recordings`, and tells how configs stand."""

    async def configs(self) -> list[Facts]: ...

    async def latest(self, last: int) -> list[Facts]: ...

    async def get(self, recording: str, item: str) -> Facts: ...


class OwnPages:
    """Of a server in this process."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    async def configs(self) -> list[Facts]:
        found: list[Facts] = json.loads(await self._pages.configs(with_problems=True))
        return found

    async def latest(self, last: int) -> list[Facts]:
        found: list[Facts] = json.loads(await self._pages.recordings(last))
        return found

    async def get(self, recording: str, item: str) -> Facts:
        found: Facts = json.loads(await self._pages.recording(recording, item))
        return found


class RemotePages:
    """Of servers elsewhere."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    async def configs(self) -> list[Facts]:
        return await self._client.configs()

    async def latest(self, last: int) -> list[Facts]:
        return await self._client.recordings(last)

    async def get(self, recording: str, item: str) -> Facts:
        return await self._client.recording(recording, item)
