"""Signing keys, sealed, and tokens that were taken back."""

from __future__ import annotations

from sqlalchemy import delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from inferflow.serving.manager.storage.records import SealedKey
from inferflow.serving.manager.storage.sql import tables as t

_K, _R = t.signing_keys.c, t.revoked_tokens.c


class SqlSigning:
    def __init__(self, connection: AsyncConnection) -> None:
        self._do = connection.execute

    async def save(self, key: SealedKey) -> None:
        values = {
            "kid": key.kid,
            "sealed": key.sealed,
            "signs_from_ms": key.signs_from_ms,
            "signs_until_ms": key.signs_until_ms,
            "verifies_until_ms": key.verifies_until_ms,
        }
        done = await self._do(update(t.signing_keys).where(_K.kid == key.kid).values(values))
        if done.rowcount == 0:
            await self._do(insert(t.signing_keys).values(values))

    async def all(self) -> tuple[SealedKey, ...]:
        rows = await self._do(select(t.signing_keys).order_by(_K.signs_from_ms, _K.kid))
        return tuple(
            SealedKey(
                row.kid,
                bytes(row.sealed),
                row.signs_from_ms,
                row.signs_until_ms,
                row.verifies_until_ms,
            )
            for row in rows
        )

    async def delete(self, kid: str) -> None:
        await self._do(delete(t.signing_keys).where(_K.kid == kid))

    async def revoke_token(self, token_id: str, until_ms: int) -> None:
        which = _R.token_id == token_id
        done = await self._do(update(t.revoked_tokens).where(which).values(until_ms=until_ms))
        if done.rowcount == 0:
            values = {"token_id": token_id, "until_ms": until_ms}
            await self._do(insert(t.revoked_tokens).values(values))

    async def revoked_tokens(self, now_ms: int) -> frozenset[str]:
        query = select(_R.token_id).where(_R.until_ms > now_ms)
        return frozenset((await self._do(query)).scalars())

    async def forget_tokens(self, now_ms: int) -> None:
        await self._do(delete(t.revoked_tokens).where(_R.until_ms <= now_ms))
