"""A function as a call: identified, admitted, counted, and its failures told as statuses.

Handlers see raw bytes, so that what does not parse is our answer and nothing is parsed for somebody
who may not call.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Protocol

import grpc

from inferflow.access import KeyCard
from inferflow.api.beside import hints
from inferflow.api.manager.door import Door
from inferflow.api.parsing import parse
from inferflow.api.rules import is_change
from inferflow.api.status import status_of, text_of
from inferflow.errors import EngineFault, InferflowError
from inferflow.rpc.admission import Admission
from inferflow.telemetry.audit import audited

log = logging.getLogger(__name__)

Message = Any
"""A protobuf message: its fields are known to protobuf only."""
Context = Any
Answer = Callable[[KeyCard, Message], Awaitable[Message]]
Pieces = Callable[[KeyCard, Message], AsyncIterator[Message]]
Gather = Callable[[KeyCard, AsyncIterator[Message]], Awaitable[Message]]


class CallObserver(Protocol):
    """Called on the event loop: must be quick and must not raise."""

    def call_ended(self, method: str, outcome: str, seconds: float) -> None:
        """`outcome` is `ok`, or who has to act (a Fault's value), or `cancelled`."""
        ...


class Calls:
    """Makes handlers for one manager."""

    def __init__(self, door: Door, admission: Admission, observer: CallObserver) -> None:
        self._door = door
        self._admission = admission
        self._observer = observer

    def unary(self, method: str, request: Any, answer: Answer) -> Any:
        async def handle(body: bytes, context: Context) -> bytes:
            async with self._call(method, context) as card:
                return _written(await answer(card, parse(request, body)))
            raise EngineFault("unreachable: a refused call is aborted")

        return grpc.unary_unary_rpc_method_handler(handle)

    def gathers(self, method: str, request: Any, gather: Gather) -> Any:
        """A call whose request is a stream."""

        async def handle(bodies: AsyncIterator[bytes], context: Context) -> bytes:
            async with self._call(method, context) as card:
                messages = (parse(request, body) async for body in bodies)
                return _written(await gather(card, messages))
            raise EngineFault("unreachable: a refused call is aborted")

        return grpc.stream_unary_rpc_method_handler(handle)

    def streams(self, method: str, request: Any, pieces: Pieces) -> Any:
        """A call whose answer is a stream."""

        async def handle(body: bytes, context: Context) -> AsyncIterator[bytes]:
            async with self._call(method, context) as card:
                async for piece in pieces(card, parse(request, body)):
                    yield _written(piece)

        return grpc.unary_stream_rpc_method_handler(handle)

    @asynccontextmanager
    async def _call(self, method: str, context: Context) -> AsyncIterator[KeyCard]:
        began, outcome, by = time.perf_counter(), "cancelled", ""
        failed: InferflowError | None = None
        try:
            with self._admission.admitted():
                card = await self._door.enter(method, context)
                by = card.key_id
                yield card
            outcome = "ok"
        except InferflowError as refused:
            failed, outcome = refused, refused.fault.value
            self._door.refusals.note(refused)
        except Exception as unexpected:  # the boundary of a call: the process lives on
            log.exception("call_failed", extra={"method": method})
            failed = EngineFault(f"{type(unexpected).__name__} while answering")
            outcome = failed.fault.value
        finally:
            name = method.rpartition("/")[2]
            if is_change(method):
                audited(name, by=by, outcome=type(failed).__name__ if failed else outcome)
            self._observer.call_ended(name, outcome, time.perf_counter() - began)
        if failed is not None:
            await context.abort(status_of(failed).grpc, text_of(failed), hints(failed))


def _written(message: Message) -> bytes:
    body: bytes = message.SerializeToString()
    return body
