"""The registry in memory, as of one moment: what every call looks at instead of the database.

A snapshot is replaced whole when the revision moved. A manager refreshes after each change it makes
itself and once per heartbeat period for changes others made, so a revoked key is refused everywhere
within that period.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from inferflow.access import KeyBook, KeyHasher, SigningKey
from inferflow.access.sealing import Sealer
from inferflow.serving.manager.storage import Storage
from inferflow.serving.manager.storage.records import Model, SealedKey


@dataclass(frozen=True, slots=True)
class Snapshot:
    revision: int
    models: Mapping[str, Model]
    signing: tuple[SigningKey, ...]
    revoked_tokens: frozenset[str]


class LiveRegistry:
    """What is known now."""

    def __init__(self, storage: Storage, secret: bytes) -> None:
        self._storage = storage
        self._looking = asyncio.Lock()
        self._sealer = Sealer(secret)
        self.hasher = KeyHasher(secret)
        self.keybook = KeyBook(self.hasher)
        self.snapshot = Snapshot(-1, {}, (), frozenset())

    async def refresh(self) -> bool:
        """Look again if anything was written since; whether that was so."""
        # One look at a time: an older one must not end last.
        async with self._looking:
            # Asked first: a write that slips in between is seen now and looked at once more.
            revision = await self._storage.revision()
            if revision == self.snapshot.revision:
                return False
            await self._look(revision)
            return True

    async def _look(self, revision: int) -> None:
        async with self._storage.reading() as tx:
            models = {model.name: model for model in await tx.models.all()}
            keys = await tx.keys.all()
            signing = tuple(self._opened(key) for key in await tx.signing.all())
            revoked = await tx.signing.revoked_tokens(0)
        self.keybook.replace(keys)
        self.snapshot = Snapshot(revision, models, signing, revoked)

    def _opened(self, key: SealedKey) -> SigningKey:
        seed = self._sealer.open(key.kid, key.sealed)
        return SigningKey(
            key.kid, seed, key.signs_from_ms, key.signs_until_ms, key.verifies_until_ms
        )
