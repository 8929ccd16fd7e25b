"""The workers of a fleet: who joined, who is heard of, who leaves.

A worker talks to one manager at a time. What it says is in that manager's memory at once, and with
the next `share` in the store, where the other managers find it. So each of them can send callers to
every worker, and a worker that turns to another manager is known there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace

from inferflow.access import KeyCard, Permission
from inferflow.errors import NotFound, RegistryConflict
from inferflow.serving.manager.fleet import Fleet, Patience, WorkerState, WorkerView
from inferflow.serving.manager.joining import Joining, check_joining
from inferflow.serving.manager.reports import DeviceReport, WorkerReport, report_from
from inferflow.serving.manager.storage import Storage
from inferflow.serving.manager.storage.records import AuditEntry, Sighting, WorkerRecord


@dataclass(frozen=True, slots=True)
class KnownWorker:
    """Everything a manager knows of one worker."""

    record: WorkerRecord
    view: WorkerView
    state: WorkerState
    report: WorkerReport


class Roster:
    def __init__(
        self,
        storage: Storage,
        clock: Callable[[], float],
        new_id: Callable[[], str],
        patience: Patience | None = None,
    ) -> None:
        """`clock` gives seconds since the epoch, for managers compare their times."""
        self._storage = storage
        self._clock = clock
        self._new_id = new_id
        self.patience = patience or Patience()
        self.fleet = Fleet()
        self._records: dict[str, WorkerRecord] = {}
        self._reports: dict[str, WorkerReport] = {}
        self._unshared: dict[str, Sighting] = {}
        # A worker that joins while the store is read must not be taken for one that is gone.
        self._changing = asyncio.Lock()

    async def join(self, by: KeyCard, joining: Joining) -> WorkerRecord:
        """Take a worker in. One that was known begins anew, also if it was leaving.

        Raises InvalidInput, or RegistryConflict when another worker of that name is at work.
        """
        by.require(Permission.WORKER)
        check_joining(joining)
        now_ms = self._now_ms()
        record = WorkerRecord(
            worker_id=joining.worker_id or f"worker-{self._new_id()[:12]}",
            address=joining.address,
            registered_ms=now_ms,
            last_seen_ms=now_ms,
            slots=joining.slots,
            memory_budget_bytes=joining.memory_budget_bytes,
            devices=tuple(asdict(device) for device in joining.devices),
            labels=dict(joining.labels),
            software_version=joining.software_version,
        )
        async with self._changing:
            self._refuse_double(record)
            async with self._storage.writing(quietly=True) as tx:
                await tx.workers.save(record)
            self._take(record)
        return record

    def hear(self, by: KeyCard, worker_id: str, sequence: int, report: WorkerReport) -> bool:
        """A worker's report; False when it is not known and must join. In memory."""
        by.require(Permission.WORKER)
        now_s = self._clock()
        heard = self.fleet.reported(
            worker_id, sequence, report.load(), now_s=now_s, patience=self.patience
        )
        if heard is None:
            return False
        self.fleet = heard
        if heard.workers[worker_id].sequence == sequence:
            self._reports[worker_id] = report
        known = self._reports.get(worker_id, report)
        self._unshared[worker_id] = Sighting(int(now_s * 1000), known.as_dict())
        return True

    async def drain(self, by: KeyCard, worker_id: str) -> None:
        """No new caller is sent to it from now on. Raises NotFound."""
        if Permission.ADMIN not in by.permissions:
            by.require(Permission.WORKER)
        async with self._changing:
            async with self._storage.writing(quietly=True) as tx:
                if not await tx.workers.set_draining(worker_id):
                    raise NotFound("worker", worker_id)
                entry = AuditEntry(self._now_ms(), by.key_id, "worker drained", worker_id)
                await tx.audit.add(entry)
            self.fleet = self.fleet.draining(worker_id)

    async def share(self) -> None:
        """Once per period: write who was heard of, and learn what other managers know."""
        async with self._changing:
            unshared, self._unshared = self._unshared, {}
            try:
                if unshared:
                    async with self._storage.writing(quietly=True) as tx:
                        await tx.workers.seen(unshared)
            except BaseException:
                self._unshared = {**unshared, **self._unshared}
                raise
            async with self._storage.reading() as tx:
                records = await tx.workers.all()
            self._learn({record.worker_id: record for record in records})

    async def forget(self) -> tuple[str, ...]:
        """Drop workers that are not coming back; who they were. One manager at a time does so."""
        gone = self.fleet.forgotten(self._clock(), self.patience)
        if gone:
            async with self._changing:
                async with self._storage.writing(quietly=True) as tx:
                    for worker_id in gone:
                        await tx.workers.delete(worker_id)
                self._drop(gone)
        return gone

    def known(self) -> tuple[KnownWorker, ...]:
        """Every worker, by id."""
        states = self.fleet.states(self._clock(), self.patience)
        return tuple(
            KnownWorker(
                self._records[worker_id],
                view,
                states[worker_id],
                self._reports.get(worker_id, WorkerReport()),
            )
            for worker_id, view in sorted(self.fleet.workers.items())
        )

    def view(self, worker_id: str) -> WorkerView | None:
        return self.fleet.workers.get(worker_id)

    def _refuse_double(self, record: WorkerRecord) -> None:
        """Two workers under one name would take each other's callers and tokens."""
        known = self.view(record.worker_id)
        if known is None or known.address == record.address or known.is_draining:
            return
        if known.state(self._clock(), self.patience) is WorkerState.ONLINE:
            raise RegistryConflict(
                f"worker_id: {record.worker_id!r} is at work at {known.address}; give this one "
                "another id, or wait until that one has been silent for a while"
            )

    def _learn(self, records: dict[str, WorkerRecord]) -> None:
        for worker_id, record in records.items():
            mine = self._records.get(worker_id)
            if mine is None or record.registered_ms > mine.registered_ms:
                self._take(record)
                continue
            view = self.fleet.workers[worker_id]
            if record.draining and not view.is_draining:
                self.fleet = self.fleet.draining(worker_id)
            if record.last_seen_ms / 1000 > view.last_seen_s:
                self._heard_elsewhere(record)
        self._drop(tuple(self._records.keys() - records.keys()))

    def _heard_elsewhere(self, record: WorkerRecord) -> None:
        report = report_from(record.report)
        seen_s = record.last_seen_ms / 1000
        view = replace(self.fleet.workers[record.worker_id], last_seen_s=seen_s, load=report.load())
        self.fleet = self.fleet.joined(view)
        self._reports[record.worker_id] = report

    def _take(self, record: WorkerRecord) -> None:
        report = report_from(record.report)
        devices = [DeviceReport(**device) for device in record.devices]
        self._records[record.worker_id] = record
        self._reports[record.worker_id] = report
        self.fleet = self.fleet.joined(
            WorkerView(
                record.worker_id,
                record.address,
                record.last_seen_ms / 1000,
                slots=record.slots,
                gpus=sum(device.kind != "cpu" for device in devices),
                is_draining=record.draining,
                load=report.load(),
            )
        )

    def _drop(self, worker_ids: tuple[str, ...]) -> None:
        self.fleet = self.fleet.without(worker_ids)
        for worker_id in worker_ids:
            self._records.pop(worker_id, None)
            self._reports.pop(worker_id, None)

    def _now_ms(self) -> int:
        return int(self._clock() * 1000)
