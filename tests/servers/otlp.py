"""A collector that takes traces over OTLP and keeps them for a test to look at."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as service

EXPORT = "opentelemetry.proto.collector.trace.v1.TraceService"


@dataclass(frozen=True)
class Received:
    """One span, as a test reads it."""

    service: str
    name: str
    kind: int
    trace_id: str
    span_id: str
    parent_id: str
    facts: dict[str, Any]
    error: str | None
    start_ns: int
    end_ns: int


@dataclass
class Collector:
    url: str = ""
    spans: list[Received] = field(default_factory=list)
    headers: list[dict[str, Any]] = field(default_factory=list)

    def export(self, body: bytes, context: Any) -> bytes:
        self.headers.append(dict(context.invocation_metadata()))
        for resource in service.ExportTraceServiceRequest.FromString(body).resource_spans:
            named = _facts(resource.resource.attributes)["service.name"]
            for scope in resource.scope_spans:
                self.spans += [_received(named, span) for span in scope.spans]
        return b""

    def trace(self, trace_id: str) -> dict[str, Received]:
        """The spans of a trace by their ids."""
        return {span.span_id: span for span in self.spans if span.trace_id == trace_id}


def _facts(attributes: Any) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in attributes}


def _received(named: str, span: Any) -> Received:
    has_failed = span.status.code == span.status.STATUS_CODE_ERROR
    return Received(
        named,
        span.name,
        span.kind,
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        _facts(span.attributes),
        span.status.message if has_failed else None,
        span.start_time_unix_nano,
        span.end_time_unix_nano,
    )


@contextmanager
def collecting() -> Iterator[Collector]:
    """Listens on a free port of this machine until the block is left."""
    collector = Collector()
    handler = grpc.unary_unary_rpc_method_handler(collector.export)
    server = grpc.server(ThreadPoolExecutor(2), options=(("grpc.so_reuseport", 0),))
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler(EXPORT, {"Export": handler}),)
    )
    collector.url = f"http://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        yield collector
    finally:
        server.stop(None).wait()
