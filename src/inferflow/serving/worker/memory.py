"""Brings models into a worker's memory and lets go of them, within a budget.

A model leaves when idle, or when another needs its room and it is the one used least recently; it
never leaves while it is in use, and runs under way finish. A model that cannot be loaded is left
alone for a while, longer each time, and touches no other: what was in memory goes on serving.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from inferflow.engine.deadline import Clock
from inferflow.errors import InferflowError, ModelUnavailable, NoRoom
from inferflow.serving.runtime.port import Runtime
from inferflow.serving.worker.crashes import CrashLedger
from inferflow.serving.worker.eviction import Held, evictions
from inferflow.serving.worker.lane import Lane
from inferflow.serving.worker.loader import Loaded, Loader
from inferflow.serving.worker.observer import WorkerObserver
from inferflow.serving.worker.policy import HostPolicy, ModelPlan
from inferflow.serving.worker.resident import Resident
from inferflow.serving.worker.slots import RunSlots
from inferflow.serving.worker.source import ModelSource

log = logging.getLogger(__name__)

Result = TypeVar("Result")

_LOADERS = 2


class ModelMemory:
    """Lives on one event loop. Close it when done."""

    def __init__(
        self,
        residents: Mapping[tuple[str, str], Resident],
        source: ModelSource,
        runtime: Runtime,
        *,
        policy: HostPolicy,
        plan_for: Callable[[str], ModelPlan],
        crashes: CrashLedger | None,
        observer: WorkerObserver,
        clock: Clock,
        process_bytes: Callable[[], int],
    ) -> None:
        """`residents` is every version there is, in memory or not; its owner may add and remove
        those that are not."""
        self._residents = residents
        self._runtime = runtime
        self._loader = Loader(source, runtime, crashes, process_bytes)
        self._policy = policy
        self._plan_for = plan_for
        self._observer = observer
        self._clock = clock
        self._slots = RunSlots(policy.threads)
        self._threads = ThreadPoolExecutor(policy.threads, "inferflow-run")
        self._loaders = ThreadPoolExecutor(_LOADERS, "inferflow-load")

    def begin_load(self, resident: Resident) -> None:
        """Load it beside what goes on; `resident.loading` is what to wait for."""
        resident.loading = asyncio.get_running_loop().create_task(self._load(resident))
        resident.loading.add_done_callback(lambda done: _ended(resident, done))

    def unload(self, resident: Resident, why: str) -> None:
        if resident.lane is not None:
            self._retire(resident, why)
            resident.memory_bytes = 0
            log.info("model_unloaded", extra={"model": resident.label, "why": why})

    def stop(self, resident: Resident, why: str) -> None:
        """Unload it, and give up its load if one is under way."""
        if resident.loading is not None:
            resident.loading.cancel()
        self.unload(resident, why)

    def unload_idle(self) -> None:
        idle_s = self._policy.idle_unload_s
        if idle_s is None:
            return
        before = self._clock() - idle_s
        for resident in list(self._residents.values()):
            lane = resident.lane
            if lane is not None and not resident.is_busy and lane.last_used <= before:
                self.unload(resident, "idle")

    async def in_loader(self, work: Callable[..., Result], *arguments: object) -> Result:
        """Run on one of the threads that load, so that no more files are read at once."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._loaders, work, *arguments)

    async def close(self) -> None:
        for resident in list(self._residents.values()):
            self.stop(resident, "closing")
        self._loaders.shutdown(wait=False, cancel_futures=True)
        self._runtime.stop_runs()
        await asyncio.get_running_loop().run_in_executor(None, self._threads.shutdown)
        self._runtime.close()

    async def _load(self, resident: Resident) -> Lane:
        began = self._clock()
        taken = resident.memory_bytes
        try:
            loaded = await self._load_within_budget(resident)
        except BaseException as failed:
            resident.memory_bytes = taken if resident.lane is not None else 0
            if isinstance(failed, NoRoom) or not isinstance(failed, Exception):
                raise
            raise self._failed(resident, failed) from failed
        if loaded is not None:
            self._swap_in(resident, loaded)
            self._keep_to_budget(resident)
            seconds = self._clock() - began
            self._observer.loaded(resident.model, resident.version, seconds)
            facts = {"model": resident.label, "memory_bytes": resident.memory_bytes}
            log.info("model_loaded", extra=facts)
        resident.note_success()
        assert resident.lane is not None
        return resident.lane

    async def _load_within_budget(self, resident: Resident) -> Loaded | None:
        """The model; None when just these files are in memory already."""
        file, needed = await self.in_loader(self._loader.fetch, resident.model, resident.version)
        if resident.lane is not None and file.digest == resident.digest:
            return None
        self._make_room(resident, needed)
        options = self._plan_for(resident.model).options
        return await self.in_loader(self._loader.load, file, options)

    def _make_room(self, resident: Resident, needed: int) -> None:
        """Evict what has to go, and keep the room. Raises NoRoom."""
        budget = self._policy.memory_bytes
        held = (_held(each) for each in self._residents.values() if each.memory_bytes)
        chosen = evictions(held, needed, budget)
        if chosen is None:
            assert budget is not None
            raise NoRoom(resident.label, needed, budget)
        for key in chosen:
            self.unload(self._residents[key], "evicted")
        resident.memory_bytes += needed

    def _keep_to_budget(self, newest: Resident) -> None:
        """A model may take more than its files said: then others go that have nothing to do."""
        others = (each for each in self._residents.values() if each is not newest)
        held = (_held(each) for each in others if each.memory_bytes)
        for key in evictions(held, newest.memory_bytes, self._policy.memory_bytes) or ():
            self.unload(self._residents[key], "evicted")

    def _swap_in(self, resident: Resident, loaded: Loaded) -> None:
        if resident.lane is not None:
            self._retire(resident, "replaced")
        signature = loaded.model.signature
        resident.signature = signature
        resident.digest = signature.digest
        resident.memory_bytes = loaded.memory_bytes
        resident.lane = Lane(
            loaded.model,
            self._plan_for(signature.model).rules_for(signature),
            threads=self._threads,
            slots=self._slots,
            short_run_s=self._policy.short_run_s,
            stats=resident.stats,
            observer=self._observer,
            clock=self._clock,
        )

    def _failed(self, resident: Resident, failed: Exception) -> InferflowError:
        if not isinstance(failed, InferflowError):
            log.error("model_load_broke", extra={"model": resident.label}, exc_info=failed)
        why = str(failed) if isinstance(failed, InferflowError) else type(failed).__name__
        if isinstance(failed, ModelUnavailable):
            why = failed.why
        resident.note_failure(why, self._clock())
        self._observer.load_failed(resident.model, resident.version)
        log.warning("model_load_failed", extra={"model": resident.label, "error": why})
        retry_after_ms = int((resident.retry_at - self._clock()) * 1000)
        return ModelUnavailable(resident.label, why, retry_after_ms=retry_after_ms)

    def _retire(self, resident: Resident, why: str) -> None:
        assert resident.lane is not None
        resident.lane.retire()
        resident.lane = None
        self._observer.unloaded(resident.model, resident.version, why)


def _held(resident: Resident) -> Held[tuple[str, str]]:
    last_used = 0.0 if resident.lane is None else resident.lane.last_used
    key = (resident.model, resident.version)
    return Held(key, resident.memory_bytes, last_used, resident.is_busy)


def _ended(resident: Resident, done: asyncio.Task[Lane]) -> None:
    resident.loading = None
    if not done.cancelled():
        done.exception()  # whoever waits is told; nobody waiting is no reason to complain
