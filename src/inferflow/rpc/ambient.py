"""The span of a program that traces by itself, so that calls of our clients are part of its traces.

OpenTelemetry is never imported here: a program that uses it has done so.
"""

from __future__ import annotations

import sys
from typing import Any

from inferflow.tracing import Fact, Headers, Kind, TraceContext


def ambient_span() -> Any:
    """The program's current span, to be asked for a child as ours is; None where it has none."""
    otel = sys.modules.get("opentelemetry.trace")
    if otel is None:
        return None
    current = otel.get_current_span()
    return AmbientSpan(otel, current) if current.get_span_context().is_valid else None


class AmbientSpan:
    """As much of a span as clients use, kept by the program's own tracer."""

    def __init__(self, otel: Any, span: Any) -> None:
        self._otel = otel
        self._span = span
        self.is_kept = bool(span.is_recording())
        self.name = ""
        self.facts: dict[str, Fact] = {}

    def child(self, name: str, kind: Kind) -> AmbientSpan:
        if not self.is_kept:
            return self
        tracer = self._otel.get_tracer("inferflow")
        kinds = self._otel.SpanKind
        made = tracer.start_span(name, kind=kinds.CLIENT if kind == "client" else kinds.INTERNAL)
        child = AmbientSpan(self._otel, made)
        child.name = name
        return child

    def headers(self) -> Headers:
        found = self._span.get_span_context()
        sampled = bool(found.trace_flags & 1)
        state = found.trace_state.to_header()
        return TraceContext(found.trace_id, found.span_id, sampled, state).headers()

    def end(self, error: str | None = None) -> None:
        self._span.set_attributes(self.facts)
        if error is not None:
            self._span.set_status(self._otel.StatusCode.ERROR, error)
        self._span.end()
