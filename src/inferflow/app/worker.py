"""The `worker` role: one process that answers the Open Inference Protocol with a folder of models.

It serves until it is asked to end, then drains as every role does, and unloads the models.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from inferflow.access import OpenGate
from inferflow.api.oip.access import Access
from inferflow.api.oip.keys import KeyAccess
from inferflow.api.oip.service import SERVICE, InferenceService, InferPolicy
from inferflow.app.lifetime import keep_what_is_loaded, stop_signals
from inferflow.app.listener import Listener
from inferflow.app.places import data_dir
from inferflow.app.security import PLAIN, Security, open_security
from inferflow.app.settings import Settings
from inferflow.app.tls import server_tls
from inferflow.app.worker_settings import WorkerSettings
from inferflow.errors import InvalidInput
from inferflow.rpc.admission import Admission
from inferflow.rpc.options import MIB, ServerOptions
from inferflow.serving.runtime import ModelRepository
from inferflow.serving.runtime.devices import Device, Devices
from inferflow.serving.runtime.onnx import OnnxRuntime
from inferflow.serving.worker import CrashLedger, FolderSource, ModelHost, ModelPlan, ModelSource
from inferflow.serving.worker.resident import Resident, State
from inferflow.telemetry import worker_table
from inferflow.telemetry.table import Metric
from inferflow.telemetry.worker_tally import WorkerTally

if TYPE_CHECKING:
    from inferflow.app.member import FleetMember

Labelled = tuple[tuple[str, ...], float]

_UPKEEP_S = 1.0
_MOST_STREAMS = 1024
"""Calls one connection may have under way: clients of one model share few connections."""


_ALONE: tuple[None, None, None] = (None, None, None)
"""Everybody may call, for the models of a folder."""


class Worker(Listener):
    """A running worker. Made by `start_worker`."""

    role = "worker"

    def __init__(self, host: ModelHost, settings: WorkerSettings, tally: WorkerTally) -> None:
        super().__init__(settings)
        self.host = host
        self.settings = settings
        self.tally = tally
        self.devices = Devices()
        self._is_prefetching = True
        self._upkeep: asyncio.Task[None] | None = None

    def why_not_ready(self) -> str:
        return "loading models" if self._is_prefetching else ""

    async def prepare(self) -> None:
        """Load what is to be there from the start, then say that all is well."""
        await self.host.refresh()
        await self.host.prefetch(self.settings.prefetch)
        self._is_prefetching = False
        self._upkeep = asyncio.ensure_future(self._keep_up())
        await self.tell_health()

    async def close(self) -> None:
        if self._upkeep is not None:
            self._upkeep.cancel()
        await super().close()
        await self.host.close()
        self.devices.close()

    async def _keep_up(self) -> None:
        while True:
            await asyncio.sleep(_UPKEEP_S)
            self.host.unload_idle()


def open_host(
    root: Path,
    settings: Settings,
    tally: WorkerTally,
    source: ModelSource | None = None,
    plan_for: Callable[[str], ModelPlan] | None = None,
) -> ModelHost:
    """The models of a worker, from its folder unless another source is given.

    To be called on the event loop it will live on. Raises InvalidInput without the folder.
    """
    if source is None:
        folder = root / settings.worker.models_dir
        if not folder.is_dir():
            raise InvalidInput(f"no models folder {str(folder)!r}; name it with --models")
        source = FolderSource(ModelRepository(folder))
    state = data_dir(root, settings) / "worker"
    return ModelHost(
        source,
        OnnxRuntime(cache=state / "quantised"),
        policy=settings.worker.policy,
        plan_for=plan_for or settings.worker.plan_for,
        crashes=CrashLedger(state / "loading", time.time),
        observer=tally,
    )


async def start_worker(
    host: ModelHost,
    settings: WorkerSettings,
    tally: WorkerTally,
    *,
    access: Access | None = None,
    security: Security = PLAIN,
) -> Worker:
    """Listen on the ports the settings name; not ready until `prepare` has ended.

    `access` says who may call; without it, `security` does. Raises InvalidInput when a port is
    taken.
    """
    worker = Worker(host, settings, tally)
    gate = security.gate
    if access is None:
        security.check_bind(settings.bind, settings.auth)
        access = None if isinstance(gate, OpenGate) else KeyAccess(gate)
    service = InferenceService(
        host,
        admission=Admission(settings.max_in_flight),
        is_ready=lambda: not worker.not_ready(),
        policy=InferPolicy(settings.default_deadline, settings.max_deadline),
        access=access,
        refusals=gate.refusals,
        observer=tally,
    )
    _watch(tally, host, worker.devices)
    await worker.open_ports(
        security.guarded(service.handlers(), counts=False),
        services=(SERVICE,),
        security=security,
        metrics=tally,
        options=ServerOptions(
            max_receive_bytes=int(settings.max_message_mb * MIB), max_streams=_MOST_STREAMS
        ),
    )
    return worker


def alone_security(settings: Settings) -> Security:
    """Of a worker that belongs to no fleet. Raises InvalidInput when others could call who are not
    meant to."""
    security = open_security(settings, auth=settings.worker.auth)
    security.check_bind(settings.worker.bind, settings.worker.auth)
    return security


def member_security(settings: Settings) -> Security:
    """Of a worker in a fleet: who may call is said by session tokens."""
    return Security(tls=server_tls(settings.tls))


async def work(
    root: Path,
    settings: Settings,
    *,
    started: Callable[[Worker], None],
    fleet: FleetMember | None = None,
) -> None:
    """Work until asked to end, then end politely. `started` is told once it is ready.

    With a `fleet`, its manager says which models there are and who may call.
    """
    with stop_signals() as (end, hurry):
        try:
            worker = await _open(root, settings, fleet)
            await _until_end(worker, end, started, fleet)
            await worker.drain(hurry)
        finally:
            if fleet is not None:
                await fleet.close()


async def _open(root: Path, settings: Settings, fleet: FleetMember | None) -> Worker:
    tally = WorkerTally()
    access, source, plan_for = (fleet.access, fleet.source, fleet.plan_for) if fleet else _ALONE
    security = member_security(settings) if fleet else alone_security(settings)
    host = open_host(root, settings, tally, source, plan_for)
    try:
        return await start_worker(host, settings.worker, tally, access=access, security=security)
    except BaseException:
        await host.close()
        raise


async def _until_end(
    worker: Worker,
    end: asyncio.Event,
    started: Callable[[Worker], None],
    fleet: FleetMember | None,
) -> None:
    try:
        if fleet is not None:
            await fleet.join(worker, end)
        if end.is_set():  # asked to end while nobody was there to join
            return
        await worker.prepare()
        keep_what_is_loaded()
        started(worker)
        await end.wait()
        if fleet is not None:
            await fleet.leave()
    except BaseException:
        await worker.close()
        raise


def _watch(tally: WorkerTally, host: ModelHost, devices: Devices) -> None:
    def per_model(read: Callable[[Resident], float]) -> Callable[[], list[Labelled]]:
        return lambda: [((each.model, each.version), read(each)) for each in host.residents()]

    def per_device(read: Callable[[Device], float]) -> Callable[[], list[Labelled]]:
        return lambda: [((str(each.index), each.name), read(each)) for each in devices.look()]

    lanes: Sequence[tuple[Metric, Callable[[Resident], float]]] = (
        (worker_table.QUEUE_DEPTH, lambda each: each.lane.waiting if each.lane else 0),
        (worker_table.IN_FLIGHT, lambda each: each.lane.in_flight if each.lane else 0),
        (worker_table.MEMORY, lambda each: each.memory_bytes),
        (worker_table.AVAILABLE, lambda each: each.state is not State.UNAVAILABLE),
    )
    for metric, read in lanes:
        tally.watch(metric, per_model(read))
    tally.watch(worker_table.DEVICE_MEMORY, per_device(lambda each: each.memory_bytes))
    tally.watch(worker_table.DEVICE_USED, per_device(lambda each: each.used_bytes))
    tally.watch(worker_table.DEVICE_BUSY, per_device(lambda each: each.busy_percent / 100))
