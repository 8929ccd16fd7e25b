"""Sends spans to an OpenTelemetry collector, over gRPC or HTTP, from a thread of its own.

The home of OpenTelemetry. Of its SDK only the way out is used: queue, batches, repetition, and the
variables that steer them (`OTEL_BSP_*`, `OTEL_EXPORTER_OTLP_*`). Its spans would take 15 µs each
even where no trace is kept; ours are made only where one is, and become its own at their end.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

from inferflow._version import __version__
from inferflow.errors import MissingExtra
from inferflow.tracing import Span

if TYPE_CHECKING:
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace.export import SpanExporter

_LAST_S = 2.0
"""How long the end of a process waits for a collector to take what is left."""
_UNNAMED = "unknown_service"


class Otlp:
    """What spans go into. Full queues lose the oldest spans, and no request ever waits."""

    def __init__(
        self,
        endpoint: str,
        *,
        service: str,
        default_service: str,
        env: str,
        over_http: bool = False,
    ) -> None:
        """`endpoint` is a URL, over HTTP with its path. `service` wins over what OpenTelemetry's
        own variables say, `default_service` does not. Raises MissingExtra."""
        try:
            from opentelemetry import trace
            from opentelemetry.sdk.trace import ReadableSpan
            from opentelemetry.sdk.trace.export import BatchSpanProcessor
            from opentelemetry.sdk.util.instrumentation import InstrumentationScope
        except ModuleNotFoundError as missing:
            raise MissingExtra("otel", for_what="tracing") from missing
        self._trace = trace
        self._readable = ReadableSpan
        self._scope = InstrumentationScope("inferflow", __version__)
        self._resource = _resource(service, default_service, env)
        self._kinds = {
            "server": trace.SpanKind.SERVER,
            "client": trace.SpanKind.CLIENT,
            "producer": trace.SpanKind.PRODUCER,
            "internal": trace.SpanKind.INTERNAL,
        }
        self._exporter = _http(endpoint) if over_http else _grpc(endpoint)
        self._processor = BatchSpanProcessor(self._exporter)

    def send(self, span: Span) -> None:
        """Put a span into the queue."""
        trace = self._trace
        parent = self._context(span, span.parent_id, is_remote=True) if span.parent_id else None
        status = (
            trace.Status()
            if span.error is None
            else trace.Status(trace.StatusCode.ERROR, span.error)
        )
        self._processor.on_end(
            self._readable(
                span.name,
                context=self._context(span, span.context.span_id, is_remote=False),
                parent=parent,
                resource=self._resource,
                attributes=span.facts,
                kind=self._kinds[span.kind],
                status=status,
                start_time=span.start_ns,
                end_time=span.end_ns,
                instrumentation_scope=self._scope,
            )
        )

    def close(self) -> None:
        """Send what is left, as far as the collector takes it soon."""
        ending = threading.Thread(target=self._processor.shutdown, daemon=True)
        ending.start()
        ending.join(_LAST_S)
        if ending.is_alive():
            self._exporter.shutdown()  # ends the repetition, and with it the thread
            ending.join(_LAST_S)

    def _context(self, span: Span, span_id: int, *, is_remote: bool) -> Any:
        trace, told = self._trace, span.context
        state = trace.TraceState.from_header([told.state]) if told.state else None
        return trace.SpanContext(
            told.trace_id, span_id, is_remote, trace.TraceFlags(trace.TraceFlags.SAMPLED), state
        )


def _grpc(endpoint: str) -> SpanExporter:
    try:
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
    except ModuleNotFoundError as missing:
        raise MissingExtra("otel", for_what="traces over gRPC") from missing
    return OTLPSpanExporter(endpoint=endpoint)


def _http(endpoint: str) -> SpanExporter:
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    except ModuleNotFoundError as missing:
        raise MissingExtra("otel", for_what="traces over HTTP") from missing
    exporter: SpanExporter = OTLPSpanExporter(endpoint=endpoint)
    return exporter


def _resource(service: str, default_service: str, env: str) -> Resource:
    from opentelemetry.sdk.resources import Resource

    told: dict[str, str | int] = {
        "service.version": __version__,
        "process.pid": os.getpid(),  # several processes may be one service
        **({"deployment.environment.name": env} if env else {}),
    }
    found = Resource.create({**told, **({"service.name": service} if service else {})})
    if str(found.attributes.get("service.name", _UNNAMED)).startswith(_UNNAMED):
        return found.merge(Resource({"service.name": default_service}))
    return found
