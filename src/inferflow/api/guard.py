"""Nobody reaches a handler who may not: the one place where calls of every service are checked.

A call is judged before its message is read, by the table of rules and by who calls. Handlers that
want to know who that is ask `admitted()`. Where everybody is let in, handlers are left as they are,
and it costs nothing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextvars import ContextVar
from typing import Any

import grpc

from inferflow.access import Gate, KeyCard, OpenGate
from inferflow.api.bearer import credentials_of, token_headers
from inferflow.api.beside import hints
from inferflow.api.rules import is_change, rule_of
from inferflow.api.status import status_of, text_of
from inferflow.errors import InferflowError
from inferflow.rpc.wrapped_handlers import Handler, WrappedHandlers
from inferflow.telemetry.audit import audited

Admit = Callable[[Any], Awaitable[None]]

_admitted: ContextVar[KeyCard | None] = ContextVar("inferflow_admitted", default=None)


def admitted() -> KeyCard | None:
    """Who makes the call that is being answered; None where nobody is asked."""
    return _admitted.get()


def guarded(
    handlers: Sequence[grpc.GenericRpcHandler], gate: Gate | OpenGate, *, counts: bool = True
) -> list[grpc.GenericRpcHandler]:
    """Handlers behind a gate. Unless it `counts` not, each call is one of those a caller's rate
    allows."""
    if isinstance(gate, OpenGate):
        return list(handlers)
    guard = _Guard(gate, counts=counts)
    return [WrappedHandlers(each, guard.wrap) for each in handlers]


class _Guard:
    def __init__(self, gate: Gate, *, counts: bool) -> None:
        self._gate = gate
        self._counts = counts

    def wrap(self, path: str, inner: Handler) -> Handler:
        if not rule_of(path):
            return inner
        admit = self._admission(path)
        if is_change(path) and not inner.request_streaming and not inner.response_streaming:
            return grpc.unary_unary_rpc_method_handler(
                _told(path.rpartition("/")[2], admit, inner.unary_unary)
            )
        return _behind(admit, inner)

    def _admission(self, path: str) -> Admit:
        needs, headers, gate = rule_of(path), token_headers(path), self._gate

        async def admit(context: Any) -> None:
            try:
                shown = credentials_of(context, headers, with_certificate=gate.reads_certificates)
                _admitted.set(await gate.admit(shown, needs=needs, counts=self._counts))
            except InferflowError as refused:
                gate.refusals.note_unknown(refused)
                code = status_of(refused).grpc
                await context.abort(code, text_of(refused), hints(refused))

        return admit


def _told(name: str, admit: Admit, method: Any) -> Any:
    """A call that changes something, and a line in the log who made it."""

    async def answer(asked: bytes, context: Any) -> bytes:
        outcome = "refused"
        try:
            await admit(context)
            outcome = "failed"
            body: bytes = await method(asked, context)
            outcome = "ok"
            return body
        finally:
            by = admitted()
            audited(name, by=by.key_id if by else "", outcome=outcome)

    return answer


def _behind(admit: Admit, inner: Handler) -> Handler:
    """The same kind of handler, which admits first."""

    async def answer(asked: Any, context: Any) -> Any:
        await admit(context)
        return await method(asked, context)

    async def stream(asked: Any, context: Any) -> AsyncIterator[Any]:
        await admit(context)
        async for each in method(asked, context):
            yield each

    if inner.response_streaming:
        method = inner.stream_stream if inner.request_streaming else inner.unary_stream
        made = (
            grpc.stream_stream_rpc_method_handler
            if inner.request_streaming
            else grpc.unary_stream_rpc_method_handler
        )
        return made(stream, inner.request_deserializer, inner.response_serializer)
    method = inner.stream_unary if inner.request_streaming else inner.unary_unary
    plain = (
        grpc.stream_unary_rpc_method_handler
        if inner.request_streaming
        else grpc.unary_unary_rpc_method_handler
    )
    return plain(answer, inner.request_deserializer, inner.response_serializer)
