"""`inferflow.connect` and `inferflow.connect_fleet`, and their forms for asyncio.

Nothing is loaded before they are called. None of them waits for a server: the first call does,
inside its deadline.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from inferflow.client.tls import Tls, for_channels
from inferflow.errors import MissingExtra

if TYPE_CHECKING:
    from inferflow.client.aio import AsyncClient
    from inferflow.client.sdk.aio import AsyncFleetClient
    from inferflow.client.sdk.sync import FleetClient
    from inferflow.client.sync import Client

DEADLINE_MS = 10_000.0
ATTEMPTS = 5
THROTTLE = 1.3
"""A server that refuses three calls for ten answers keeps nearly all of its goodput, and is still
asked often enough to be found out when it has room again."""
FLEET_DEADLINE_MS = 1_000.0


def connect(
    addresses: str | Sequence[str],
    *,
    deadline_ms: float | None = DEADLINE_MS,
    attempts: int = ATTEMPTS,
    values: Literal["typed", "text"] = "typed",
    tenant_id: str = "",
    app_version: str = "",
    key: str = "",
    tls: Tls | None = None,
    throttle: float | None = THROTTLE,
) -> Client:
    """A client of the servers at `host:port`; several addresses share the calls.

    `deadline_ms` is for calls that name none. A call that meets no server is made again, up to so
    many `attempts`, as long as its deadline allows. `values`: as bytes of their type, or as
    text, for configs whose `predict_value_encoding` is not `typed`. `tenant_id` fills a column of
    that name where a config reads one; `app_version` says what calls. `key` is an API key, for
    servers that want one; `tls` says whom to trust, for servers that speak TLS. To a server that
    refuses calls for load, about `throttle` times as many are sent as it takes; others are refused
    here, at once. None sends all.
    """
    _ask_for_grpc("inferflow.connect")
    from inferflow.client.aio import ClientOptions
    from inferflow.client.sync import open_client

    return open_client(
        addresses,
        ClientOptions(
            deadline_ms, attempts, values, tenant_id, app_version, key, for_channels(tls), throttle
        ),
    )


async def aconnect(
    addresses: str | Sequence[str],
    *,
    deadline_ms: float | None = DEADLINE_MS,
    attempts: int = ATTEMPTS,
    values: Literal["typed", "text"] = "typed",
    tenant_id: str = "",
    app_version: str = "",
    key: str = "",
    tls: Tls | None = None,
    throttle: float | None = THROTTLE,
) -> AsyncClient:
    """`connect` for asyncio. The client belongs to the event loop that is running."""
    _ask_for_grpc("inferflow.aconnect")
    from inferflow.client.aio import AsyncClient, ClientOptions

    return AsyncClient(
        addresses,
        ClientOptions(
            deadline_ms, attempts, values, tenant_id, app_version, key, for_channels(tls), throttle
        ),
    )


def connect_fleet(
    managers: str | Sequence[str],
    *,
    key: str = "",
    deadline_ms: float | None = FLEET_DEADLINE_MS,
    tls: Tls | None = None,
) -> FleetClient:
    """A client of the models a fleet serves, found by asking its managers at `host:port`.

    `key` is an API key with the permission `inference`. `deadline_ms` is for calls that name none.
    `tls` says whom to trust, for a fleet that speaks TLS.
    """
    _ask_for_grpc("inferflow.connect_fleet")
    from inferflow.client.sdk.sync import open_fleet_client

    return open_fleet_client(managers, key=key, deadline_ms=deadline_ms, tls=for_channels(tls))


async def aconnect_fleet(
    managers: str | Sequence[str],
    *,
    key: str = "",
    deadline_ms: float | None = FLEET_DEADLINE_MS,
    tls: Tls | None = None,
) -> AsyncFleetClient:
    """`connect_fleet` for asyncio. The client belongs to the event loop that is running."""
    _ask_for_grpc("inferflow.aconnect_fleet")
    from inferflow.client.sdk.aio import AsyncFleetClient
    from inferflow.client.sdk.fleet import FleetOptions

    options = FleetOptions(tls=for_channels(tls))
    return AsyncFleetClient(managers, key=key, deadline_ms=deadline_ms, options=options)


def _ask_for_grpc(for_what: str) -> None:
    try:
        import grpc  # noqa: F401
    except ModuleNotFoundError as missing:
        raise MissingExtra("serve", for_what=for_what) from missing
