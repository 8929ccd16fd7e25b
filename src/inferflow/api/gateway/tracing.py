"""A span for each HTTP request, under the span its caller tells of.

It is named by method and route, as metrics are, and says nothing of what is inside a request. What
the gateway asks of others on its behalf is told of it by the channels themselves.
"""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from inferflow.api.gateway.shielding import header, route_of
from inferflow.tracing import TRACEPARENT, TRACESTATE, Span, Tracer, enter_span, read_context

_FAILED = 500


class TracedRequests:
    def __init__(self, app: ASGIApp, *, tracer: Tracer) -> None:
        self._app = app
        self._tracer = tracer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # a socket's messages have no headers to be told by
            await self._app(scope, receive, send)
            return
        told = read_context(header(scope, TRACEPARENT), header(scope, TRACESTATE))
        span = self._tracer.begin(scope["method"], "server", told)
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


def _end(span: Span, scope: Scope, status: int) -> None:
    route = route_of(scope)
    span.name = f"{scope['method']} {route}"
    span.facts |= {
        "http.request.method": scope["method"],
        "http.route": route,
        "http.response.status_code": status,
    }
    span.end(f"HTTP {status}" if not status or status >= _FAILED else None)
