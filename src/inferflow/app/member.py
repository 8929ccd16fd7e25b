"""A worker as a member of a fleet: its manager names the models and says who may call.

The link to the manager lives in a thread of its own; what it brings is carried out on the worker's
event loop. A worker that has joined once serves on without a manager, with what it knows.
"""

from __future__ import annotations

import asyncio
import logging
import re
import socket
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inferflow._version import __version__
from inferflow.api.oip.sessions import SessionAccess
from inferflow.app.worker_report import Reports
from inferflow.app.worker_settings import WorkerSettings, serving_options
from inferflow.client.manager.calls import ManagerCalls, declared
from inferflow.client.manager.link import FleetLink
from inferflow.client.manager.orders import Orders
from inferflow.client.manager.source import ManagerSource
from inferflow.errors import InferflowError, InvalidInput
from inferflow.rpc.tls_channel import ChannelTls
from inferflow.serving.worker import ModelPlan

if TYPE_CHECKING:
    from inferflow.app.worker import Worker

log = logging.getLogger(__name__)

_GATHER_S = 1.0
_WILDCARDS = ("0.0.0.0", "::")


class FleetMember:
    """Made before the worker, for the worker's models come from here. Close it when done."""

    def __init__(
        self,
        managers: Sequence[str],
        key: str,
        settings: WorkerSettings,
        cache: Path,
        *,
        tls: ChannelTls | None = None,
    ) -> None:
        self._calls = ManagerCalls(managers, key, tls=tls)
        self._settings = settings
        self._link = FleetLink(self._calls, self)
        self.source = ManagerSource(self._calls, cache, self._link.catch_up)
        self.access = SessionAccess(time.time, time.monotonic)
        self._tasks: set[asyncio.Task[None]] = set()
        self._following = asyncio.Lock()
        self._is_in: asyncio.Future[None]
        self._loop: asyncio.AbstractEventLoop
        self._worker: Worker
        self._reports: Reports
        self._end: asyncio.Event

    def plan_for(self, model: str) -> ModelPlan:
        """How a model is loaded and batched: the registry says, unless the settings do."""
        return self._settings.plan_for(model, serving_options(self.source.options(model)))

    async def join(self, worker: Worker, end: asyncio.Event) -> None:
        """Returns when the manager has let this worker in, however long that takes, or when it is
        asked to end. `end` is set when the manager has the worker leave.

        Raises what the manager said when it refuses.
        """
        self._loop = asyncio.get_running_loop()
        self._worker, self._end = worker, end
        self._reports = Reports(worker, self.source)
        self._reports.gather()
        self._is_in = self._loop.create_future()
        self._spawn(self._gather())
        self._link.start()
        ending = asyncio.ensure_future(end.wait())
        await asyncio.wait((self._is_in, ending), return_when=asyncio.FIRST_COMPLETED)
        ending.cancel()
        if self._is_in.done():
            self._is_in.result()

    async def leave(self) -> None:
        """No new caller shall be sent here."""
        await asyncio.to_thread(self._link.leave)

    async def close(self) -> None:
        await asyncio.to_thread(self._link.close)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._calls.close()

    # --- what the link asks and brings, in its thread -----------------------------------------

    def joining(self) -> Any:
        host, port = _advertised(self._settings, self._worker.grpc.port)
        own = f"{socket.gethostname()}-{self._worker.grpc.port}"
        policy = self._settings.policy
        message = declared("RegisterRequest")(
            worker_id=self._settings.worker_id or re.sub(r"[^A-Za-z0-9._-]", "-", own),
            address=f"[{host}]:{port}" if ":" in host else f"{host}:{port}",
            slots=policy.threads,
            memory_budget_bytes=policy.memory_bytes or 0,
            software_version=__version__,
        )
        message.devices.extend(self._reports.message().devices)
        return message

    def joined(self, worker_id: str) -> None:
        self._loop.call_soon_threadsafe(self.access.joined, worker_id)

    def report(self) -> Any:
        return self._reports.message()

    def reported(self, report: Any) -> None:
        self._reports.arrived(report)

    def obey(self, orders: Orders) -> None:
        self.source.use(orders.versions)  # here, for somebody may be waiting for it
        self._loop.call_soon_threadsafe(self._obey, orders)

    def refused(self, why: InferflowError) -> None:
        def tell() -> None:
            if not self._is_in.done():
                self._is_in.set_exception(why)

        self._loop.call_soon_threadsafe(tell)

    # --- on the worker's event loop -----------------------------------------------------------

    def _obey(self, orders: Orders) -> None:
        # Who may call is settled at once; models take their time.
        self.access.use(orders.verifying_keys, orders.revocations, orders.limits)
        self._spawn(self._follow(orders))

    async def _follow(self, orders: Orders) -> None:
        async with self._following:
            await self._worker.host.refresh()
        if not self._is_in.done():
            self._is_in.set_result(None)
        if orders.drain:
            if not self._end.is_set():
                log.info("told_to_leave")
            self._end.set()
            return
        await self._worker.host.prefetch(orders.prefetch)
        await asyncio.to_thread(self.source.prune)

    async def _gather(self) -> None:
        while True:
            self._reports.gather()
            await asyncio.sleep(_GATHER_S)

    def _spawn(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.error("fleet_task_broke", exc_info=task.exception())


def _advertised(settings: WorkerSettings, port: int) -> tuple[str, int]:
    if settings.advertise:
        host, colon, number = settings.advertise.rpartition(":")
        if not colon or not number.isdecimal():
            raise InvalidInput(f"advertise: {settings.advertise!r} is not host:port")
        return host.removeprefix("[").removesuffix("]"), int(number)
    bind = socket.gethostname() if settings.bind in _WILDCARDS else settings.bind
    return bind, port
