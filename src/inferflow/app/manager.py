"""The `manager` role: one process that knows a fleet's models, keys and workers.

Several may share one database; each answers every call. It serves until it is asked to end, then
drains as every role does. Workers and running sessions go on without it.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from inferflow.access import Gate, TokenRules
from inferflow.api.manager.calling import Calls
from inferflow.api.manager.discovery import DiscoveryService
from inferflow.api.manager.door import Door, RegistryKeys
from inferflow.api.manager.fleet import FleetService
from inferflow.api.manager.registry import RegistryService
from inferflow.api.manager.rules import SERVICES
from inferflow.app.fleet_metrics import watch_services
from inferflow.app.lifetime import stop_signals
from inferflow.app.listener import Listener
from inferflow.app.manager_settings import ManagerSettings
from inferflow.app.places import data_dir
from inferflow.app.security import Security, certificate_cards
from inferflow.app.settings import Settings
from inferflow.app.tls import server_tls
from inferflow.app.worker_settings import serving_options
from inferflow.errors import InferflowError
from inferflow.rpc.admission import Admission
from inferflow.rpc.options import MIB
from inferflow.serving.manager.duties import Duty
from inferflow.serving.manager.fleet import Patience
from inferflow.serving.manager.orders import UploadLimits
from inferflow.serving.manager.secret import load_secret, parse_secret
from inferflow.serving.manager.services import ManagerRules, Services, open_services
from inferflow.telemetry.manager_tally import ManagerTally

log = logging.getLogger(__name__)

_TIDY_S = 60.0


@dataclass(frozen=True, slots=True)
class Stores:
    """Where a manager keeps what it must not forget."""

    database: str | Path
    files: str | Path
    secret: bytes


def find_stores(root: Path, settings: Settings) -> Stores:
    """What the settings name, else places in the project's state."""
    own, chosen = data_dir(root, settings) / "manager", settings.manager
    given = chosen.secret.get_secret_value()
    if given:
        secret = parse_secret(given, "INFERFLOW_MANAGER_SECRET")
    else:
        file = Path(chosen.secret_file) if chosen.secret_file else own / "secret"
        secret = load_secret(file, secrets.token_bytes)
    return Stores(chosen.database or own / "registry.db", chosen.files or own / "files", secret)


def rules_of(settings: ManagerSettings) -> ManagerRules:
    key_mb = settings.max_key_mb
    return ManagerRules(
        tokens=TokenRules(ttl_s=settings.token_ttl),
        uploads=UploadLimits(
            upload_bytes=int(settings.max_upload_mb * MIB),
            files=settings.max_upload_files,
            key_bytes=None if key_mb is None else int(key_mb * MIB),
        ),
        patience=Patience(
            settings.heartbeat / 1000,
            settings.suspect_after / 1000,
            settings.offline_after / 1000,
            settings.forget_after / 1000,
        ),
        check_options=serving_options,
    )


class Manager(Listener):
    """A running manager. Made by `start_manager`."""

    role = "manager"

    def __init__(self, services: Services, settings: ManagerSettings) -> None:
        super().__init__(settings)
        self.services = services
        self.settings = settings
        self.tally = ManagerTally()
        self.duty = Duty(services.storage, time.time, secrets.token_hex(8))
        self._upkeep: asyncio.Task[None] | None = None
        self._tidied_s = time.monotonic()
        self._is_failing = False

    def keep_up(self) -> None:
        """Begin what has to be done once per heartbeat."""
        self._upkeep = asyncio.ensure_future(self._keep_up())

    async def close(self) -> None:
        if self._upkeep is not None:
            self._upkeep.cancel()
            await asyncio.gather(self._upkeep, return_exceptions=True)
        await super().close()
        try:
            await self.duty.give_up()
        except InferflowError as failed:
            log.warning("duty_not_given_up", extra={"error": str(failed)})
        await self.services.close()

    async def _keep_up(self) -> None:
        while True:
            await asyncio.sleep(self.settings.heartbeat / 1000)
            try:
                await self._tick()
                self._is_failing = False
            except Exception as failed:  # the boundary of a period: the next one may be better
                self.tally.tick_failed()
                self._tell(failed)

    async def _tick(self) -> None:
        await self.services.tick()
        if await self.duty.look() and time.monotonic() - self._tidied_s >= _TIDY_S:
            self._tidied_s = time.monotonic()
            await self.services.tidy()

    def _tell(self, failed: Exception) -> None:
        """Once, not every second for as long as a database is away."""
        if not isinstance(failed, InferflowError):
            log.error("tick_broke", exc_info=failed)
        elif not self._is_failing:
            log.warning("tick_failed", extra={"error": str(failed)})
        self._is_failing = True


def guard_manager(services: Services, settings: Settings) -> Security:
    """Callers of a manager are known by the keys of its registry, or by their certificate."""
    tls = server_tls(settings.tls)
    if settings.manager.auth == "off":
        return Security(tls=tls)
    known = certificate_cards(settings)
    return Security(Gate([RegistryKeys(services.keys)], time.monotonic, certificates=known), tls)


async def start_manager(
    services: Services, settings: ManagerSettings, security: Security
) -> Manager:
    """Listen on the ports the settings name, ready for calls. Raises InvalidInput when a port is
    taken; the services are the caller's to close then."""
    manager = Manager(services, settings)
    watch_services(
        manager.tally, services, lambda: manager.duty.is_mine, lambda: int(time.time() * 1000)
    )
    calls = Calls(Door(security.gate), Admission(settings.max_in_flight), manager.tally)
    await manager.open_ports(
        [
            DiscoveryService(services, time.monotonic).handlers(calls),
            FleetService(services, manager.tally, time.time).handlers(calls),
            RegistryService(services).handlers(calls),
        ],
        services=SERVICES,
        security=security,
        metrics=manager.tally,
    )
    manager.keep_up()
    await manager.tell_health()
    return manager


async def manage(
    root: Path, settings: Settings, *, started: Callable[[Manager, str], None]
) -> None:
    """Manage until asked to end, then end politely. `started` is told where it listens, and the
    first API key when one was made just now."""
    stores = find_stores(root, settings)
    with stop_signals() as (end, hurry):
        services = await open_services(
            stores.database, stores.files, stores.secret, time.time, rules_of(settings.manager)
        )
        try:
            key = await first_key(services, settings.manager)
            security = guard_manager(services, settings)
            manager = await start_manager(services, settings.manager, security)
        except BaseException:
            await services.close()
            raise
        try:
            started(manager, key)
            await end.wait()
        except BaseException:
            await manager.close()
            raise
        await manager.drain(hurry)


async def first_key(services: Services, settings: ManagerSettings) -> str:
    """The administrator's key of a new registry, to be shown this once; else empty."""
    brought = settings.admin_key.get_secret_value()
    if settings.auth == "off" and not brought:
        return ""
    created = await services.keys.create_first(brought)
    return created.text if created is not None and not brought else ""
