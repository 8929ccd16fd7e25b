"""The Compute call: bytes in, bytes out.

What is wrong with a request, an expression or its values is an answer with `error`, and the call
itself is fine: so clients of the original expect it. A call fails only when its bytes are no such
message, when too many are under way, or by a fault of ours.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import grpc

from inferflow.api.numerix import asking
from inferflow.api.numerix.answering import answer, refusal
from inferflow.api.status import status_of, text_of
from inferflow.compute import Expression
from inferflow.errors import (
    ComputeFailed,
    EngineFault,
    InferflowError,
    InvalidInput,
    NotFound,
    Overloaded,
)
from inferflow.rpc.admission import Admission
from inferflow.rpc.headers import PUSHBACK, RETRY_AFTER

log = logging.getLogger(__name__)

SERVICE = "numerix.Numerix"
CALLER = "numerix-caller-id"
NO_CALLER = "unknown-caller"

_HEAVY_BYTES = 16 * 1024
"""A longer request may take a millisecond or more, so a thread answers it."""
_ERRORS = (InvalidInput, NotFound, ComputeFailed)
"""Failures that are part of an answer."""

_LONGEST_CALLER = 100

Context = Any
Find = Callable[[str], Expression]
"""The expression of a compute id. Raises NotFound."""


@dataclass(slots=True)
class ComputeCall:
    """What is known of one call when it has ended."""

    compute_id: str = ""
    """Empty when there is no such expression."""
    caller: str = NO_CALLER
    outcome: str = "cancelled"
    """`ok`, `error` when the answer says why there are no scores, or whose fault it was."""
    operations: tuple[str, ...] = ()
    """Which operations had no answer."""
    rows: int = 0
    duration_s: float = 0.0


class ComputeObserver(Protocol):
    def call_ended(self, call: ComputeCall) -> None: ...


class ComputeService:
    def __init__(
        self, find: Find, *, admission: Admission, observer: ComputeObserver | None = None
    ) -> None:
        self._find = find
        self._admission = admission
        self._observer = observer

    def handlers(self) -> list[grpc.GenericRpcHandler]:
        """To be registered with a server."""
        methods: dict[str, Any] = {"Compute": grpc.unary_unary_rpc_method_handler(self._compute)}
        return [grpc.method_handlers_generic_handler(SERVICE, methods)]

    async def _compute(self, body: bytes, context: Context) -> bytes:
        began = time.perf_counter()
        call = ComputeCall(caller=_caller(context))
        try:
            with self._admission.admitted():
                return await self._answered(body, call)
        except InferflowError as failed:
            call.outcome = failed.fault.value
            await context.abort(status_of(failed).grpc, text_of(failed), _hints(failed))
            raise  # not reached: abort raises
        finally:
            call.duration_s = time.perf_counter() - began
            if self._observer is not None:
                self._observer.call_ended(call)

    async def _answered(self, body: bytes, call: ComputeCall) -> bytes:
        try:
            if len(body) > _HEAVY_BYTES:
                return await asyncio.to_thread(self._answer, body, call)
            return self._answer(body, call)
        except InferflowError:
            raise
        except Exception as unexpected:  # the boundary of a call: the process lives on
            log.exception("call_failed", extra={"method": "Compute"})
            raise EngineFault(f"{type(unexpected).__name__} while answering") from unexpected

    def _answer(self, body: bytes, call: ComputeCall) -> bytes:
        try:
            reply = self._scored(body, call)
        except _ERRORS as refused:
            call.outcome = "error"
            call.operations = getattr(refused, "operations", ())
            return refusal(text_of(refused))
        call.outcome = "ok"
        return reply

    def _scored(self, body: bytes, call: ComputeCall) -> bytes:
        data = asking.parse(body)
        is_text = asking.is_in_text(data)
        expression = self._find(data.compute_id)
        call.compute_id, call.rows = data.compute_id, len(data.entity_scores)
        asked = asking.read(data, is_text=is_text)
        evaluation = expression.evaluate(
            asking.operands(asked, expression),
            asked.rows,
            precision=asked.precision,
            strict=not data.blank_rows,
        )
        return answer(asked, evaluation)


def _caller(context: Context) -> str:
    for name, value in context.invocation_metadata() or ():
        if name == CALLER and value:
            return str(value)[:_LONGEST_CALLER]
    return NO_CALLER


def _hints(error: InferflowError) -> tuple[tuple[str, str], ...]:
    if isinstance(error, Overloaded):
        wait = str(error.retry_after_ms)
        return ((RETRY_AFTER, wait), (PUSHBACK, wait))
    return ()
