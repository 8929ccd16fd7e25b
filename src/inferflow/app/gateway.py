"""The `gateway` role: one process that answers HTTP for an orchestrator, models and a fleet, and
shows the web pages. Beside a project that is served by `inferflow up` it runs on the same loop.

Asked to end, it says it is not ready, waits until others have noticed, and lets the requests under
way finish.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inferflow.api.gateway.app import make_app
from inferflow.api.gateway.management.ports import BackOffice
from inferflow.api.gateway.ports import Bounds, Models, Ports
from inferflow.api.gateway.relays import RemoteModels, RemoteScoring
from inferflow.app.backoffice.office import office_apart
from inferflow.app.gateway_certificates import certificate_paths, follow_certificates
from inferflow.app.gateway_settings import GatewaySettings
from inferflow.app.http_server import AsgiServer, start_asgi
from inferflow.app.lifetime import keep_what_is_loaded, stop_signals
from inferflow.app.security import Security, check_gateway, open_security
from inferflow.app.setting_values import MIB
from inferflow.app.settings import Settings
from inferflow.app.tls import channel_tls
from inferflow.app.tls_settings import TlsSettings
from inferflow.client.aio import AsyncClient, ClientOptions
from inferflow.client.oip.relay import Relay
from inferflow.client.sdk.relay import FleetRelay
from inferflow.rpc.server import is_loopback
from inferflow.telemetry.gateway_tally import GatewayTally

_MANAGER = "manager://"
_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Behind:
    """What a gateway stands before, where the settings do not say it."""

    target: str = ""
    models: str = ""
    models_key: str = field(default="", repr=False)
    """What models are asked with, for every caller that was let in."""
    office: BackOffice = field(default_factory=BackOffice)


class Gateway:
    """A running gateway. Made by `start_gateway`."""

    def __init__(self, settings: GatewaySettings, scheme: str) -> None:
        self.settings = settings
        self.scheme = scheme
        self.http: AsgiServer
        self.leaving = asyncio.Event()
        self._held = AsyncExitStack()

    @property
    def url(self) -> str:
        host = f"[{self.http.host}]" if ":" in self.http.host else self.http.host
        return f"{self.scheme}://{host}:{self.http.port}"

    def hold(self, close: Callable[[], Any]) -> None:
        """Close this, too, at the end."""
        self._held.push_async_callback(close)

    async def drain(self, hurry: asyncio.Event | None = None, *, pause: bool = True) -> None:
        """End politely; at once when `hurry` is set meanwhile."""
        self.leaving.set()
        hurry = hurry or asyncio.Event()
        if pause:
            with suppress(TimeoutError):
                await asyncio.wait_for(hurry.wait(), self.settings.drain_pause / 1000)
        await self.close(0 if hurry.is_set() else self.settings.drain_grace / 1000)

    async def close(self, grace_s: float = 0) -> None:
        await self.http.stop(grace_s)
        await self.let_go()

    async def let_go(self) -> None:
        """Close what it holds."""
        await self._held.aclose()

    def follow(self, tls: TlsSettings) -> None:
        """Take up a renewed certificate."""
        grace_s = self.settings.drain_grace / 1000
        task = asyncio.ensure_future(follow_certificates(tls, self.http, grace_s=grace_s))

        async def end() -> None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        self.hold(end)


async def start_gateway(
    settings: Settings, behind: Behind | None = None, security: Security | None = None
) -> Gateway:
    """Listen on the port the settings name, ready for requests. Raises InvalidInput when it is
    taken, or when others could call who are not meant to."""
    behind, table = behind or Behind(), settings.gateway
    security = security or open_security(settings, auth=table.auth)
    security.check_bind(table.bind, table.auth)
    gateway = Gateway(table, "https" if security.tls is not None else "http")
    scoring = RemoteScoring(_client(behind.target or table.target, settings))
    gateway.hold(scoring.close)
    gateway.hold(security.close)
    tally = GatewayTally()
    tally.show(security.shown("gateway"))
    try:
        ports = Ports(
            gate=security.gate,
            scoring=scoring,
            models=_models(gateway, behind, settings),
            metrics=tally,
            office=behind.office,
            bounds=_bounds(table),
            leaving=gateway.leaving,
        )
        gateway.http = await start_asgi(
            make_app(ports),
            host=table.bind,
            port=table.port,
            header_timeout_ms=table.header_timeout,
            max_in_flight=table.max_in_flight,
            certificate=certificate_paths(settings.tls) if security.tls is not None else None,
        )
        if security.tls is not None:
            gateway.follow(settings.tls)
        security.begin()
    except BaseException:
        await gateway.let_go()
        raise
    return gateway


def _client(target: str, settings: Settings) -> AsyncClient:
    tls = channel_tls(settings.tls, plain_text=None)
    options = ClientOptions(settings.gateway.default_deadline, _ATTEMPTS, tls=tls)
    return AsyncClient(target, options)


def _models(gateway: Gateway, behind: Behind, settings: Settings) -> Models | None:
    named = gateway.settings.models
    address, key = (named, "") if named else (behind.models, behind.models_key)
    if not address:
        return None
    tls = channel_tls(settings.tls, plain_text=settings.fleet.plain_text)
    is_fleet = address.startswith(_MANAGER)
    relay = FleetRelay(address, key=key, tls=tls) if is_fleet else Relay(address, tls=tls)
    models = RemoteModels(relay)
    gateway.hold(models.close)
    return models


def _bounds(table: GatewaySettings) -> Bounds:
    return Bounds(
        body_bytes=int(table.max_body_mb * MIB),
        upload_bytes=int(table.max_upload_mb * MIB),
        body_ms=table.body_timeout,
        default_deadline_ms=table.default_deadline,
        max_deadline_ms=table.max_deadline,
        rate=table.rate,
        origins=table.origins,
        is_loopback=is_loopback(table.bind),
        sockets=table.max_sockets,
        sockets_each=table.max_sockets_per_key,
        socket_idle_ms=table.socket_idle,
    )


async def serve_gateway(
    root: Path, settings: Settings, *, started: Callable[[Gateway], None]
) -> None:
    """Serve until asked to end, then end politely. `started` is told where it listens. What can
    be managed of a project is that of the folder, where it is one."""
    check_gateway(settings)
    with stop_signals() as (end, hurry):
        async with office_apart(root, settings) as office:
            gateway = await start_gateway(settings, Behind(office=office))
            keep_what_is_loaded()
            started(gateway)
            await end.wait()
            await office.let_go()
            await gateway.drain(hurry)


@asynccontextmanager
async def gateway_beside(settings: Settings, behind: Behind) -> AsyncIterator[Gateway]:
    """A gateway for as long as the block lasts, before what is served in this process."""
    gateway = await start_gateway(settings, behind)
    try:
        yield gateway
    finally:
        await gateway.drain(pause=False)
