"""API keys as a service: made, listed, revoked, and counted."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from inferflow.access import (
    OPERATOR,
    KeyCard,
    ModelPatterns,
    NewKey,
    Permission,
    RateLimit,
    mint_key,
)
from inferflow.access.keys import LONGEST_NAME, parse_key
from inferflow.access.permissions import permissions_of
from inferflow.errors import InvalidInput, NotFound, PermissionDenied, RegistryConflict
from inferflow.serving.manager.live import LiveRegistry
from inferflow.serving.manager.names import check_text
from inferflow.serving.manager.storage import Storage
from inferflow.serving.manager.storage.records import AuditEntry, Usage


@dataclass(frozen=True, slots=True)
class KeyOrder:
    """What a new key shall be good for."""

    name: str
    permissions: Sequence[str]
    models: Sequence[str] = ()
    expires_ms: int | None = None
    rate: RateLimit | None = None


@dataclass(frozen=True, slots=True)
class CreatedKey:
    card: KeyCard
    text: str = field(repr=False)
    """The key itself, to be had this once."""


class Keys:
    def __init__(
        self,
        storage: Storage,
        live: LiveRegistry,
        clock: Callable[[], float],
        random_bytes: Callable[[int], bytes] = secrets.token_bytes,
    ) -> None:
        self._storage = storage
        self._live = live
        self._clock = clock
        self._random_bytes = random_bytes
        self._used: Counter[str] = Counter()

    def authenticate(self, text: str) -> KeyCard:
        """Whose key this is. In memory; raises Unauthenticated."""
        return self._live.keybook.authenticate(text, now_ms=self._now_ms())

    async def create(self, by: KeyCard, order: KeyOrder) -> CreatedKey:
        by.require(Permission.ADMIN)
        return await self._add(by, order, mint_key(self._random_bytes))

    async def _add(self, by: KeyCard, order: KeyOrder, created: NewKey) -> CreatedKey:
        card = self._card(by, order, created.key_id)
        async with self._storage.writing() as tx:
            await tx.keys.add(self._live.hasher.stored(card, created))
            detail = {"name": card.name, "permissions": sorted(card.permissions)}
            await tx.audit.add(
                AuditEntry(card.created_ms, by.key_id, "key created", card.key_id, detail)
            )
        await self._live.refresh()
        return CreatedKey(card, created.text)

    async def create_first(self, text: str = "") -> CreatedKey | None:
        """An administrator's key for a registry that has no key at all, else nothing.

        A key that the operator brought as `text` is taken in whenever it is not known yet.
        """
        may = tuple(permission for permission in Permission if permission is not Permission.WORKER)
        order = KeyOrder("first", may)
        if text:
            return await self._bring(NewKey(parse_key(text)[0], text), order)
        if len(self._live.keybook):
            return None
        return await self.create(OPERATOR, order)

    async def _bring(self, key: NewKey, order: KeyOrder) -> CreatedKey | None:
        if self._live.keybook.card(key.key_id) is None:
            return await self._add(OPERATOR, order, key)
        self.authenticate(key.text)  # tells when it was revoked, or has another secret
        return None

    async def list(self, by: KeyCard) -> tuple[tuple[KeyCard, Usage], ...]:
        by.require(Permission.ADMIN)
        async with self._storage.reading() as tx:
            usage = await tx.keys.usage()
            keys = await tx.keys.all()
        return tuple((key.card, usage.get(key.card.key_id, Usage())) for key in keys)

    async def revoke(self, by: KeyCard, key_id: str) -> KeyCard:
        """From now on nobody is let in by this key. A second time changes nothing."""
        by.require(Permission.ADMIN)
        now_ms = self._now_ms()
        async with self._storage.writing() as tx:
            cards = {key.card.key_id: key.card for key in await tx.keys.all()}
            if key_id not in cards:
                raise NotFound("API key", key_id)
            _refuse_last(cards, key_id, now_ms)
            await tx.keys.revoke(key_id, now_ms)
            await tx.audit.add(AuditEntry(now_ms, by.key_id, "key revoked", key_id))
        await self._live.refresh()
        card = self._live.keybook.card(key_id)
        if card is None:
            raise NotFound("API key", key_id)
        return card

    def count(self, used: Mapping[str, int]) -> None:
        """Calls that keys made, to be written with the next `flush`."""
        self._used.update(used)

    async def flush(self) -> None:
        """Write what was counted. On failure it stays counted."""
        used, self._used = self._used, Counter()
        if not used:
            return
        try:
            async with self._storage.writing(quietly=True) as tx:
                await tx.keys.add_usage(used, self._now_ms())
        except BaseException:
            self._used.update(used)
            raise

    def _card(self, by: KeyCard, order: KeyOrder, key_id: str) -> KeyCard:
        now_ms = self._now_ms()
        if not order.name.strip():
            raise InvalidInput("name: a key needs one, to be known by in lists")
        if order.expires_ms is not None and order.expires_ms <= now_ms:
            raise InvalidInput("expires_ms: this time has passed already")
        models = ModelPatterns(tuple(order.models))
        if not by.models.cover(models):
            own = ", ".join(by.models.patterns)
            raise PermissionDenied(f"key {by.key_id!r} can make keys for these models only: {own}")
        return KeyCard(
            key_id=key_id,
            name=check_text("name", order.name, longest=LONGEST_NAME),
            permissions=permissions_of(order.permissions),
            models=models,
            created_ms=now_ms,
            created_by=by.key_id,
            expires_ms=order.expires_ms,
            rate=order.rate,
        )

    def _now_ms(self) -> int:
        return int(self._clock() * 1000)


def _refuse_last(cards: Mapping[str, KeyCard], key_id: str, now_ms: int) -> None:
    """Nobody shall lock everybody out."""
    admins = {
        card.key_id
        for card in cards.values()
        if card.is_live(now_ms) and Permission.ADMIN in card.permissions
    }
    if admins == {key_id}:
        raise RegistryConflict(
            f"key {key_id!r} is the last that can manage keys; create another admin key first"
        )
