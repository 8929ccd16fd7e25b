"""Who changed what, and small facts about the database itself."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from inferflow.serving.manager.storage.records import AuditEntry
from inferflow.serving.manager.storage.sql import tables as t


class SqlAudit:
    def __init__(self, connection: AsyncConnection) -> None:
        self._do = connection.execute

    async def add(self, entry: AuditEntry) -> None:
        await self._do(
            insert(t.audit).values(
                at_ms=entry.at_ms,
                by=entry.by,
                action=entry.action,
                subject=entry.subject,
                detail=dict(entry.detail),
            )
        )

    async def latest(self, limit: int) -> Sequence[AuditEntry]:
        rows = await self._do(select(t.audit).order_by(t.audit.c.id.desc()).limit(limit))
        return [AuditEntry(r.at_ms, r.by, r.action, r.subject, r.detail) for r in rows]


class SqlFacts:
    def __init__(self, connection: AsyncConnection) -> None:
        self._do = connection.execute

    async def get(self, name: str) -> str | None:
        found = await self._do(select(t.facts.c.value).where(t.facts.c.name == name))
        return found.scalar_one_or_none()

    async def set(self, name: str, value: str) -> None:
        which = t.facts.c.name == name
        if (await self._do(update(t.facts).where(which).values(value=value))).rowcount == 0:
            await self._do(insert(t.facts).values(name=name, value=value))
