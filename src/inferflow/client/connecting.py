"""`inferflow.connect` and `inferflow.connect_fleet`, and their forms for asyncio.

Nothing is loaded before they are called. None of them waits for a server: the first call does,
inside its deadline.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from inferflow.errors import MissingExtra

if TYPE_CHECKING:
    from inferflow.client.aio import AsyncClient
    from inferflow.client.sdk.aio import AsyncFleetClient
    from inferflow.client.sdk.sync import FleetClient
    from inferflow.client.sync import Client

DEADLINE_MS = 10_000.0
ATTEMPTS = 5
FLEET_DEADLINE_MS = 1_000.0


def connect(
    addresses: str | Sequence[str],
    *,
    deadline_ms: float | None = DEADLINE_MS,
    attempts: int = ATTEMPTS,
    values: Literal["typed", "text"] = "typed",
    tenant_id: str = "",
    app_version: str = "",
) -> Client:
    """A client of the servers at `host:port`; several addresses share the calls.

    `deadline_ms` is for calls that name none. A call that meets no server is made again, up to so
    many `attempts`, as long as its deadline allows. `values`: as bytes of their type, or as
    text, for configs whose `predict_value_encoding` is not `typed`. `tenant_id` fills a column of
    that name where a config reads one; `app_version` says what calls.
    """
    _ask_for_grpc("inferflow.connect")
    from inferflow.client.aio import ClientOptions
    from inferflow.client.sync import open_client

    return open_client(
        addresses, ClientOptions(deadline_ms, attempts, values, tenant_id, app_version)
    )


async def aconnect(
    addresses: str | Sequence[str],
    *,
    deadline_ms: float | None = DEADLINE_MS,
    attempts: int = ATTEMPTS,
    values: Literal["typed", "text"] = "typed",
    tenant_id: str = "",
    app_version: str = "",
) -> AsyncClient:
    """`connect` for asyncio. The client belongs to the event loop that is running."""
    _ask_for_grpc("inferflow.aconnect")
    from inferflow.client.aio import AsyncClient, ClientOptions

    return AsyncClient(
        addresses, ClientOptions(deadline_ms, attempts, values, tenant_id, app_version)
    )


def connect_fleet(
    managers: str | Sequence[str],
    *,
    key: str = "",
    deadline_ms: float | None = FLEET_DEADLINE_MS,
) -> FleetClient:
    """A client of the models a fleet serves, found by asking its managers at `host:port`.

    `key` is an API key with the permission `inference`. `deadline_ms` is for calls that name none.
    """
    _ask_for_grpc("inferflow.connect_fleet")
    from inferflow.client.sdk.sync import open_fleet_client

    return open_fleet_client(managers, key=key, deadline_ms=deadline_ms)


async def aconnect_fleet(
    managers: str | Sequence[str],
    *,
    key: str = "",
    deadline_ms: float | None = FLEET_DEADLINE_MS,
) -> AsyncFleetClient:
    """`connect_fleet` for asyncio. The client belongs to the event loop that is running."""
    _ask_for_grpc("inferflow.aconnect_fleet")
    from inferflow.client.sdk.aio import AsyncFleetClient

    return AsyncFleetClient(managers, key=key, deadline_ms=deadline_ms)


def _ask_for_grpc(for_what: str) -> None:
    try:
        import grpc  # noqa: F401
    except ModuleNotFoundError as missing:
        raise MissingExtra("serve", for_what=for_what) from missing
