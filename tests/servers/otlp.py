"""A collector that takes traces over OTLP and keeps them for a test to look at."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as service

EXPORT = "opentelemetry.proto.collector.trace.v1.TraceService"


@dataclass(frozen=True)
class Received:
    """One span, as a test reads it."""

    service: str
    pid: int
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
        self.take(body, dict(context.invocation_metadata()))
        return b""

    def take(self, body: bytes, headers: dict[str, Any]) -> None:
        self.headers.append(headers)
        for resource in service.ExportTraceServiceRequest.FromString(body).resource_spans:
            about = _facts(resource.resource.attributes)
            for scope in resource.scope_spans:
                self.spans += [_received(about, span) for span in scope.spans]

    def trace(self, trace_id: str) -> dict[str, Received]:
        """The spans of a trace by their ids."""
        return {span.span_id: span for span in self.spans if span.trace_id == trace_id}


def _facts(attributes: Any) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in attributes}


def _received(about: dict[str, Any], span: Any) -> Received:
    has_failed = span.status.code == span.status.STATUS_CODE_ERROR
    return Received(
        about["service.name"],
        about["process.pid"],
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


@contextmanager
def collecting_over_http() -> Iterator[Collector]:
    """The same for `http/protobuf`; `url` is without the path, which must be that of traces."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            is_here = self.path == "/v1/traces"
            if is_here:
                headers = {name.lower(): value for name, value in self.headers.items()}
                collector.take(body, headers)
            self.send_response(200 if is_here else 404)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Nobody reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    collector.url = f"http://127.0.0.1:{server.server_port}"
    serving = threading.Thread(target=server.serve_forever, args=(0.01,))
    serving.start()
    try:
        yield collector
    finally:
        server.shutdown()
        serving.join()
        server.server_close()
