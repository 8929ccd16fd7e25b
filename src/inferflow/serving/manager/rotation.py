"""The keys that sign session tokens: made, changed in time, withdrawn.

They live in the database, sealed, so that every manager signs with the same one. A key is published
to workers `lead_s` before it signs and stays published until its last token has ended; only a key
that is needed at once, the first or the successor of a leaked one, signs at once.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from inferflow.access import KeyCard, Permission, SigningKey, TokenRules
from inferflow.access.sealing import Sealer
from inferflow.access.signing import new_signing_key
from inferflow.errors import NotFound
from inferflow.serving.manager.live import LiveRegistry
from inferflow.serving.manager.storage import Storage, Transaction
from inferflow.serving.manager.storage.records import AuditEntry, SealedKey


@dataclass(frozen=True, slots=True)
class RotationRules:
    """How often signing keys change, and how long workers know one before it is used."""

    every_s: int = 30 * 86_400
    lead_s: int = 60


class SigningKeys:
    def __init__(
        self,
        storage: Storage,
        live: LiveRegistry,
        secret: bytes,
        clock: Callable[[], float],
        *,
        tokens: TokenRules,
        rotation: RotationRules | None = None,
        random_bytes: Callable[[int], bytes] = secrets.token_bytes,
    ) -> None:
        self._storage = storage
        self._live = live
        self._sealer = Sealer(secret)
        self._clock = clock
        self._outlives_ms = (tokens.ttl_s + 2 * tokens.leeway_s) * 1000
        self._rotation = rotation or RotationRules()
        self._random_bytes = random_bytes

    async def keep(self) -> None:
        """See to it that somebody can sign, now and after the present key.

        Cheap when there is nothing to do. Managers that come at once make one key, not two.
        """
        now_ms = self._now_ms()
        soon_ms = now_ms + 2 * self._rotation.lead_s * 1000
        known = self._live.snapshot.signing
        if _can_sign(known, now_ms) and _signs_until(known) > soon_ms:
            return
        async with self._storage.writing() as tx:
            kept = await tx.signing.all()
            if not _can_sign(kept, now_ms):  # there is none, or the clock was set back
                await self._add(tx, starts_ms=now_ms)
            elif (until_ms := _signs_until(kept)) <= soon_ms:
                await self._add(tx, starts_ms=until_ms)
        await self._live.refresh()

    async def rotate(self, by: KeyCard) -> None:
        """Change to a new key as soon as every worker can know it."""
        by.require(Permission.ADMIN)
        now_ms = self._now_ms()
        starts_ms = now_ms + self._rotation.lead_s * 1000
        async with self._storage.writing() as tx:
            for key in await tx.signing.all():
                await self._end(tx, key, starts_ms)
            made = await self._add(tx, starts_ms=starts_ms)
            await tx.audit.add(AuditEntry(now_ms, by.key_id, "signing key rotated", made.kid))
        await self._live.refresh()

    async def withdraw(self, by: KeyCard, kid: str) -> None:
        """A key leaked: nothing it signed is accepted any longer."""
        by.require(Permission.ADMIN)
        now_ms = self._now_ms()
        async with self._storage.writing() as tx:
            kept = await tx.signing.all()
            if kid not in {key.kid for key in kept}:
                raise NotFound("signing key", kid)
            await tx.signing.delete(kid)
            left = [key for key in kept if key.kid != kid]
            if not _can_sign(left, now_ms):
                await self._add(tx, starts_ms=now_ms)
            await tx.audit.add(AuditEntry(now_ms, by.key_id, "signing key withdrawn", kid))
        await self._live.refresh()

    async def forget(self) -> None:
        """Drop keys whose last token has ended."""
        now_ms = self._now_ms()
        if all(now_ms < key.verifies_until_ms for key in self._live.snapshot.signing):
            return
        async with self._storage.writing() as tx:
            for key in await tx.signing.all():
                if now_ms >= key.verifies_until_ms:
                    await tx.signing.delete(key.kid)
        await self._live.refresh()

    async def _end(self, tx: Transaction, key: SealedKey, at_ms: int) -> None:
        if key.signs_from_ms >= at_ms:
            await tx.signing.delete(key.kid)
        elif key.signs_until_ms > at_ms:
            verifies_until_ms = at_ms + self._outlives_ms
            await tx.signing.save(
                replace(key, signs_until_ms=at_ms, verifies_until_ms=verifies_until_ms)
            )

    async def _add(self, tx: Transaction, *, starts_ms: int) -> SigningKey:
        until_ms = starts_ms + self._rotation.every_s * 1000
        made = new_signing_key(
            self._random_bytes,
            signs_from_ms=starts_ms,
            signs_until_ms=until_ms,
            verifies_until_ms=until_ms + self._outlives_ms,
        )
        sealed = self._sealer.seal(made.kid, made.seed, self._random_bytes)
        await tx.signing.save(
            SealedKey(
                made.kid, sealed, made.signs_from_ms, made.signs_until_ms, made.verifies_until_ms
            )
        )
        return made

    def _now_ms(self) -> int:
        return int(self._clock() * 1000)


def _can_sign(keys: Sequence[SigningKey | SealedKey], now_ms: int) -> bool:
    return any(key.signs_from_ms <= now_ms < key.signs_until_ms for key in keys)


def _signs_until(keys: Sequence[SigningKey | SealedKey]) -> int:
    return max((key.signs_until_ms for key in keys), default=0)
