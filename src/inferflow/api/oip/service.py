"""The calls of the Open Inference Protocol: bytes in, bytes out.

A call is admitted, identified, given a deadline, and whatever goes wrong becomes a status. In a
stream, requests run side by side and are answered in order; one that fails says so in its place.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal
from weakref import WeakKeyDictionary

import grpc

from inferflow._proto.pool import message_class
from inferflow.access import Refusals
from inferflow.api.oip import describing
from inferflow.api.oip.access import Access, Caller
from inferflow.api.oip.answering import AnswerWriter, streamed, streamed_error
from inferflow.api.oip.asking import InputReader, Message, parse_infer, urgency_of
from inferflow.api.parsing import parse
from inferflow.api.status import short, status_of, text_of
from inferflow.engine.deadline import Deadline
from inferflow.errors import (
    EngineFault,
    InferflowError,
    InvalidRequest,
    ModelUnavailable,
    NotFound,
    Overloaded,
    RateLimited,
)
from inferflow.rpc.admission import Admission
from inferflow.rpc.headers import PUSHBACK, RETRY_AFTER
from inferflow.serving.worker.ask import Ask
from inferflow.serving.worker.host import ModelHost
from inferflow.serving.worker.lane import Lane
from inferflow.serving.worker.observer import SilentObserver, WorkerObserver

log = logging.getLogger(__name__)

SERVICE = "inference.GRPCInferenceService"

_STREAM_AHEAD = 16
"""Requests of one stream that are worked on at once."""

Context = Any
Handle = Callable[[Message, Deadline], Awaitable[Message]]
Rule = Literal["anybody", "identified", "model", "administration"]
"""Who may make a call that is not inference, where callers have to be identified."""


@dataclass(frozen=True, slots=True)
class InferPolicy:
    default_deadline_ms: float = 10_000
    """For callers that name none."""
    max_deadline_ms: float = 60_000


@dataclass(slots=True)
class _Call:
    """What is known so far about one request, to be counted when it ends."""

    model: str = ""
    version: str = ""
    request_id: str = ""
    rows: int = 0
    key: str = ""


class _Codec:
    """How the requests and answers of one loaded model are read and written."""

    def __init__(self, lane: Lane) -> None:
        self.reader = InputReader(lane.model.signature)
        self.writer = AnswerWriter(lane.model.signature)


class InferenceService:
    def __init__(
        self,
        host: ModelHost,
        *,
        admission: Admission,
        is_ready: Callable[[], bool] = lambda: True,
        policy: InferPolicy | None = None,
        access: Access | None = None,
        refusals: Refusals | None = None,
        observer: WorkerObserver | None = None,
    ) -> None:
        self._host = host
        self._admission = admission
        self._is_ready = is_ready
        self._policy = policy or InferPolicy()
        self._access = access
        self._refusals = refusals or Refusals()
        self._observer = observer or SilentObserver()
        self._codecs: WeakKeyDictionary[Lane, _Codec] = WeakKeyDictionary()

    def handlers(self) -> list[grpc.GenericRpcHandler]:
        """To be registered with a server. They see raw bytes: what does not parse is our answer."""
        unary = grpc.unary_unary_rpc_method_handler
        calls: dict[str, tuple[Handle, Rule]] = {
            "ServerLive": (self._server_live, "anybody"),
            "ServerReady": (self._server_ready, "anybody"),
            "ServerMetadata": (self._server_metadata, "identified"),
            "ModelReady": (self._model_ready, "model"),
            "ModelMetadata": (self._model_metadata, "model"),
            "ModelConfig": (self._model_config, "model"),
            "ModelStatistics": (self._model_statistics, "model"),
            "RepositoryIndex": (self._repository_index, "administration"),
            "RepositoryModelLoad": (self._repository_load, "administration"),
            "RepositoryModelUnload": (self._repository_unload, "administration"),
        }
        methods: dict[str, Any] = {
            name: unary(self._told(name, handle, rule)) for name, (handle, rule) in calls.items()
        }
        methods["ModelInfer"] = unary(self._model_infer)
        methods["ModelStreamInfer"] = grpc.stream_stream_rpc_method_handler(self._model_stream)
        return [grpc.method_handlers_generic_handler(SERVICE, methods)]

    # --- inference --------------------------------------------------------------------------

    async def _model_infer(self, body: bytes, context: Context) -> bytes:
        call = _Call()
        try:
            return await self._counted(call, body, context)
        except InferflowError as failed:
            await context.abort(status_of(failed).grpc, _told_text(failed, call), _hints(failed))
            raise  # not reached: abort raises

    async def _model_stream(
        self, bodies: AsyncIterator[bytes], context: Context
    ) -> AsyncIterator[bytes]:
        under_way: asyncio.Queue[asyncio.Task[bytes] | None] = asyncio.Queue(_STREAM_AHEAD)

        async def read() -> None:
            async for body in bodies:
                await under_way.put(asyncio.ensure_future(self._streamed(body, context)))
            await under_way.put(None)

        reading = asyncio.ensure_future(read())
        task: asyncio.Task[bytes] | None = None
        try:
            while (task := await under_way.get()) is not None:
                yield await task
        finally:
            reading.cancel()
            while not under_way.empty():
                task = under_way.get_nowait()
                if task is not None:
                    task.cancel()

    async def _streamed(self, body: bytes, context: Context) -> bytes:
        call = _Call()
        try:
            return streamed(await self._counted(call, body, context))
        except InferflowError as failed:
            return streamed_error(_told_text(failed, call), call.request_id)

    async def _counted(self, call: _Call, body: bytes, context: Context) -> bytes:
        began = time.perf_counter()
        outcome = "cancelled"
        try:
            with self._admission.admitted():
                answer = await self._answered(call, body, context)
            outcome = "ok"
            return answer
        except InferflowError as failed:
            outcome = failed.fault.value
            self._refusals.note(failed)
            raise
        except Exception as unexpected:  # the boundary of a call: the process lives on
            outcome = "ours"
            log.exception("call_failed", extra={"method": "ModelInfer"})
            raise EngineFault(f"{type(unexpected).__name__} while answering") from unexpected
        finally:
            took = time.perf_counter() - began
            self._observer.request_ended(
                call.model, call.version, outcome, call.rows, took, call.key
            )

    async def _answered(self, call: _Call, body: bytes, context: Context) -> bytes:
        deadline = self._deadline(context)
        caller = self._identified(context)
        request = parse_infer(body)
        model, version = request.model_name, request.model_version
        call.request_id = request.id
        if caller is not None:
            call.key = caller.key_id
            version = version or caller.version
            if version:  # before anything is looked up for somebody who may not use it
                call.model, call.version = model, version
                caller.check_inference(model, version)
        needs_check = caller is not None and not version
        urgency = urgency_of(request)
        lane = self._host.ready(model, version)
        if lane is None:
            version = await self._host.resolved(model, version)
        else:
            version = lane.model.signature.version
        call.model, call.version = model, version
        if caller is not None and needs_check:  # before anything is loaded
            caller.check_inference(model, version)
        if lane is None:
            lane = await self._host.lane(model, version, deadline)
        codec = self._codec(lane)
        outputs = codec.reader.outputs(request)
        ask = Ask(
            codec.reader.feed(request), outputs, deadline, urgency.priority, urgency.timeout_s
        )
        call.rows = ask.rows
        values = await lane.infer(ask)
        return codec.writer.answer(request.id, outputs, values)

    def _codec(self, lane: Lane) -> _Codec:
        codec = self._codecs.get(lane)
        if codec is None:
            codec = self._codecs[lane] = _Codec(lane)
        return codec

    def _deadline(self, context: Context) -> Deadline:
        left_s = context.time_remaining()
        asked_ms = self._policy.default_deadline_ms if left_s is None else left_s * 1000
        return Deadline(min(asked_ms, self._policy.max_deadline_ms))

    def _identified(self, context: Context) -> Caller | None:
        if self._access is None:
            return None
        return self._access.identify(context.invocation_metadata() or ())

    # --- everything else --------------------------------------------------------------------

    def _told(
        self, method: str, handle: Handle, rule: Rule
    ) -> Callable[[bytes, Context], Awaitable[bytes]]:
        """A handler that parses, asks for permission, and turns failures into statuses."""
        message = message_class(f"inference.{method}Request")

        async def answer(body: bytes, context: Context) -> bytes:
            failed: InferflowError
            try:
                caller = None if rule == "anybody" else self._identified(context)
                request = parse(message, body)
                if caller is not None:
                    _check(caller, rule, request)
                reply = await handle(request, self._deadline(context))
                return reply.SerializeToString()  # type: ignore[no-any-return]
            except InferflowError as refused:
                failed = refused
                self._refusals.note(refused)
            except Exception as unexpected:  # the boundary of a call: the process lives on
                log.exception("call_failed", extra={"method": method})
                failed = EngineFault(f"{type(unexpected).__name__} while answering {method}")
            await context.abort(status_of(failed).grpc, text_of(failed), _hints(failed))
            raise failed  # not reached: abort raises

        return answer

    async def _server_live(self, _: Message, __: Deadline) -> Message:
        return message_class("inference.ServerLiveResponse")(live=True)

    async def _server_ready(self, _: Message, __: Deadline) -> Message:
        return message_class("inference.ServerReadyResponse")(ready=self._is_ready())

    async def _server_metadata(self, _: Message, __: Deadline) -> Message:
        return describing.server_metadata()

    async def _model_ready(self, request: Message, _: Deadline) -> Message:
        try:
            ready = await self._host.is_ready(request.name, request.version)
        except NotFound:
            ready = False
        return message_class("inference.ModelReadyResponse")(ready=ready and self._is_ready())

    async def _model_metadata(self, request: Message, deadline: Deadline) -> Message:
        signature = await self._host.signature(request.name, request.version, deadline)
        return describing.model_metadata(signature, self._host.versions(request.name))

    async def _model_config(self, request: Message, deadline: Deadline) -> Message:
        signature = await self._host.signature(request.name, request.version, deadline)
        return describing.model_config(signature, self._host.rules_for(signature))

    async def _model_statistics(self, request: Message, _: Deadline) -> Message:
        if request.name:
            await self._host.resolved(request.name, request.version)
        return describing.statistics(
            each
            for each in self._host.residents()
            if request.name in ("", each.model) and request.version in ("", each.version)
        )

    async def _repository_index(self, request: Message, _: Deadline) -> Message:
        _only_repository(request)
        await self._host.refresh()
        return describing.index(self._host.residents(), only_ready=request.ready)

    async def _repository_load(self, request: Message, _: Deadline) -> Message:
        _only_repository(request)
        for name in request.parameters:
            what = "models are loaded as they are in the repository"
            raise InvalidRequest(f"parameters[{name!r}]", "is not supported", what)
        await self._host.load(request.model_name)
        return message_class("inference.RepositoryModelLoadResponse")()

    async def _repository_unload(self, request: Message, _: Deadline) -> Message:
        _only_repository(request)
        await self._host.unload(request.model_name)
        return message_class("inference.RepositoryModelUnloadResponse")()


def _check(caller: Caller, rule: Rule, request: Message) -> None:
    if rule == "administration" or (rule == "model" and not request.name):
        caller.check_administration()
    elif rule == "model":
        caller.check_model(request.name)


def _only_repository(request: Message) -> None:
    if request.repository_name:
        raise NotFound("repository", request.repository_name[:100])


def _told_text(failed: InferflowError, call: _Call) -> str:
    if not call.request_id:
        return text_of(failed)
    return short(f"[request id: {call.request_id[:100]}] {text_of(failed)}")


def _hints(error: InferflowError) -> Iterable[tuple[str, str]]:
    if isinstance(error, Overloaded | RateLimited):
        wait = str(error.retry_after_ms)
        return ((RETRY_AFTER, wait), (PUSHBACK, wait))
    if isinstance(error, ModelUnavailable) and error.retry_after_ms is not None:
        return ((RETRY_AFTER, str(error.retry_after_ms)),)  # another worker may be asked at once
    return ()
