"""The four calls: bytes in, bytes out.

A handler takes its plan once, at its start, so a reload never mixes two versions. It admits
the call, gives it a deadline, scores, and turns whatever goes wrong into a status. Small requests
are scored right on the event loop; large ones in a thread, so that they hold up nobody.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import grpc

from inferflow.api.legacy import RETRIEVE_MODEL_SCORE
from inferflow.api.predict import PAIR_WISE, POINT_WISE, SLATE_WISE
from inferflow.api.rpc import Caller, PlanSide, Rpc
from inferflow.api.status import status_of, text_of
from inferflow.components.routing import pick_arm
from inferflow.engine.limits import Limits
from inferflow.engine.observer import Observer, Observers
from inferflow.engine.request import ScoreRequest
from inferflow.engine.scorer import Scorer
from inferflow.errors import (
    DeadlinePassed,
    EngineFault,
    InferflowError,
    InvalidRequest,
    NotFound,
    Overloaded,
)
from inferflow.plan.book import LiveSplit
from inferflow.rpc.admission import Admission
from inferflow.rpc.headers import ARM, CONFIG_VERSION, PUSHBACK, RETRY_AFTER, USER_ID

T = TypeVar("T")

log = logging.getLogger(__name__)

RPCS = (RETRIEVE_MODEL_SCORE, POINT_WISE, PAIR_WISE, SLATE_WISE)
SERVICES = ("Inferflow", "Predict")

Handle = Callable[[bytes, Any], Awaitable[bytes]]


@dataclass(frozen=True, slots=True)
class CallPolicy:
    """How a call is treated, whatever it asks."""

    default_deadline_ms: float = 1_000
    """For callers that name none."""
    max_deadline_ms: float = 10_000
    heavy_bytes: int = 32 * 1024
    """Requests from this size on are read in a thread."""
    heavy_rows: int = 1_000
    """Requests from so many targets, pairs and slates on are scored in a thread."""


class ScoringService:
    """Answers calls with whatever plans are live at that moment."""

    def __init__(
        self,
        find: Callable[[str], Scorer | LiveSplit[Scorer]],
        *,
        limits: Limits,
        admission: Admission,
        policy: CallPolicy | None = None,
        observer: Observer | None = None,
        today: Callable[[], date] = lambda: datetime.now(UTC).date(),
    ) -> None:
        self._find = find
        self._limits = limits
        self._admission = admission
        self._policy = policy or CallPolicy()
        self._observer = None if observer is None else Observers(observer)
        self._today = today
        self._sides: WeakKeyDictionary[Scorer, PlanSide] = WeakKeyDictionary()
        self._threads = ThreadPoolExecutor(os.cpu_count(), "inferflow-heavy")

    def handlers(self) -> list[grpc.GenericRpcHandler]:
        """To be registered with a server. They see raw bytes: what does not parse is our answer."""
        return [
            grpc.method_handlers_generic_handler(
                service,
                {
                    rpc.method: grpc.unary_unary_rpc_method_handler(self._handler(rpc))
                    for rpc in RPCS
                    if rpc.service == service
                },
            )
            for service in SERVICES
        ]

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _handler(self, rpc: Rpc) -> Handle:
        async def handle(body: bytes, context: Any) -> bytes:
            began = time.perf_counter()
            failed: InferflowError
            try:
                with self._admission.admitted():
                    answer = await self._answered(rpc, body, context)
            except InferflowError as refused:
                failed = refused
            except asyncio.CancelledError:
                self._tell(rpc, grpc.StatusCode.CANCELLED, began)
                raise
            except Exception as unexpected:  # the boundary of a call: the process lives on
                log.exception("call_failed", extra={"method": rpc.path})
                failed = EngineFault(f"{type(unexpected).__name__} while answering {rpc.path}")
            else:
                self._tell(rpc, grpc.StatusCode.OK, began)
                return answer
            code = status_of(failed).grpc
            self._tell(rpc, code, began)
            await context.abort(code, text_of(failed), _hints(failed))
            raise failed  # not reached: abort raises

        return handle

    def _tell(self, rpc: Rpc, code: grpc.StatusCode, began: float) -> None:
        if self._observer is not None:
            self._observer.call_ended(rpc.path, code.value[0], time.perf_counter() - began)

    async def _answered(self, rpc: Rpc, body: bytes, context: Any) -> bytes:
        deadline = self._deadline(context)
        caller = self._caller(context)
        if len(body) < self._policy.heavy_bytes:
            scorer, arm, request = self._read(rpc, body, caller)
        else:
            scorer, arm, request = await self._in_thread(lambda: self._read(rpc, body, caller))
        facts = ((CONFIG_VERSION, scorer.plan.digest),)
        context.set_trailing_metadata((*facts, (ARM, arm)) if arm else facts)
        if arm and self._observer is not None:
            self._observer.arm_chosen(request.config_id, arm)
        if not self._is_heavy(request):
            request.deadline_ms = _left_ms(deadline)
            return rpc.answer(await scorer.score(request))
        if scorer.is_local:
            return await self._in_thread(lambda: _scored(rpc, scorer, request, deadline))
        request.deadline_ms = _left_ms(deadline)
        scores = await scorer.score(request)
        return await self._in_thread(lambda: rpc.answer(scores))

    def _read(self, rpc: Rpc, body: bytes, caller: Caller) -> tuple[Scorer, str, ScoreRequest]:
        """What answers, the arm it is of a split (or nothing), and the request."""
        message = rpc.parse(body)
        config_id = message.model_config_id
        if not config_id:
            raise InvalidRequest("model_config_id", "is empty")
        try:
            found = self._find(config_id)
        except NotFound as absent:
            # What else there is may be none of the caller's business.
            raise NotFound(absent.kind, config_id[:100]) from None
        if not isinstance(found, LiveSplit):
            return found, "", rpc.request(message, self._side(found), caller)
        # Who asks is known only once the request is read, and how it is read depends a little on
        # the plan; so it is read for the first arm, and again if another one is chosen.
        request = rpc.request(message, self._side(found.arms[0]), caller)
        scorer, arm = pick_arm(found, request)
        if scorer is not found.arms[0]:
            request = rpc.request(message, self._side(scorer), caller)
        return scorer, arm, request

    def _side(self, scorer: Scorer) -> PlanSide:
        side = self._sides.get(scorer)
        if side is None:
            side = self._sides[scorer] = PlanSide(scorer.plan, self._limits)
        return side

    def _deadline(self, context: Any) -> float:
        """When the call has to be answered, on the clock of `time.monotonic`."""
        policy = self._policy
        left_s = context.time_remaining()
        asked_ms = policy.default_deadline_ms if left_s is None else left_s * 1000
        return time.monotonic() + min(asked_ms, policy.max_deadline_ms) / 1000

    def _caller(self, context: Any) -> Caller:
        headers: dict[str, tuple[str, ...]] = {}
        for key, value in context.invocation_metadata() or ():
            if key in (USER_ID, "app-version-code") and value:
                headers[key] = (*headers.get(key, ()), str(value))
        return Caller(self._today(), headers.get(USER_ID, ()), headers.get("app-version-code", ()))

    def _is_heavy(self, request: ScoreRequest) -> bool:
        rows = sum(map(len, request.entities.values()))
        groups = request.pairs or request.slates or ()
        return rows + len(groups) >= self._policy.heavy_rows

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)


def _scored(rpc: Rpc, scorer: Scorer, request: ScoreRequest, deadline: float) -> bytes:
    request.deadline_ms = _left_ms(deadline)
    return rpc.answer(scorer.score_now(request))


def _left_ms(deadline: float) -> float:
    """What is left. Work whose caller has given up is not begun."""
    left = (deadline - time.monotonic()) * 1000
    if left <= 0:
        raise DeadlinePassed("waiting for its turn", 0)
    return left


def _hints(error: InferflowError) -> Iterable[tuple[str, str]]:
    if isinstance(error, Overloaded):
        wait = str(error.retry_after_ms)
        return ((RETRY_AFTER, wait), (PUSHBACK, wait))
    return ()
