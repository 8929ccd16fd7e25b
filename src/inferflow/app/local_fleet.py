"""A fleet in one process: a manager and a worker beside a project that is served.

The project's models are registered, each version once, and the highest of each goes into
production. It is a fleet like any other: callers need API keys, workers check session tokens, and
other workers may join. What is registered stays, in the project's state.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from inferflow.access import OPERATOR, Permission
from inferflow.app.manager import Manager, find_stores, first_key, rules_of, start_manager
from inferflow.app.member import FleetMember
from inferflow.app.places import data_dir
from inferflow.app.settings import Settings
from inferflow.app.worker import Worker, open_host, start_worker
from inferflow.client.manager.admin import FleetAdmin
from inferflow.client.manager.uploading import files_at
from inferflow.serving.manager.keys import KeyOrder
from inferflow.serving.manager.services import Services, open_services
from inferflow.serving.manager.storage.records import Stage
from inferflow.serving.runtime import ModelRepository
from inferflow.telemetry.worker_tally import WorkerTally

KEY_NAME = "inferflow up"
_WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1"}

Progress = Callable[[str, int, int], None]


class LocalFleet:
    """A running fleet of one worker. Made by `start_local_fleet`; close it when done."""

    def __init__(self, manager: Manager, first_key: str) -> None:
        self.manager = manager
        self.first_key = first_key
        """The administrator's key, when it was made just now."""
        self.key = ""
        """What this process itself calls with; it ends with the fleet."""
        self.worker: Worker
        self._member: FleetMember | None = None

    @property
    def address(self) -> str:
        """Where this process reaches its manager."""
        return _reached(self.manager.settings.bind, self.manager.grpc.port)

    @property
    def worker_address(self) -> str:
        return _reached(self.worker.settings.bind, self.worker.grpc.port)

    async def begin(self, root: Path, settings: Settings, progress: Progress | None) -> None:
        """Register the project's models and let a worker in."""
        self.key = await _fresh_key(self.manager.services)
        await self._register(ModelRepository(root / settings.worker.models_dir), progress)
        cache = data_dir(root, settings) / "worker" / "fleet"
        member = FleetMember((self.address,), self.key, settings.worker, cache)
        tally = WorkerTally()
        host = open_host(root, settings, tally, member.source, member.plan_for)
        try:
            worker = await start_worker(host, settings.worker, tally, access=member.access)
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
        """The registry's number of each model's highest version, in a thread that may wait."""
        newest: dict[str, str] = {}
        with FleetAdmin((self.address,), self.key) as admin:
            there = {model["name"]: model["versions"] for model in admin.models()}
            for name in models.names():
                known = {each["digest"]: each["version"] for each in there.get(name, ())}
                for version in models.versions(name):
                    file = models.find(name, version)
                    if file.digest not in known:
                        # A number that is taken by other bytes gives way to the next.
                        wanted = "" if version in known.values() else version
                        files = files_at(file.path.parent)
                        made = admin.upload(name, files, version=wanted, progress=progress)
                        known[file.digest] = made["version"]
                    newest[name] = known[file.digest]
        return newest


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
        manager = await start_manager(services, settings.manager)
    except BaseException:
        await services.close()
        raise
    fleet = LocalFleet(manager, key)
    try:
        await fleet.begin(root, settings, progress)
    except BaseException:
        await fleet.close()
        raise
    return fleet


def _reached(bind: str, port: int) -> str:
    host = _WILDCARDS.get(bind, bind)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


async def _fresh_key(services: Services) -> str:
    """A key of this run's own; those of runs that ended in a hurry end here."""
    await _revoke_keys(services)
    may = (Permission.WORKER, Permission.INFERENCE, Permission.UPLOAD)
    return (await services.keys.create(OPERATOR, KeyOrder(KEY_NAME, may))).text


async def _revoke_keys(services: Services) -> None:
    for card, _ in await services.keys.list(OPERATOR):
        if card.name == KEY_NAME and card.revoked_ms is None:
            await services.keys.revoke(OPERATOR, card.key_id)
