"""The models of a worker: which there are, and what happens when one is asked for.

A model is loaded when first needed, off the event loop and once however many ask; `memory` says
when it leaves. A new version takes over only once it has been loaded.
"""

from __future__ import annotations

import asyncio
import difflib
import logging
import time
from collections.abc import Callable, Iterable
from functools import partial

from inferflow.engine.deadline import Clock, Deadline
from inferflow.errors import DeadlinePassed, InferflowError, ModelUnavailable, NotFound
from inferflow.plan.catalog import ModelSignature
from inferflow.serving.runtime.port import Runtime
from inferflow.serving.worker.crashes import CrashLedger
from inferflow.serving.worker.lane import Lane
from inferflow.serving.worker.loader import memory_of_process
from inferflow.serving.worker.memory import ModelMemory
from inferflow.serving.worker.observer import SilentObserver, WorkerObserver
from inferflow.serving.worker.policy import HostPolicy, ModelPlan
from inferflow.serving.worker.queue import BatchRules
from inferflow.serving.worker.resident import Resident
from inferflow.serving.worker.source import ModelSource

log = logging.getLogger(__name__)


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
        process_bytes: Callable[[], int] = memory_of_process,
    ) -> None:
        self._source = source
        self._plan_for = plan_for
        self._clock = clock
        self._residents: dict[tuple[str, str], Resident] = {}
        self._memory = ModelMemory(
            self._residents,
            source,
            runtime,
            policy=policy or HostPolicy(),
            plan_for=plan_for,
            crashes=crashes,
            observer=observer or SilentObserver(),
            clock=clock,
            process_bytes=process_bytes,
        )
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
            self._memory.begin_load(resident)
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
        return self._plan_for(signature.model).rules_for(signature)

    @property
    def memory_bytes(self) -> int:
        return sum(each.memory_bytes for each in self._residents.values())

    # --- by hand and by time ----------------------------------------------------------------

    async def refresh(self, *, is_urgent: bool = False) -> None:
        """Ask the source what there is. Versions in memory stay, whatever it says. Only when it
        is urgent must the source find out what is newer than it knows, and fail if it cannot."""
        index = await self._memory.in_loader(partial(self._source.index, is_urgent=is_urgent))
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
            self._memory.begin_load(resident)
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
            self._memory.stop(resident, "asked")

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
        self._memory.unload_idle()

    async def close(self) -> None:
        """Unload everything. Runs under way are stopped: let their callers finish before."""
        await self._memory.close()

    # --- finding one ------------------------------------------------------------------------

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
