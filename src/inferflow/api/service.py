"""The four calls: bytes in, bytes out.

A handler takes its plan once, at its start, so a reload never mixes two versions. It admits
the call, gives it a deadline, scores, and turns whatever goes wrong into a status. Small requests
are scored right on the event loop; large ones in a thread, so that they hold up nobody.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Protocol, TypeVar
from weakref import WeakKeyDictionary

import grpc

from inferflow.access import Refusals
from inferflow.api.beside import (
    Headers,
    asks_to_explain,
    caller_of,
    hints,
    read_headers,
    request_id,
    trailing,
)
from inferflow.api.crowding import check_crowding
from inferflow.api.entrance import Entrance
from inferflow.api.guard import admitted
from inferflow.api.heavy import HeavyWork
from inferflow.api.insight import WhyNot, peer_host
from inferflow.api.legacy import RETRIEVE_MODEL_SCORE
from inferflow.api.places import on_the_wire
from inferflow.api.predict import PAIR_WISE, POINT_WISE, SLATE_WISE
from inferflow.api.rpc import Caller, PlanSide, Rpc
from inferflow.api.status import BY_FAULT, short, status_of, text_of
from inferflow.components.routing import pick_arm
from inferflow.engine.limits import Limits
from inferflow.engine.observer import Observer, guarded
from inferflow.engine.recording import Recording
from inferflow.engine.request import ScoreRequest
from inferflow.engine.scorer import Scorer
from inferflow.errors import (
    DeadlinePassed,
    EngineFault,
    Fault,
    InferflowError,
    InvalidRequest,
    NotFound,
)
from inferflow.plan.book import LiveSplit
from inferflow.rpc.admission import Admission, Patience, no_turn
from inferflow.rpc.headers import EXPLAIN, RECORDING
from inferflow.rpc.refusing import Refuse, Refusing
from inferflow.rpc.turns import Turns
from inferflow.scores import Scores
from inferflow.telemetry.calls import Call, begin_call

T = TypeVar("T")

log = logging.getLogger(__name__)

RPCS = (RETRIEVE_MODEL_SCORE, POINT_WISE, PAIR_WISE, SLATE_WISE)
SERVICES = ("Inferflow", "Predict")

Handle = Callable[[bytes, Any], Awaitable[bytes]]

_BUSY = BY_FAULT[Fault.BUSY].grpc
_LONGEST = 200
"""Characters of a caller's own words that are kept or logged."""


@dataclass(frozen=True, slots=True)
class CallPolicy:
    """How a call is treated, whatever it asks."""

    default_deadline_ms: float = 1_000
    """For callers that name none."""
    max_deadline_ms: float = 10_000
    max_wait_ms: float = 250
    """Calls that would wait longer for their turn are refused."""
    heavy_bytes: int = 32 * 1024
    """Requests from this size on are read in a thread."""
    heavy_rows: int = 1_000
    """Requests from so many targets, pairs and slates on are scored in a thread."""


class Recorder(Protocol):
    """Keeps what happened in calls that asked for it."""

    def keep(self, call: Call, recording: Recording, scores: Scores | None, failure: str) -> str:
        """The id under which it can be fetched."""


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
        recorder: Recorder | None = None,
        why_not: WhyNot = lambda _: "",
        refusals: Refusals | None = None,
        today: Callable[[], date] = lambda: datetime.now(UTC).date(),
    ) -> None:
        self._find = find
        self._limits = limits
        self._admission = admission
        self._policy = policy or CallPolicy()
        self._observer = None if observer is None else guarded(observer)
        self._recorder = recorder
        self._why_not = why_not
        self._refusals = refusals or Refusals()
        self._today = today
        self._turns = Turns(Patience(self._policy.max_wait_ms / 1000))
        self._heavy = HeavyWork(Patience(self._policy.max_wait_ms / 1000))
        self._sides: WeakKeyDictionary[Scorer, PlanSide] = WeakKeyDictionary()

    def handlers(self) -> list[grpc.GenericRpcHandler]:
        """To be registered with a server. They see raw bytes: what does not parse is our answer."""
        return [
            self._entrance(service, [rpc for rpc in RPCS if rpc.service == service])
            for service in SERVICES
        ]

    def _entrance(self, service: str, rpcs: Sequence[Rpc]) -> Entrance:
        answering: dict[str, Any] = {
            rpc.method: grpc.unary_unary_rpc_method_handler(self._handler(rpc)) for rpc in rpcs
        }
        return Entrance(
            grpc.method_handlers_generic_handler(service, answering),
            {rpc.path: Refusing(self._refuser(rpc)) for rpc in rpcs},
            turns=self._turns,
            admission=self._admission,
        )

    async def let_all_in(self) -> None:
        """To be called right before the server stops taking calls; see `Turns.hold`."""
        await self._turns.hold()

    def close(self) -> None:
        self._heavy.close()

    def _handler(self, rpc: Rpc) -> Handle:
        async def handle(body: bytes, context: Any) -> bytes:
            began = time.perf_counter()
            headers = read_headers(context.invocation_metadata())
            call = Call(request_id(headers), rpc.path)
            begin_call(call)
            failed: InferflowError
            try:
                with self._admission.admitted():
                    deadline = self._deadline(context)
                    await self._turns.take(deadline - time.monotonic())
                    answer = await self._answered(rpc, body, context, deadline, headers, call)
            except InferflowError as refused:
                self._refusals.note(refused)
                failed = on_the_wire(refused)
            except asyncio.CancelledError as cancelled:
                call.error = type(cancelled).__name__
                self._tell(rpc, grpc.StatusCode.CANCELLED, began)
                raise
            except Exception as unexpected:  # the boundary of a call: the process lives on
                log.exception("call_failed", extra={"method": rpc.path})
                failed = EngineFault(f"{type(unexpected).__name__} while answering {rpc.path}")
            else:
                self._tell(rpc, grpc.StatusCode.OK, began)
                return answer
            code = status_of(failed).grpc
            call.error = type(failed).__name__
            self._tell(rpc, code, began)
            await context.abort(code, text_of(failed), (*trailing(call), *hints(failed)))
            raise failed  # not reached: abort raises

        return handle

    def _refuser(self, rpc: Rpc) -> Refuse:
        """For calls that come while there is no place; see `Entrance`."""

        async def refuse(_messages: Any, context: Any) -> bytes:
            began = time.perf_counter()
            call = Call(request_id(read_headers(context.invocation_metadata())), rpc.path)
            begin_call(call)
            is_limit, wait_s = self._admission.is_full, self._turns.wait_s
            refused = self._admission.no_place() if is_limit else no_turn(wait_s)
            call.error = type(refused).__name__
            self._tell(rpc, _BUSY, began)
            await context.abort(_BUSY, str(refused), (*trailing(call), *hints(refused)))
            raise refused  # not reached: abort raises

        return refuse

    def _tell(self, rpc: Rpc, code: grpc.StatusCode, began: float) -> None:
        if self._observer is not None:
            number = 0 if code is grpc.StatusCode.OK else code.value[0]  # an enum's value is slow
            self._observer.call_ended(rpc.path, number, time.perf_counter() - began)

    async def _answered(
        self,
        rpc: Rpc,
        body: bytes,
        context: Any,
        deadline: float,
        headers: Headers,
        call: Call,
    ) -> bytes:
        began = time.perf_counter()
        left_s = _left_ms(deadline) / 1000
        caller = caller_of(headers, self._today)
        caller.key = admitted()
        if is_read_here := len(body) < self._policy.heavy_bytes:
            scorer, request = self._read(rpc, body, caller, call)
        else:
            self._heavy.check(left_s)
            scorer, request = await self._heavy.run(lambda: self._read(rpc, body, caller, call))
        is_heavy = self._is_heavy(request)
        if is_heavy and is_read_here:
            self._turns.note_work(time.perf_counter() - began)
        if asks_to_explain(headers):
            why = self._why_not_recorded(context)
            if not why:
                return await self._recorded(rpc, scorer, request, deadline, call, context)
            call.told = ((EXPLAIN, why),)
        context.set_trailing_metadata(trailing(call))
        if not is_heavy:
            request.deadline_ms = _left_ms(deadline)
            answer = rpc.answer(await scorer.score(request))
            if scorer.is_local:
                await self._turns.worked(time.perf_counter() - began)
            return answer
        if scorer.is_local:
            self._heavy.check(left_s)
            return await self._heavy.run(lambda: _scored(rpc, scorer, request, deadline))
        request.deadline_ms = _left_ms(deadline)
        scores = await scorer.score(request)
        return await self._heavy.run(lambda: rpc.answer(scores))

    def _why_not_recorded(self, context: Any) -> str:
        if self._recorder is None:
            return "this server keeps no recordings"
        return self._why_not(peer_host(context.peer()))

    async def _recorded(
        self,
        rpc: Rpc,
        scorer: Scorer,
        request: ScoreRequest,
        deadline: float,
        call: Call,
        context: Any,
    ) -> bytes:
        """The answer as ever; what happened on the way is kept, also when there is none."""
        assert self._recorder is not None
        request.deadline_ms = _left_ms(deadline)
        recording = scorer.new_recording()
        recording.arm = call.arm
        call.is_kept = True
        scores, failure = None, ""
        try:
            if scorer.is_local and self._is_heavy(request):
                scores = await self._heavy.run(lambda: scorer.score_now(request, recording))
            else:
                scores = await scorer.score(request, recording)
            return rpc.answer(scores)
        except BaseException as failed:
            failure = short(str(failed)) or type(failed).__name__
            raise
        finally:
            kept = self._recorder.keep(call, recording, scores, failure)
            call.told = ((RECORDING, kept),)
            context.set_trailing_metadata(trailing(call))

    def _read(
        self, rpc: Rpc, body: bytes, caller: Caller, call: Call
    ) -> tuple[Scorer, ScoreRequest]:
        """What answers, and the request. What is learnt on the way is noted of the call."""
        check_crowding(body, rpc.message, self._limits)
        message = rpc.parse(body)
        config_id = message.model_config_id
        call.config_id = config_id[:_LONGEST]
        call.tracking_id = message.tracking_id[:_LONGEST]
        if not config_id:
            raise InvalidRequest("model_config_id", "is empty")
        if caller.key is not None:
            caller.key.require_model(config_id)
        if len(config_id) > self._limits.id_bytes:
            raise NotFound("model config", config_id[:100])
        try:
            found = self._find(config_id)
        except NotFound as absent:
            # What else there is may be none of the caller's business.
            raise NotFound(absent.kind, config_id[:100]) from None
        if not isinstance(found, LiveSplit):
            call.plan = found.plan
            return found, rpc.request(message, self._side(found), caller)
        # Who asks is known only once the request is read, and how it is read depends a little on
        # the plan; so it is read for the first arm, and again if another one is chosen.
        request = rpc.request(message, self._side(found.arms[0]), caller)
        scorer, call.arm = pick_arm(found, request)
        call.plan = scorer.plan
        if scorer is not found.arms[0]:
            request = rpc.request(message, self._side(scorer), caller)
        request.config_id = config_id  # the log tells what was asked for and what answered
        if self._observer is not None:
            self._observer.arm_chosen(config_id, call.arm)
        return scorer, request

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

    def _is_heavy(self, request: ScoreRequest) -> bool:
        rows = sum(map(len, request.entities.values()))
        groups = request.pairs or request.slates or ()
        return rows + len(groups) >= self._policy.heavy_rows


def _scored(rpc: Rpc, scorer: Scorer, request: ScoreRequest, deadline: float) -> bytes:
    request.deadline_ms = _left_ms(deadline)
    return rpc.answer(scorer.score_now(request))


def _left_ms(deadline: float) -> float:
    """What is left. Work whose caller has given up is not begun."""
    left = (deadline - time.monotonic()) * 1000
    if left <= 0:
        raise DeadlinePassed("waiting for its turn", 0)
    return left
