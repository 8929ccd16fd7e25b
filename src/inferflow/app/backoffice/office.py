"""The back office put together: of a project served in this process, or of a folder.

Beside a project that is served here, its store, models and metrics are shared. A gateway alone
asks servers how they are, and has the parts its folder and its settings name.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from inferflow.api.gateway.management.ports import BackOffice
from inferflow.api.operate import Pages
from inferflow.app.backoffice.bench import Benches, SharedBenches
from inferflow.app.backoffice.configs import ProjectConfigs
from inferflow.app.backoffice.features import ShelfFeatures
from inferflow.app.backoffice.fleet import ManagedFleet
from inferflow.app.backoffice.folder_bench import FolderBenches
from inferflow.app.backoffice.live import LiveHub
from inferflow.app.backoffice.logs import ProjectLogs
from inferflow.app.backoffice.pages import OwnPages, RemotePages, ServerPages
from inferflow.app.backoffice.playground import BenchPlayground
from inferflow.app.backoffice.sampling import LookAround, Sampler, pages_at
from inferflow.app.backoffice.settings_page import ProjectSettings
from inferflow.app.checking import is_project
from inferflow.app.role import Role
from inferflow.app.settings import Settings
from inferflow.app.tls import channel_tls, https_contexts
from inferflow.client.aio import AsyncClient, ClientOptions
from inferflow.client.manager.admin import FleetAdmin

if TYPE_CHECKING:
    from inferflow.app.local_fleet import LocalFleet

_PATIENCE_MS = 5_000.0


@asynccontextmanager
async def office_beside(
    role: Role, fleet: LocalFleet | None, pages: Pages, look_around: LookAround
) -> AsyncIterator[BackOffice]:
    """For a project that this process serves, with what it tells of itself."""
    root, settings = role.embedded.project.root, role.settings
    servers = OwnPages(pages)
    managed = await fleet_of_this_process(fleet) if fleet is not None else _managed(settings)
    overrides = {"fleet": settings.fleet}  # its key may be of this run
    benches = SharedBenches(role.embedded)
    async with _live(look_around, servers, managed) as live:
        yield BackOffice(
            configs=ProjectConfigs(root, overrides, benches, servers),
            playground=BenchPlayground(benches),
            recordings=None if settings.serve.explain == "off" else servers,
            fleet=managed,
            features=ShelfFeatures(benches),
            logs=ProjectLogs(root, settings),
            settings=ProjectSettings(root, os.environ),
            live=live,
        )


@asynccontextmanager
async def office_apart(root: Path, settings: Settings) -> AsyncIterator[BackOffice]:
    """For a gateway that serves nothing itself."""
    client = AsyncClient(settings.gateway.target, _options(settings))
    servers, managed = RemotePages(client), _managed(settings)
    benches: Benches | None = FolderBenches(root) if is_project(root) else None
    try:
        look_around = pages_at(_metrics_from(settings), https_contexts(settings.tls))
        async with _live(look_around, servers, managed) as live:
            yield BackOffice(
                configs=None if benches is None else ProjectConfigs(root, None, benches, servers),
                playground=None if benches is None else BenchPlayground(benches),
                recordings=servers,
                fleet=managed,
                features=None if benches is None else ShelfFeatures(benches),
                logs=ProjectLogs(root, settings),
                settings=ProjectSettings(root, os.environ),
                live=live,
            )
    finally:
        await client.close()
        if benches is not None:
            await asyncio.to_thread(benches.close)


@asynccontextmanager
async def _live(
    look_around: LookAround, servers: ServerPages, fleet: ManagedFleet | None
) -> AsyncIterator[LiveHub]:
    hub = LiveHub(Sampler(look_around, servers, fleet, clock=time.monotonic, now=time.time))
    hub.start()
    try:
        yield hub
    finally:
        await hub.close()


async def fleet_of_this_process(fleet: LocalFleet) -> ManagedFleet:
    """A fleet that this process may administrate.

    Whoever the gateway has let in is not asked again: the manager knows its own keys alone, and
    not those that this gateway goes by."""
    own = await fleet.administrator()
    return ManagedFleet(
        lambda _: FleetAdmin((fleet.address,), own, tls=fleet.tls), own, also_own=(fleet.key,)
    )


def _managed(settings: Settings) -> ManagedFleet | None:
    """The fleet of the settings; None when they name no manager."""
    fleet = settings.fleet
    if not fleet.manager:
        return None
    tls = channel_tls(settings.tls, plain_text=fleet.plain_text)
    return ManagedFleet(
        lambda key: FleetAdmin(fleet.manager, key, tls=tls), fleet.api_key.get_secret_value()
    )


def _options(settings: Settings) -> ClientOptions:
    key = settings.fleet.api_key.get_secret_value()
    tls = channel_tls(settings.tls, plain_text=None)
    return ClientOptions(_PATIENCE_MS, 1, key=key, tls=tls)


def _metrics_from(settings: Settings) -> tuple[str, ...]:
    """Where the settings say; else where the servers that score show theirs."""
    if settings.gateway.metrics_from:
        return tuple(settings.gateway.metrics_from)
    targets = [each.strip() for each in settings.gateway.target.split(",")]
    hosts = [each.rpartition(":")[0] or each for each in targets]
    scheme = "https" if settings.tls.ca else "http"
    return tuple(f"{scheme}://{host}:{settings.serve.http_port}/metrics" for host in hosts)
