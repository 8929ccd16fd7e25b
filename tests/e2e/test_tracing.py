"""One request through five real processes is one trace, and a collector gets all of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import grpc
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import inferflow
from inferflow.app.scaffold import write_starter
from inferflow.demo.shop import write_shop
from inferflow.errors import NotFound
from inferflow.plan.document import read_document

from ..servers.otlp import Collector, Received, collecting
from . import (
    feature_store_process,
    gateway_process,
    numerix_process,
    serving_process,
    worker_process,
)
from .serving_process import Process

SERVER, CLIENT, INTERNAL = 2, 3, 1
PREDICT = "Predict/InferPointWise"
FEATURES = "retrieve.FeatureService/RetrieveFeatures"
INFER = "inference.GRPCInferenceService/ModelInfer"
COMPUTE = "numerix.Numerix/Compute"


@dataclass
class Traced:
    """The demo shop across processes, ended: what they sent to the collector before they did."""

    collector: Collector
    log: list[dict[str, Any]]
    own: list[Any]
    """The spans of the program that asked."""
    trace_ids: dict[str, str]


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Traced]:
    shop = tmp_path_factory.mktemp("traced") / "shop"
    write_shop(shop)
    with inferflow.open(shop):  # the feature data is taken in once
        pass
    with collecting() as collector:
        yield _ask(shop, collector)


def _ask(shop: Path, collector: Collector) -> Traced:
    told = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "APP_NAME": "shop"}
    starts = (feature_store_process.start, numerix_process.start, worker_process.start)
    with ThreadPoolExecutor() as threads:
        features, compute, worker = threads.map(lambda start: start(shop, **told), starts)
    log = shop.parent / "serve.log"
    serving = serving_process.start(
        shop,
        INFERFLOW_ENDPOINTS=f"local=127.0.0.1:{worker.port}",
        externalServiceOnFs_host=f"127.0.0.1:{features.port}",
        numerixClientV1_host=f"127.0.0.1:{compute.port}",
        INFERFLOW_LOG_FILE=str(log),
        APP_LOG_LEVEL="debug",
        **told,
    )
    gateway = gateway_process.start_gateway("--target", f"127.0.0.1:{serving.port}", **told)
    try:
        found = _requests(shop, serving, gateway)
    finally:
        codes = [each.end() for each in (gateway, serving, worker, compute, features)]
    assert codes == [0] * 5
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    return Traced(collector, lines, *found)


def _requests(
    shop: Path, serving: Process, gateway: gateway_process.GatewayProcess
) -> tuple[list[Any], dict[str, str]]:
    asked = read_document(shop / "requests" / "ranker.json")
    asked.pop("expect", None)
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    ids: dict[str, str] = {}
    tracer = trace.get_tracer("a program")
    with inferflow.connect(f"127.0.0.1:{serving.port}") as client:
        with tracer.start_as_current_span("a page") as page:
            client.answer(asked)
            ids["sdk"] = f"{page.get_span_context().trace_id:032x}"
        with tracer.start_as_current_span("a mistake") as page:
            with pytest.raises(NotFound):
                client.answer({**asked, "model_config_id": "nobody"})
            ids["failed"] = f"{page.get_span_context().trace_id:032x}"
    _unsampled(serving, ids)
    _over_http(asked, gateway, ids)
    return list(exporter.get_finished_spans()), ids


def _unsampled(serving: Process, ids: dict[str, str]) -> None:
    ids["unsampled"] = "c" * 32
    with grpc.insecure_channel(f"127.0.0.1:{serving.port}") as channel:
        told = (("traceparent", f"00-{'c' * 32}-{'d' * 16}-00"),)
        with pytest.raises(grpc.RpcError):
            channel.unary_unary(f"/{PREDICT}")(b"", metadata=told, timeout=10)


def _over_http(asked: Any, gateway: gateway_process.GatewayProcess, ids: dict[str, str]) -> None:
    ids["http"] = "a" * 32
    body = {name: value for name, value in asked.items() if name != "model_config_id"}
    told = {"traceparent": f"00-{'a' * 32}-{'b' * 16}-01", "tracestate": "vendor=1"}
    answer = gateway.http.post("/v1/score/ranker", json=body, headers=told)
    assert answer.status_code == 200, answer.text


def only(spans: dict[str, Received], **facts: Any) -> Received:
    found = [s for s in spans.values() if all(getattr(s, k) == v for k, v in facts.items())]
    assert len(found) == 1, (facts, [(s.service, s.kind, s.name) for s in spans.values()])
    return found[0]


def test_a_request_through_all_processes_is_one_trace(traced: Traced) -> None:
    spans = traced.collector.trace(traced.trace_ids["sdk"])
    root = only(spans, service="shop-serve", kind=SERVER, name=PREDICT)
    for service, method, kind in (
        ("shop-feature-store", FEATURES, "feature"),
        ("shop-worker", INFER, "model"),
        ("shop-numerix", COMPUTE, "compute"),
    ):
        answered = [s for s in spans.values() if (s.service, s.name) == (service, method)]
        assert answered, service
        for there in answered:
            call = spans[there.parent_id]
            assert (call.service, call.kind, call.name) == ("shop-serve", CLIENT, method)
            step = spans[call.parent_id]
            assert (step.kind, step.facts["inferflow.kind"]) == (INTERNAL, kind)
            assert step.parent_id == root.span_id


def test_the_program_that_asks_sees_its_call_and_the_server_under_it(traced: Traced) -> None:
    page, call = (next(s for s in traced.own if s.name == name) for name in ("a page", PREDICT))
    root = only(traced.collector.trace(traced.trace_ids["sdk"]), kind=SERVER, name=PREDICT)
    assert call.parent.span_id == page.context.span_id
    assert root.parent_id == f"{call.context.span_id:016x}"


def test_every_step_that_ran_has_a_span_within_its_request(traced: Traced) -> None:
    spans = traced.collector.trace(traced.trace_ids["sdk"])
    root = only(spans, kind=SERVER, name=PREDICT)
    steps = [s for s in spans.values() if s.parent_id == root.span_id]
    assert {"feature", "model", "compute"} <= {s.facts["inferflow.kind"] for s in steps}
    assert all(root.start_ns <= s.start_ns < s.end_ns <= root.end_ns for s in steps)
    assert root.facts["inferflow.config"] == "ranker"
    assert root.facts["rpc.response.status_code"] == "OK"


def test_a_refused_call_is_traced_with_its_status(traced: Traced) -> None:
    refused = only(traced.collector.trace(traced.trace_ids["failed"]))
    assert refused.facts["rpc.response.status_code"] == "NOT_FOUND"
    assert refused.error is None  # the caller's affair
    (call,) = [
        s for s in traced.own if s.context.trace_id == int(refused.trace_id, 16) and s.parent
    ]
    assert call.status.description == "NOT_FOUND"


def test_over_http_the_trace_goes_through_the_gateway(traced: Traced) -> None:
    spans = traced.collector.trace(traced.trace_ids["http"])
    door = only(spans, service="shop-gateway", kind=SERVER)
    assert (door.name, door.parent_id) == ("POST /v1/score/{config_id}", "b" * 16)
    root = only(spans, service="shop-serve", kind=SERVER)
    assert spans[root.parent_id].parent_id == door.span_id


def test_a_caller_that_does_not_keep_its_trace_gets_no_spans_but_log_lines(
    traced: Traced,
) -> None:
    unsampled = traced.trace_ids["unsampled"]
    assert not traced.collector.trace(unsampled)
    assert [line["event"] for line in traced.log if line.get("trace_id") == unsampled] == ["call"]


def test_log_lines_name_the_trace_they_belong_to(traced: Traced) -> None:
    root = only(traced.collector.trace(traced.trace_ids["sdk"]), kind=SERVER, name=PREDICT)
    (line,) = [each for each in traced.log if each.get("trace_id") == root.trace_id]
    assert line["span_id"] == root.span_id
    assert line["event"] == "call"


def test_each_of_several_processes_sends_its_own_traces(tmp_path: Path) -> None:
    project = tmp_path / "books"
    write_starter(project)
    asked = {"model_config_id": "ranker", "entities": {"user": "ada", "book": ["1", "2"]}}
    with collecting() as collector:
        serving = serving_process.start(
            project, "--processes", "2", OTEL_EXPORTER_OTLP_ENDPOINT=collector.url
        )
        try:
            pids = {each["pid"] for each in json.loads(serving.get("/processes")[1])}
            for _ in range(64):  # the system gives each new connection to one of them
                with inferflow.connect(f"127.0.0.1:{serving.port}") as client:
                    client.answer(asked)
                if _answering(serving) == len(pids):
                    break
        finally:
            assert serving.end() == 0
    roots = [span for span in collector.spans if span.name == PREDICT]
    assert {root.pid for root in roots} == pids
    for root in roots:
        spans = collector.trace(root.trace_id)
        steps = [span for span in spans.values() if span.parent_id == root.span_id]
        assert {span.pid for span in spans.values()} == {root.pid}
        assert {step.facts["inferflow.kind"] for step in steps} >= {"feature", "model"}


def _answering(serving: Process) -> int:
    """How many of its processes have answered anything."""
    ports = [each["http"] for each in json.loads(serving.get("/processes")[1])]
    return sum(_has_answered(port) for port in ports)


def _has_answered(port: int) -> bool:
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as page:
        return b'inferflow_requests_total{config="ranker"' in page.read()
