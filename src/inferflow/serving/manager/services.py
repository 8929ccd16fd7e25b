"""A manager's services over one database and one model store, opened together.

What serves them to the network, and the fleet they are for, come on top.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inferflow.access import TokenRules
from inferflow.serving.manager.briefing import Briefings
from inferflow.serving.manager.discovery import Discovery
from inferflow.serving.manager.files import ModelFiles, open_files
from inferflow.serving.manager.fleet import Patience
from inferflow.serving.manager.housekeeping import Housekeeping
from inferflow.serving.manager.intake import IntakeLimits
from inferflow.serving.manager.keys import Keys
from inferflow.serving.manager.live import LiveRegistry
from inferflow.serving.manager.orders import UploadLimits
from inferflow.serving.manager.publishing import Publishing
from inferflow.serving.manager.registry import Registry
from inferflow.serving.manager.roster import Roster
from inferflow.serving.manager.rotation import RotationRules, SigningKeys
from inferflow.serving.manager.secret import claim_with_secret
from inferflow.serving.manager.sessions import Sessions
from inferflow.serving.manager.storage import Storage, open_storage
from inferflow.serving.manager.trail import Trail
from inferflow.serving.manager.uploads import Uploads


@dataclass(frozen=True, slots=True)
class ManagerRules:
    """Everything about a manager that may be set."""

    tokens: TokenRules = field(default_factory=TokenRules)
    rotation: RotationRules = field(default_factory=RotationRules)
    uploads: UploadLimits = field(default_factory=UploadLimits)
    intake: IntakeLimits = field(default_factory=IntakeLimits)
    patience: Patience = field(default_factory=Patience)
    check_options: Callable[[Mapping[str, Any]], object] | None = None
    """Raises InvalidInput for serving options that workers would not understand."""
    scratch: Path | None = None
    """Where uploads are put together; None for the system's own place."""


@dataclass(frozen=True, slots=True)
class Services:
    storage: Storage
    files: ModelFiles
    live: LiveRegistry
    registry: Registry
    uploads: Uploads
    publishing: Publishing
    keys: Keys
    sessions: Sessions
    signing: SigningKeys
    housekeeping: Housekeeping
    roster: Roster
    briefings: Briefings
    discovery: Discovery
    trail: Trail

    async def tick(self) -> None:
        """Once per heartbeat period: notice what other managers did, write what was counted."""
        await self.live.refresh()
        await self.roster.share()
        await self.signing.keep()
        await self.keys.flush()

    async def tidy(self) -> None:
        """Once in a while, by one manager or by several."""
        await self.signing.forget()
        await self.roster.forget()
        await self.housekeeping.run()

    async def close(self) -> None:
        try:
            await self.keys.flush()
        finally:
            await self.storage.close()


async def open_services(
    database: str | Path,
    files: str | Path,
    secret: bytes,
    clock: Callable[[], float],
    rules: ManagerRules | None = None,
) -> Services:
    """Open what a manager needs, bring the schema up to date, and be ready to sign.

    `clock` gives seconds since the epoch. Raises RegistryFailed, RegistryBusy or InvalidInput.
    """
    rules = rules or ManagerRules()
    store = open_files(files)
    storage = await open_storage(database)
    try:
        await claim_with_secret(storage, secret)
        services = _assembled(storage, store, secret, clock, rules)
        await services.tick()
    except BaseException:
        await storage.close()
        raise
    return services


def _assembled(
    storage: Storage,
    files: ModelFiles,
    secret: bytes,
    clock: Callable[[], float],
    rules: ManagerRules,
) -> Services:
    live = LiveRegistry(storage, secret)
    registry = Registry(storage, files, live, clock)
    sessions = Sessions(storage, live, clock, tokens=rules.tokens)
    roster = Roster(storage, clock, _new_id, rules.patience)
    uploads = Uploads(
        storage, files, clock, _new_id, rules.uploads, check_options=rules.check_options
    )
    return Services(
        storage=storage,
        files=files,
        live=live,
        registry=registry,
        uploads=uploads,
        publishing=Publishing(
            storage,
            files,
            live,
            uploads,
            clock,
            _new_id,
            intake=rules.intake,
            scratch=rules.scratch,
        ),
        keys=Keys(storage, live, clock),
        sessions=sessions,
        signing=SigningKeys(
            storage, live, secret, clock, tokens=rules.tokens, rotation=rules.rotation
        ),
        housekeeping=Housekeeping(storage, files, clock),
        roster=roster,
        briefings=Briefings(live, sessions, clock),
        discovery=Discovery(registry, roster, sessions, clock, random.random),
        trail=Trail(storage),
    )


def _new_id() -> str:
    return secrets.token_hex(16)
