"""A fleet in one process: a manager and a worker beside a project that is served.

The project's models are registered, each version once, and the highest of each goes into
production. It is a fleet like any other: callers need API keys, workers check session tokens, and
other workers may join. What is registered stays, in the project's state.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from inferflow.access import OPERATOR, Permission
from inferflow.app.manager import (
    Manager,
    find_stores,
    first_key,
    guard_manager,
    rules_of,
    start_manager,
)
from inferflow.app.member import FleetMember
from inferflow.app.places import data_dir
from inferflow.app.registering import Progress, register
from inferflow.app.setting_values import reached
from inferflow.app.settings import Settings
from inferflow.app.tls import channel_tls
from inferflow.app.worker import Worker, member_security, open_host, start_worker
from inferflow.client.manager.admin import FleetAdmin
from inferflow.rpc.tls_channel import ChannelTls
from inferflow.serving.manager.keys import KeyOrder
from inferflow.serving.manager.services import Services, open_services
from inferflow.serving.manager.storage.records import Stage
from inferflow.serving.runtime import ModelRepository
from inferflow.telemetry.worker_tally import WorkerTally

KEY_NAME = "inferflow up"


class LocalFleet:
    """A running fleet of one worker. Made by `start_local_fleet`; close it when done."""

    def __init__(self, manager: Manager, first_key: str, tls: ChannelTls | None) -> None:
        self.manager = manager
        self.tls = tls
        """How this process calls its own fleet."""
        self.first_key = first_key
        """The administrator's key, when it was made just now."""
        self.key = ""
        """What this process itself calls with; it ends with the fleet."""
        self.worker: Worker
        self._member: FleetMember | None = None

    @property
    def address(self) -> str:
        """Where this process reaches its manager."""
        return reached(self.manager.settings.bind, self.manager.grpc.port)

    @property
    def worker_address(self) -> str:
        return reached(self.worker.settings.bind, self.worker.grpc.port)

    async def administrator(self) -> str:
        """A key to manage this fleet with, for this process alone; it ends with the fleet."""
        may = (Permission.ADMIN, Permission.UPLOAD, Permission.INFERENCE)
        return (await self.manager.services.keys.create(OPERATOR, KeyOrder(KEY_NAME, may))).text

    async def begin(self, root: Path, settings: Settings, progress: Progress | None) -> None:
        """Register the project's models and let a worker in."""
        self.key = await _fresh_key(self.manager.services)
        await self._register(ModelRepository(root / settings.worker.models_dir), progress)
        cache = data_dir(root, settings) / "worker" / "fleet"
        member = FleetMember((self.address,), self.key, settings.worker, cache, tls=self.tls)
        tally = WorkerTally()
        host = open_host(root, settings, tally, member.source, member.plan_for)
        try:
            worker = await start_worker(
                host,
                settings.worker,
                tally,
                access=member.access,
                security=member_security(settings),
            )
        except BaseException:
            await host.close()
            await member.close()
            raise
        self.worker, self._member = worker, member
        await member.join(worker, asyncio.Event())
        await worker.prepare()

    async def close(self) -> None:
        """The worker leaves, its calls under way finish, then the manager ends."""
        if self._member is not None:
            await self._member.leave()
            await self.worker.drain()
            await self._member.close()
        await _revoke_keys(self.manager.services)
        await self.manager.drain()

    async def _register(self, models: ModelRepository, progress: Progress | None) -> None:
        registry = self.manager.services.registry
        newest = await asyncio.to_thread(self._upload, models, progress)
        for name, version in newest.items():
            await registry.promote(OPERATOR, name, int(version), Stage.PRODUCTION, reason=KEY_NAME)

    def _upload(self, models: ModelRepository, progress: Progress | None) -> dict[str, str]:
        with FleetAdmin((self.address,), self.key, tls=self.tls) as admin:
            return register(admin, models, progress)


async def start_local_fleet(
    root: Path, settings: Settings, progress: Progress | None = None
) -> LocalFleet:
    """A fleet on the event loop that is running, ready for calls."""
    stores = find_stores(root, settings)
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
    fleet = LocalFleet(
        manager, key, channel_tls(settings.tls, plain_text=settings.fleet.plain_text)
    )
    try:
        await fleet.begin(root, settings, progress)
    except BaseException:
        await fleet.close()
        raise
    return fleet


async def _fresh_key(services: Services) -> str:
    """A key of this run's own; those of runs that ended in a hurry end here."""
    await _revoke_keys(services)
    may = (Permission.WORKER, Permission.INFERENCE, Permission.UPLOAD)
    return (await services.keys.create(OPERATOR, KeyOrder(KEY_NAME, may))).text


async def _revoke_keys(services: Services) -> None:
    for card, _ in await services.keys.list(OPERATOR):
        if card.name == KEY_NAME and card.revoked_ms is None:
            await services.keys.revoke(OPERATOR, card.key_id)
