"""For workers: joining, reporting, leaving, and the files of models."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Protocol

import grpc

from inferflow.access import KeyCard
from inferflow.api.manager import reading, writing
from inferflow.api.manager.calling import Calls, Message
from inferflow.api.manager.rules import FLEET
from inferflow.errors import InferflowError
from inferflow.serving.manager.briefing import Briefing
from inferflow.serving.manager.reports import WorkerReport
from inferflow.serving.manager.services import Services

log = logging.getLogger(__name__)

PIECE_BYTES = 1 << 20


class UsageObserver(Protocol):
    def keys_used(self, requests: Mapping[str, int], failed: Mapping[str, int]) -> None: ...


class FleetService:
    def __init__(
        self, services: Services, observer: UsageObserver, clock: Callable[[], float]
    ) -> None:
        """`clock` gives seconds since the epoch."""
        self._services = services
        self._roster = services.roster
        self._observer = observer
        self._clock = clock

    def handlers(self, calls: Calls) -> grpc.GenericRpcHandler:
        def path(method: str) -> str:
            return f"/{FLEET}/{method}"

        def unary(method: str, answer: Any) -> Any:
            return calls.unary(path(method), writing.declared(f"{method}Request"), answer)

        request = writing.declared("FetchModelRequest")
        methods = {
            "Register": unary("Register", self._register),
            "Heartbeat": unary("Heartbeat", self._heartbeat),
            "Drain": unary("Drain", self._drain),
            "FetchModel": calls.streams(path("FetchModel"), request, self._fetch),
        }
        return grpc.method_handlers_generic_handler(FLEET, methods)

    async def _register(self, by: KeyCard, asked: Message) -> Message:
        record = await self._roster.join(by, reading.joining(asked))
        log.info("worker_joined", extra={"worker": record.worker_id, "address": record.address})
        return writing.declared("RegisterResponse")(
            worker_id=record.worker_id,
            heartbeat_period_ms=int(self._roster.patience.period_s * 1000),
            orders=writing.briefing(self._briefing(record.worker_id)),
        )

    async def _heartbeat(self, by: KeyCard, asked: Message) -> Message:
        answer = writing.declared("HeartbeatResponse")(now_ms=int(self._clock() * 1000))
        report = reading.report(asked.report)
        if not self._roster.hear(by, asked.worker_id, asked.sequence, report):
            answer.register_again = True
            return answer
        usage = dict(asked.report.usage)
        self._services.keys.count(usage)
        self._observer.keys_used(usage, dict(asked.report.usage_failed))
        await self._note_corrupt(by, report)
        briefing = self._briefing(asked.worker_id)
        if briefing.etag != asked.orders_etag:
            answer.orders.CopyFrom(writing.briefing(briefing))
        return answer

    async def _drain(self, by: KeyCard, asked: Message) -> Message:
        await self._roster.drain(by, asked.worker_id)
        return writing.declared("DrainResponse")()

    async def _fetch(self, by: KeyCard, asked: Message) -> AsyncIterator[Message]:
        number = reading.named_version(asked.version)
        chunk = writing.declared("FetchModelChunk")
        pieces = self._services.registry.read_file(
            by, asked.model, number, asked.path, offset=asked.offset
        )
        async for piece in pieces:
            for at in range(0, len(piece), PIECE_BYTES):
                yield chunk(data=piece[at : at + PIECE_BYTES])

    def _briefing(self, worker_id: str) -> Briefing:
        return self._services.briefings.for_worker(self._roster.fleet.workers[worker_id])

    async def _note_corrupt(self, by: KeyCard, report: WorkerReport) -> None:
        """A version whose bytes are wrong is marked for all to see. A heartbeat never fails of it:
        the worker will say so again."""
        for each in report.models:
            if not each.is_corrupt:
                continue
            try:
                problem = f"corrupt: {each.reason}"[:1000]
                number = reading.named_version(each.version)
                await self._services.registry.report_problem(by, each.model, number, problem)
            except InferflowError as failed:
                facts = {"model": f"{each.model}@{each.version}", "error": str(failed)}
                log.warning("corrupt_model_not_noted", extra=facts)
