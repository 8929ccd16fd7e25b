"""Handlers that begin a span for each call, under the span its caller tells of.

Where this process does not trace, handlers are left as they are, and it costs nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any

import grpc

from inferflow.rpc.wrapped_handlers import Handler, WrappedHandlers
from inferflow.tracing import (
    TRACEPARENT,
    TRACESTATE,
    Fact,
    Span,
    TraceContext,
    Tracer,
    enter_span,
    read_context,
    tracer_in_use,
)

_OURS = frozenset({"UNKNOWN", "DEADLINE_EXCEEDED", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE"})
"""Statuses a server is to blame for; any other is its caller's affair and no error of the span."""


def traced(handlers: Sequence[grpc.GenericRpcHandler]) -> tuple[grpc.GenericRpcHandler, ...]:
    """Handlers whose calls are traced, if this process traces."""
    tracer = tracer_in_use()
    if tracer is None:
        return tuple(handlers)
    return tuple(
        WrappedHandlers(each, lambda path, inner: _traced(path, inner, tracer)) for each in handlers
    )


def context_of(metadata: Iterable[tuple[str, Any]] | None) -> TraceContext | None:
    """What a caller tells of its trace."""
    parent = state = ""
    for key, value in metadata or ():
        if key == TRACEPARENT:
            parent = str(value)
        elif key == TRACESTATE:
            state = f"{state},{value}" if state else str(value)
    return read_context(parent, state) if parent else None


def _traced(path: str, inner: Handler, tracer: Tracer) -> Handler:
    """The same kind of handler, which begins a span first."""

    def begun(context: Any) -> Span:
        span = tracer.begin(path[1:], "server", context_of(context.invocation_metadata()))
        enter_span(span)
        return span

    async def answer(asked: Any, context: Any) -> Any:
        span = begun(context)
        try:
            answered = await method(asked, context)
        except BaseException as failed:
            _end(span, context, failed)
            raise
        _end(span, context)
        return answered

    async def stream(asked: Any, context: Any) -> AsyncIterator[Any]:
        span = begun(context)
        try:
            async for each in method(asked, context):
                yield each
        except BaseException as failed:
            _end(span, context, failed)
            raise
        _end(span, context)

    streams = inner.request_streaming, inner.response_streaming
    method, made = {
        (False, False): (inner.unary_unary, grpc.unary_unary_rpc_method_handler),
        (True, False): (inner.stream_unary, grpc.stream_unary_rpc_method_handler),
        (False, True): (inner.unary_stream, grpc.unary_stream_rpc_method_handler),
        (True, True): (inner.stream_stream, grpc.stream_stream_rpc_method_handler),
    }[streams]
    behaviour: Any = stream if inner.response_streaming else answer
    return made(behaviour, inner.request_deserializer, inner.response_serializer)


def _end(span: Span, context: Any, failed: BaseException | None = None) -> None:
    if not span.is_kept:
        return
    status = _status(context, failed)
    span.facts.update(rpc_facts(span.name, status))
    span.end(status if status in _OURS else None)


def rpc_facts(method: str, status: str) -> dict[str, Fact]:
    """What is told of a call, by the names that OpenTelemetry has for it."""
    return {"rpc.system.name": "grpc", "rpc.method": method, "rpc.response.status_code": status}


def _status(context: Any, failed: BaseException | None) -> str:
    code = context.code()  # 0 until one is set
    if isinstance(code, grpc.StatusCode):
        return code.name
    if failed is None:
        return "OK"
    is_given_up = isinstance(failed, asyncio.CancelledError | GeneratorExit)
    return "CANCELLED" if is_given_up else "UNKNOWN"
