"""A span for each HTTP request and each message over a socket, under the span its caller tells of.

It is named by method and route, as metrics are, and says nothing of what is inside a request. What
the gateway asks of others on its behalf is told of it by the channels themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from inferflow.api.gateway.shielding import header, route_of
from inferflow.api.status import status_of
from inferflow.errors import InferflowError
from inferflow.tracing import (
    TRACEPARENT,
    TRACESTATE,
    Span,
    TraceContext,
    Tracer,
    enter_span,
    read_context,
    tracer_in_use,
)

_FAILED = 500


class TracedRequests:
    def __init__(self, app: ASGIApp, *, tracer: Tracer) -> None:
        self._app = app
        self._tracer = tracer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # a socket is open for hours; see `traced_message`
            await self._app(scope, receive, send)
            return
        span = self._tracer.begin(scope["method"], "server", _told(scope))
        enter_span(span)
        status = 0

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            _end(span, scope, status)


@contextmanager
def traced_message(scope: Scope) -> Iterator[None]:
    """A message that came over a socket and is answered in a task of its own. It has no headers:
    the trace is the one that the socket was opened for."""
    tracer = tracer_in_use()
    if tracer is None:
        yield
        return
    span = tracer.begin(f"WS {route_of(scope)}", "server", _told(scope))
    span.facts["http.route"] = route_of(scope)
    enter_span(span)
    try:
        yield
    except BaseException as failed:
        span.end(type(failed).__name__ if _is_ours(failed) else None)
        raise
    span.end()


def _is_ours(failed: BaseException) -> bool:
    """Whether a server is to blame, and not whoever asks."""
    return not isinstance(failed, InferflowError) or status_of(failed).http >= _FAILED


def _told(scope: Scope) -> TraceContext | None:
    return read_context(header(scope, TRACEPARENT), header(scope, TRACESTATE))


def _end(span: Span, scope: Scope, status: int) -> None:
    route = route_of(scope)
    span.name = f"{scope['method']} {route}"
    span.facts |= {
        "http.request.method": scope["method"],
        "http.route": route,
        "http.response.status_code": status,
    }
    span.end(f"HTTP {status}" if not status or status >= _FAILED else None)
