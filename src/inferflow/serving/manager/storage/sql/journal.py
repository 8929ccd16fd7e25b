"""Who changed what, and small facts about the database itself."""

from __future__ import annotations

from collections.abc import Collection, Sequence

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
                model=entry.model or None,
            )
        )

    async def latest(
        self, limit: int, *, by: str = "", models: Collection[str] | None = None
    ) -> Sequence[AuditEntry]:
        query = select(t.audit).order_by(t.audit.c.id.desc()).limit(limit)
        if by:
            query = query.where(t.audit.c.by == by)
        if models is not None:
            query = query.where(t.audit.c.model.in_(models))
        return [
            AuditEntry(row.at_ms, row.by, row.action, row.subject, row.detail, row.model or "")
            for row in await self._do(query)
        ]

    async def models(self) -> frozenset[str]:
        named = select(t.audit.c.model).where(t.audit.c.model.is_not(None)).distinct()
        return frozenset((await self._do(named)).scalars())


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
