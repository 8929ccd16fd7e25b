"""Spans of steps, what a collector gets, and that nothing happens unless one is named."""

from __future__ import annotations

import contextvars
import io
import json
import logging
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from inferflow.errors import MissingExtra
from inferflow.telemetry.logs import setup_logs
from inferflow.telemetry.tracing import TracingOptions, open_tracing
from inferflow.telemetry.tracing_steps import StepSpans
from inferflow.tracing import Sampling, Span, Tracer, enter_span, read_context, tracer_in_use

from ...servers.otlp import collecting, collecting_over_http

PARENT = f"00-{'a' * 32}-{'b' * 16}-01"


def in_span(work: Callable[[], object], share: float = 1.0) -> tuple[Span, list[Span]]:
    """What is done for a span, and the spans it led to."""
    ended: list[Span] = []
    span = Tracer(ended.append, Sampling(share)).begin("Predict/Infer", "server", None)

    def inside() -> None:
        enter_span(span)
        work()

    contextvars.copy_context().run(inside)
    return span, ended


def test_every_step_that_ran_becomes_a_span_of_its_request(make_shop: Any) -> None:
    shop = make_shop(StepSpans())
    span, steps = in_span(shop.score)
    assert [s.name for s in steps] == [step.name for step in shop.scorer.plan.steps]
    assert {s.parent_id for s in steps} == {span.context.span_id}
    assert all(span.start_ns <= s.start_ns <= s.end_ns for s in steps)
    (product,) = [s for s in steps if s.name == "fs_product"]
    assert product.facts["inferflow.kind"] == "feature"
    assert product.facts["inferflow.keys"] == 3
    assert span.facts["inferflow.config"] == "shop"
    assert span.facts["inferflow.outcome"] == "ok"


def test_a_step_that_failed_is_a_failed_span_without_its_text(make_shop: Any) -> None:
    from inferflow.testing import model

    def fail(x: Any) -> Any:
        raise ValueError("the secret price is 7")

    broken = model(fail, inputs={"x": "FP32[N,3]"}, outputs={"s": "FP32[N]"})
    shop = make_shop(StepSpans(), world={"models": {"ranker": broken}})
    _, steps = in_span(shop.score)
    (ranker,) = [s for s in steps if s.name == "ranker"]
    assert ranker.error
    assert "secret" not in f"{ranker.error} {ranker.facts}"


def test_no_spans_are_made_of_what_is_not_kept_or_not_traced(make_shop: Any) -> None:
    shop = make_shop(StepSpans())
    span, steps = in_span(shop.score, share=0)
    assert steps == []
    assert span.facts == {}
    shop.score()  # and without any span nothing breaks


def test_a_line_names_the_trace_it_belongs_to() -> None:
    stream = io.StringIO()
    logs = setup_logs("info", stream=stream)
    try:
        span, _ = in_span(lambda: logging.getLogger("inferflow.test").warning("inside"))
        logging.getLogger("inferflow.test").warning("outside")
    finally:
        logs.close()
    inside, outside = map(json.loads, stream.getvalue().splitlines())
    assert inside["trace_id"] == f"{span.context.trace_id:032x}"
    assert inside["span_id"] == f"{span.context.span_id:016x}"
    assert "trace_id" not in outside


def test_a_collector_gets_what_was_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=blue")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "team=search")
    with collecting() as collector:
        tracing = open_tracing(TracingOptions(collector.url, default_service="shop-serve"))
        tracer = tracer_in_use()
        assert tracer is not None
        span = tracer.begin("Predict/Infer", "server", read_context(PARENT, "vendor=1"))
        span.facts["inferflow.rows"] = 3
        call = span.child("ModelInfer", "client")
        call.end("UNAVAILABLE")
        span.end()
        tracing.close()
    call_seen, span_seen = collector.spans
    assert (span_seen.service, span_seen.name, span_seen.kind) == ("shop-serve", span.name, 2)
    assert (span_seen.trace_id, span_seen.parent_id) == ("a" * 32, "b" * 16)
    assert span_seen.facts == {"inferflow.rows": 3}
    assert (span_seen.start_ns, span_seen.end_ns) == (span.start_ns, span.end_ns)
    assert (call_seen.parent_id, call_seen.error) == (span_seen.span_id, "UNAVAILABLE")
    assert collector.headers[0]["x-tenant"] == "blue"
    assert tracer_in_use() is None


def test_a_collector_may_be_spoken_to_over_http(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=blue")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
    with collecting_over_http() as collector:
        url = f"{collector.url}/v1/traces"
        tracing = open_tracing(TracingOptions(url, over_http=True, default_service="shop-serve"))
        tracer = tracer_in_use()
        assert tracer is not None
        span = tracer.begin("Predict/Infer", "server", read_context(PARENT))
        span.child("send logs", "producer").end()
        span.end()
        tracing.close()
    sent, seen = collector.spans
    assert (seen.service, seen.name, seen.trace_id) == ("shop-serve", span.name, "a" * 32)
    assert (sent.kind, sent.parent_id) == (4, seen.span_id)
    assert collector.headers[0]["x-tenant"] == "blue"
    assert collector.headers[0]["content-type"] == "application/x-protobuf"


def test_what_http_needs_and_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "opentelemetry.exporter.otlp.proto.http.trace_exporter"
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtra, match=r"traces over HTTP needs: .*otel"):
        open_tracing(TracingOptions("http://127.0.0.1:4318/v1/traces", over_http=True))
    assert tracer_in_use() is None


@pytest.mark.parametrize(
    ("chosen", "variable", "seen"),
    [("mine", "theirs", "mine"), ("", "theirs", "theirs"), ("", None, "default")],
)
def test_a_service_is_named_by_its_settings_then_by_the_variables_of_opentelemetry(
    chosen: str, variable: str | None, seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if variable is not None:
        monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", f"service.name={variable}")
    with collecting() as collector:
        tracing = open_tracing(
            TracingOptions(collector.url, service=chosen, default_service="default")
        )
        tracer = tracer_in_use()
        assert tracer is not None
        tracer.begin("a", "server", None).end()
        tracing.close()
    assert [span.service for span in collector.spans] == [seen]


def test_a_collector_that_is_away_holds_up_nobody(caplog: pytest.LogCaptureFixture) -> None:
    tracing = open_tracing(TracingOptions("http://127.0.0.1:1"))
    tracer = tracer_in_use()
    assert tracer is not None
    tracer.begin("a", "server", None).end()
    tracing.close()
    assert "127.0.0.1:1" in caplog.text


def test_without_a_collector_nothing_is_traced_and_nothing_imported() -> None:
    program = """
import sys
from inferflow.telemetry.tracing import TracingOptions, open_tracing
from inferflow.app import serving
from inferflow.tracing import tracer_in_use
tracing = open_tracing(TracingOptions())
assert tracing.observers == [] and tracer_in_use() is None
tracing.close()
print([name for name in sys.modules if name.startswith("opentelemetry")])
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_a_missing_extra_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace.export", None)
    with pytest.raises(MissingExtra, match="otel"):
        open_tracing(TracingOptions("http://127.0.0.1:4317"))
    assert tracer_in_use() is None
