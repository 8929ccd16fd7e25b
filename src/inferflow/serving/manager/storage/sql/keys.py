"""API keys and how much they were used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Row, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from inferflow.access import KeyCard, ModelPatterns, Permission, RateLimit, StoredKey
from inferflow.serving.manager.storage.records import Usage
from inferflow.serving.manager.storage.sql import tables as t


class SqlKeys:
    def __init__(self, connection: AsyncConnection) -> None:
        self._do = connection.execute

    async def add(self, key: StoredKey) -> None:
        card = key.card
        await self._do(
            insert(t.api_keys).values(
                key_id=card.key_id,
                name=card.name,
                digest=key.digest,
                permissions=sorted(permission.value for permission in card.permissions),
                models=list(card.models.patterns),
                created_ms=card.created_ms,
                created_by=card.created_by,
                expires_ms=card.expires_ms,
                revoked_ms=card.revoked_ms,
                per_second=card.rate.per_second if card.rate else None,
                burst=card.rate.burst if card.rate else None,
            )
        )
        await self._do(insert(t.key_usage).values(key_id=card.key_id, requests=0, last_used_ms=0))

    async def all(self) -> tuple[StoredKey, ...]:
        query = select(t.api_keys).order_by(t.api_keys.c.created_ms, t.api_keys.c.key_id)
        return tuple(_stored(row) for row in await self._do(query))

    async def revoke(self, key_id: str, at_ms: int) -> bool:
        first = func.coalesce(t.api_keys.c.revoked_ms, at_ms)
        which = t.api_keys.c.key_id == key_id
        done = await self._do(update(t.api_keys).where(which).values(revoked_ms=first))
        return done.rowcount == 1

    async def add_usage(self, used: Mapping[str, int], at_ms: int) -> None:
        usage = t.key_usage.c
        for key_id, count in used.items():
            await self._do(
                update(t.key_usage)
                .where(usage.key_id == key_id, usage.last_used_ms <= at_ms)
                .values(last_used_ms=at_ms)
            )
            await self._do(
                update(t.key_usage)
                .where(usage.key_id == key_id)
                .values(requests=usage.requests + count)
            )

    async def usage(self) -> Mapping[str, Usage]:
        rows = await self._do(select(t.key_usage))
        return {row.key_id: Usage(row.requests, row.last_used_ms) for row in rows}


def _stored(row: Row[Any]) -> StoredKey:
    rate = None if row.per_second is None else RateLimit(row.per_second, row.burst)
    card = KeyCard(
        key_id=row.key_id,
        name=row.name,
        permissions=frozenset(Permission(name) for name in row.permissions),
        models=ModelPatterns(tuple(row.models)),
        created_ms=row.created_ms,
        created_by=row.created_by,
        expires_ms=row.expires_ms,
        revoked_ms=row.revoked_ms,
        rate=rate,
    )
    return StoredKey(card, bytes(row.digest))
