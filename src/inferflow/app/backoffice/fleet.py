"""A fleet, asked through its manager: each call with the key of whoever makes it.

Where callers bring no key because nobody is asked for one, the gateway shows its own; so it does
to a fleet that is its own process's. What it calls with is marked, and cannot be revoked here: it
would cut itself off.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from inferflow.access.keys import looks_like_key, parse_key
from inferflow.api.gateway.management.ports import KeyWish
from inferflow.client.manager.admin import FleetAdmin
from inferflow.errors import RegistryConflict

Facts = dict[str, Any]
OpenAdmin = Callable[[str], FleetAdmin]
"""A line to the manager, with a key."""
T = TypeVar("T")


class ManagedFleet:
    """Implements `api.gateway.management.ports.Fleet`."""

    def __init__(
        self, open_admin: OpenAdmin, own_key: str = "", *, also_own: Sequence[str] = ()
    ) -> None:
        """`also_own` are further keys that this process lives by."""
        self._open = open_admin
        self._own_key = own_key
        shown = [each for each in (own_key, *also_own) if looks_like_key(each)]
        self._own_ids = frozenset(parse_key(each)[0] for each in shown)

    @property
    def own_key(self) -> str:
        """What the gateway asks with on its own behalf; empty when it has nothing to show."""
        return self._own_key

    # --- models -----------------------------------------------------------------------------

    async def models(self, credential: str) -> list[Facts]:
        return await self._asked(credential, lambda admin: admin.models())

    async def model(self, credential: str, name: str) -> Facts:
        return await self._asked(credential, lambda admin: admin.model(name))

    async def upload(
        self,
        credential: str,
        name: str,
        files: Mapping[str, Path],
        *,
        version: str,
        stage: str,
        description: str,
    ) -> Facts:
        return await self._asked(
            credential,
            lambda admin: admin.upload(
                name, files, version=version, stage=stage, description=description
            ),
        )

    async def promote(
        self, credential: str, name: str, version: str, stage: str, reason: str
    ) -> Facts:
        return await self._asked(
            credential, lambda admin: admin.promote(name, version, stage, reason=reason)
        )

    async def delete_version(self, credential: str, name: str, version: str) -> None:
        await self._asked(credential, lambda admin: admin.delete_version(name, version))

    async def set_traffic(self, credential: str, name: str, traffic: Mapping[str, float]) -> Facts:
        return await self._asked(credential, lambda admin: admin.set_traffic(name, traffic))

    # --- workers ----------------------------------------------------------------------------

    async def workers(self, credential: str) -> list[Facts]:
        return await self._asked(credential, lambda admin: admin.workers())

    async def drain(self, credential: str, worker_id: str) -> None:
        await self._asked(credential, lambda admin: admin.drain(worker_id))

    # --- keys -------------------------------------------------------------------------------

    async def keys(self, credential: str) -> list[Facts]:
        found = await self._asked(credential, lambda admin: admin.keys())
        return [self._marked(each) for each in found]

    async def create_key(self, credential: str, wish: KeyWish) -> Facts:
        made = await self._asked(
            credential,
            lambda admin: admin.create_key(
                wish.name,
                wish.permissions,
                models=wish.models,
                expires_ms=wish.expires_ms,
                per_second=wish.per_second,
                burst=wish.burst,
            ),
        )
        return {"key": self._marked(made["key"]), "text": made["secret"]}

    async def revoke_key(self, credential: str, key_id: str) -> Facts:
        """Raises RegistryConflict for what this gateway itself calls with."""
        if key_id in self._own_ids:
            raise RegistryConflict(
                f"key {key_id!r} is what this gateway calls its fleet with; give it another, or end"
                " it, first"
            )
        revoked = await self._asked(credential, lambda admin: admin.revoke_key(key_id))
        return self._marked(revoked)

    def _marked(self, key: Facts) -> Facts:
        return {**key, "is_own": key["key_id"] in self._own_ids}

    async def audit(self, credential: str, limit: int) -> list[Facts]:
        return await self._asked(credential, lambda admin: admin.audit(limit))

    async def _asked(self, credential: str, ask: Callable[[FleetAdmin], T]) -> T:
        """In a thread, on a line of its own: it ends with the call, and its key with it."""

        def asked() -> T:
            with self._open(credential or self._own_key) as admin:
                return ask(admin)

        return await asyncio.to_thread(asked)
