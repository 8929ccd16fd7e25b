"""The models of a worker: which are in memory, and what happens when one is asked for.

A model is loaded when first needed, off the event loop and once however many ask. It leaves when
idle, or when another needs its room and it is the one used least recently; it never leaves while
it is in use, and runs under way finish. A model that cannot be loaded is left alone for a while,
longer each time, and touches no other. A new version takes over only once it has been loaded.
"""

from __future__ import annotations

import asyncio
import difflib
import logging
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from inferflow.engine.deadline import Clock, Deadline
from inferflow.errors import DeadlinePassed, InferflowError, ModelUnavailable, NoRoom, NotFound
from inferflow.plan.catalog import ModelSignature
from inferflow.serving.runtime.port import LoadOptions, Runtime
from inferflow.serving.worker.crashes import CrashLedger
from inferflow.serving.worker.eviction import Held, evictions
from inferflow.serving.worker.lane import Lane
from inferflow.serving.worker.loader import Loaded, Loader
from inferflow.serving.worker.observer import SilentObserver, WorkerObserver
from inferflow.serving.worker.queue import BatchRules
from inferflow.serving.worker.resident import Resident
from inferflow.serving.worker.slots import RunSlots
from inferflow.serving.worker.source import ModelSource

log = logging.getLogger(__name__)

Result = TypeVar("Result")

_LOADERS = 2


@dataclass(frozen=True, slots=True)
class ModelPlan:
    """How one model is loaded and batched."""

    options: LoadOptions = field(default_factory=LoadOptions)
    rules: BatchRules = field(default_factory=BatchRules)


@dataclass(frozen=True, slots=True)
class HostPolicy:
    threads: int = 2
    """Runs that may go on at once."""
    short_run_s: float = 0.0005
    """Runs up to this long are made on the event loop."""
    memory_bytes: int | None = None
    """Most memory all models may take together, as far as it can be known."""
    idle_unload_s: float | None = None


class ModelHost:
    """Lives on one event loop. Close it when done."""

    def __init__(
        self,
        source: ModelSource,
        runtime: Runtime,
        *,
        policy: HostPolicy | None = None,
        plan_for: Callable[[str], ModelPlan] = lambda _: ModelPlan(),
        crashes: CrashLedger | None = None,
        observer: WorkerObserver | None = None,
        clock: Clock = time.monotonic,
    ) -> None:
        self._source = source
        self._runtime = runtime
        self._loader = Loader(source, runtime, crashes)
        self._policy = policy or HostPolicy()
        self._plan_for = plan_for
        self._observer = observer or SilentObserver()
        self._clock = clock
        self._slots = RunSlots(self._policy.threads)
        self._threads = ThreadPoolExecutor(self._policy.threads, "inferflow-run")
        self._loaders = ThreadPoolExecutor(_LOADERS, "inferflow-load")
        self._residents: dict[tuple[str, str], Resident] = {}
        self._defaults: dict[str, str] = {}
        """The version of each model that callers get who name none."""

    # --- asking for a model -----------------------------------------------------------------

    def ready(self, model: str, version: str) -> Lane | None:
        """The model if it is in memory."""
        resident = self._residents.get((model, version or self._defaults.get(model, "")))
        return None if resident is None else resident.lane

    async def lane(self, model: str, version: str, deadline: Deadline) -> Lane:
        """The model, loaded first if need be.

        Raises NotFound, ModelUnavailable, NoRoom or DeadlinePassed.
        """
        resident = await self._resident(model, version)
        if resident.lane is not None:
            return resident.lane
        if resident.loading is None:
            resident.refuse_unless_loadable(self._clock())
            self._begin_load(resident)
        return await _within(deadline, resident)

    async def signature(self, model: str, version: str, deadline: Deadline) -> ModelSignature:
        """What a model takes and gives; loads it if it never was."""
        resident = await self._resident(model, version)
        if resident.signature is not None:
            return resident.signature
        return (await self.lane(model, resident.version, deadline)).model.signature

    async def is_ready(self, model: str, version: str) -> bool:
        """Whether a request would be tried: one not in memory yet is loaded for it."""
        resident = await self._resident(model, version)
        return resident.lane is not None or not (resident.is_switched_off or resident.failure)

    def residents(self) -> list[Resident]:
        """Every version known, by model and version."""
        return sorted(self._residents.values(), key=lambda each: (each.model, int(each.version)))

    def versions(self, model: str) -> tuple[str, ...]:
        return tuple(each.version for each in self.residents() if each.model == model)

    async def resolved(self, model: str, version: str) -> str:
        """The version that would answer. Raises NotFound."""
        return (await self._resident(model, version)).version

    def rules_for(self, signature: ModelSignature) -> BatchRules:
        """How a model is batched: only where its rows can be told apart."""
        rules = self._plan_for(signature.model).rules
        sides = (*signature.inputs, *signature.outputs)
        if signature.inputs and all(side.shape and side.shape[0] is None for side in sides):
            return rules
        return BatchRules(
            queue_limit=rules.queue_limit,
            queue_timeout_s=rules.queue_timeout_s,
            retry_after_ms=rules.retry_after_ms,
        )

    @property
    def memory_bytes(self) -> int:
        return sum(each.memory_bytes for each in self._residents.values())

    # --- by hand and by time ----------------------------------------------------------------

    async def refresh(self, *, is_urgent: bool = False) -> None:
        """Ask the source what there is. Versions in memory stay, whatever it says. Only when it
        is urgent must the source find out what is newer than it knows, and fail if it cannot."""
        index = await self._in_loader(partial(self._source.index, is_urgent=is_urgent))
        offered = {(model, version) for model, versions in index.items() for version in versions}
        for key in offered - self._residents.keys():
            self._residents[key] = Resident(*key)
        for key in self._residents.keys() - offered:
            if self._residents[key].lane is None and self._residents[key].loading is None:
                del self._residents[key]
        for model, versions in index.items():
            if self._defaults.get(model) not in versions:
                self._defaults[model] = versions[-1]
        for model in self._defaults.keys() - index.keys():
            if not self.versions(model):
                del self._defaults[model]

    async def load(self, model: str, version: str = "") -> None:
        """Load by hand: the newest files of a version, or the newest version, which becomes the
        default. On failure, what was in memory goes on serving. Raises as `lane` does."""
        await self.refresh()
        chosen = version or max(self.versions(model), key=int, default="")
        resident = await self._resident(model, chosen)
        if resident.loading is None:
            self._begin_load(resident)
        await _within(Deadline(None), resident)
        if not version:
            self._defaults[model] = chosen

    async def unload(self, model: str) -> None:
        """Unload every version by hand. Requests are refused until somebody loads it."""
        if not self.versions(model):
            await self.refresh()
        mine = [each for each in self._residents.values() if each.model == model]
        if not mine:
            raise self._unknown(model, "")
        for resident in mine:
            resident.is_switched_off = True
            if resident.loading is not None:
                resident.loading.cancel()
            self._unload(resident, "asked")

    async def prefetch(self, labels: Iterable[str]) -> None:
        """Load `name` or `name@version` ahead of requests. What fails is logged."""
        for label in labels:
            model, _, version = label.partition("@")
            try:
                await self.lane(model, version, Deadline(None))
            except InferflowError as failed:
                log.warning("prefetch_failed", extra={"model": label, "error": str(failed)})

    def unload_idle(self) -> None:
        """To be called now and then."""
        idle_s = self._policy.idle_unload_s
        if idle_s is None:
            return
        before = self._clock() - idle_s
        for resident in list(self._residents.values()):
            lane = resident.lane
            if lane is not None and not resident.is_busy and lane.last_used <= before:
                self._unload(resident, "idle")

    async def close(self) -> None:
        """Unload everything. Runs under way are stopped: let their callers finish before."""
        for resident in list(self._residents.values()):
            if resident.loading is not None:
                resident.loading.cancel()
            self._unload(resident, "closing")
        self._loaders.shutdown(wait=False, cancel_futures=True)
        self._runtime.stop_runs()
        await asyncio.get_running_loop().run_in_executor(None, self._threads.shutdown)
        self._runtime.close()

    # --- loading and unloading --------------------------------------------------------------

    async def _resident(self, model: str, version: str) -> Resident:
        found = self._find(model, version)
        if found is None:
            await self.refresh(is_urgent=True)
            found = self._find(model, version)
        if found is None:
            raise self._unknown(model, version)
        return found

    def _find(self, model: str, version: str) -> Resident | None:
        return self._residents.get((model, version or self._defaults.get(model, "")))

    def _unknown(self, model: str, version: str) -> NotFound:
        label = f"{model}@{version}" if version else model
        nearest = difflib.get_close_matches(model, self._defaults, n=1)
        return NotFound("model", label[:200], nearest=nearest[0] if nearest else "")

    def _begin_load(self, resident: Resident) -> None:
        resident.loading = asyncio.get_running_loop().create_task(self._load(resident))
        resident.loading.add_done_callback(lambda done: _ended(resident, done))

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
        file, needed = await self._in_loader(self._loader.fetch, resident.model, resident.version)
        if resident.lane is not None and file.digest == resident.digest:
            return None
        self._make_room(resident, needed)
        options = self._plan_for(resident.model).options
        return await self._in_loader(self._loader.load, file, options)

    def _make_room(self, resident: Resident, needed: int) -> None:
        """Evict what has to go, and keep the room. Raises NoRoom."""
        budget = self._policy.memory_bytes
        held = (_held(each) for each in self._residents.values() if each.memory_bytes)
        chosen = evictions(held, needed, budget)
        if chosen is None:
            assert budget is not None
            raise NoRoom(resident.label, needed, budget)
        for key in chosen:
            self._unload(self._residents[key], "evicted")
        resident.memory_bytes += needed

    def _keep_to_budget(self, newest: Resident) -> None:
        """A model may take more than its files said: then others go that have nothing to do."""
        others = (each for each in self._residents.values() if each is not newest)
        held = (_held(each) for each in others if each.memory_bytes)
        for key in evictions(held, newest.memory_bytes, self._policy.memory_bytes) or ():
            self._unload(self._residents[key], "evicted")

    def _swap_in(self, resident: Resident, loaded: Loaded) -> None:
        if resident.lane is not None:
            self._retire(resident, "replaced")
        resident.signature = loaded.model.signature
        resident.digest = loaded.model.signature.digest
        resident.memory_bytes = loaded.memory_bytes
        resident.lane = Lane(
            loaded.model,
            self.rules_for(loaded.model.signature),
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

    def _unload(self, resident: Resident, why: str) -> None:
        if resident.lane is not None:
            self._retire(resident, why)
            resident.memory_bytes = 0
            log.info("model_unloaded", extra={"model": resident.label, "why": why})

    def _retire(self, resident: Resident, why: str) -> None:
        assert resident.lane is not None
        resident.lane.retire()
        resident.lane = None
        self._observer.unloaded(resident.model, resident.version, why)

    async def _in_loader(self, work: Callable[..., Result], *arguments: object) -> Result:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._loaders, work, *arguments)


def _held(resident: Resident) -> Held[tuple[str, str]]:
    last_used = 0.0 if resident.lane is None else resident.lane.last_used
    key = (resident.model, resident.version)
    return Held(key, resident.memory_bytes, last_used, resident.is_busy)


def _ended(resident: Resident, done: asyncio.Task[Lane]) -> None:
    resident.loading = None
    if not done.cancelled():
        done.exception()  # whoever waits is told; nobody waiting is no reason to complain


async def _within(deadline: Deadline, resident: Resident) -> Lane:
    """Wait for a load, which goes on although one of its callers gives up."""
    loading = resident.loading
    assert loading is not None
    left = deadline.remaining_s()
    try:
        async with asyncio.timeout(None if left == float("inf") else left):
            return await asyncio.shield(loading)
    except TimeoutError:
        raise DeadlinePassed(f"loading model {resident.label!r}", deadline.budget_ms) from None
    except asyncio.CancelledError:
        if not loading.cancelled():
            raise  # it is the caller who was cancelled
        why = "it was unloaded while it was being loaded"
        raise ModelUnavailable(resident.label, why) from None
