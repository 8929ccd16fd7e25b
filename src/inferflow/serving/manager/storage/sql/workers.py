"""Workers as they registered, and duties that one manager at a time has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Row, bindparam, delete, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from inferflow.serving.manager.storage.records import Lease, Sighting, WorkerRecord
from inferflow.serving.manager.storage.sql import tables as t

_W, _D = t.workers.c, t.duties.c


class SqlWorkers:
    def __init__(self, connection: AsyncConnection) -> None:
        self._do = connection.execute

    async def save(self, worker: WorkerRecord) -> None:
        values = {
            "worker_id": worker.worker_id,
            "address": worker.address,
            "registered_ms": worker.registered_ms,
            "last_seen_ms": worker.last_seen_ms,
            "slots": worker.slots,
            "memory_budget_bytes": worker.memory_budget_bytes,
            "devices": [dict(device) for device in worker.devices],
            "labels": dict(worker.labels),
            "software_version": worker.software_version,
            "draining": worker.draining,
            "report": dict(worker.report),
        }
        which = _W.worker_id == worker.worker_id
        if (await self._do(update(t.workers).where(which).values(values))).rowcount == 0:
            await self._do(insert(t.workers).values(values))

    async def seen(self, sightings: Mapping[str, Sighting]) -> None:
        if not sightings:
            return
        which = (_W.worker_id == bindparam("who"), _W.last_seen_ms < bindparam("at"))
        values: dict[str, Any] = {"last_seen_ms": bindparam("at"), "report": bindparam("said")}
        rows = [
            {"who": worker_id, "at": seen.at_ms, "said": dict(seen.report)}
            for worker_id, seen in sightings.items()
        ]
        await self._do(update(t.workers).where(*which).values(values), rows)

    async def set_draining(self, worker_id: str) -> bool:
        which = _W.worker_id == worker_id
        done = await self._do(update(t.workers).where(which).values(draining=True))
        return done.rowcount == 1

    async def all(self) -> tuple[WorkerRecord, ...]:
        rows = await self._do(select(t.workers).order_by(_W.worker_id))
        return tuple(_worker(row) for row in rows)

    async def delete(self, worker_id: str) -> None:
        await self._do(delete(t.workers).where(_W.worker_id == worker_id))


class SqlDuties:
    def __init__(self, connection: AsyncConnection) -> None:
        self._do = connection.execute

    async def take(self, name: str, holder: str, *, now_ms: int, until_ms: int) -> Lease:
        row = (await self._do(select(t.duties).where(_D.name == name))).one_or_none()
        if row is None:
            lease = Lease(name, holder, until_ms, term=1)
            await self._do(insert(t.duties).values(_as_row(lease)))
            return lease
        if row.holder != holder and now_ms < row.until_ms:
            return Lease(name, row.holder, row.until_ms, row.term)
        # A holder that let its time run out starts a new term: it may have missed another's.
        kept = row.holder == holder and now_ms < row.until_ms
        lease = Lease(name, holder, until_ms, term=row.term if kept else row.term + 1)
        await self._do(update(t.duties).where(_D.name == name).values(_as_row(lease)))
        return lease

    async def release(self, name: str, holder: str) -> None:
        which = (_D.name == name, _D.holder == holder)
        await self._do(update(t.duties).where(*which).values(until_ms=0))


def _as_row(lease: Lease) -> dict[str, Any]:
    return {
        "name": lease.name,
        "holder": lease.holder,
        "until_ms": lease.until_ms,
        "term": lease.term,
    }


def _worker(row: Row[Any]) -> WorkerRecord:
    return WorkerRecord(
        worker_id=row.worker_id,
        address=row.address,
        registered_ms=row.registered_ms,
        last_seen_ms=row.last_seen_ms,
        slots=row.slots,
        memory_budget_bytes=row.memory_budget_bytes,
        devices=tuple(row.devices),
        labels=row.labels,
        software_version=row.software_version,
        draining=row.draining,
        report=row.report,
    )
