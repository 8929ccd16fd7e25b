"""Calls of threads that wait, as parts of a trace."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from tests.servers.spans import for_a_span

from inferflow.rpc.channel import open_blocking_channel


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A server that answers with the trace it was told of, or with a status that was asked for."""

    def told(_: bytes, context: Any) -> bytes:
        return dict(context.invocation_metadata()).get("traceparent", "").encode()

    def streamed(asked: bytes, context: Any) -> Iterator[bytes]:
        yield told(asked, context)
        yield b"more"

    def refused(asked: bytes, context: Any) -> bytes:
        context.abort(grpc.StatusCode[asked.decode()], "no")
        return b""

    methods = {
        "Get": grpc.unary_unary_rpc_method_handler(told),
        "Gather": grpc.stream_unary_rpc_method_handler(told),
        "List": grpc.unary_stream_rpc_method_handler(streamed),
        "Talk": grpc.stream_stream_rpc_method_handler(streamed),
        "Refuse": grpc.unary_unary_rpc_method_handler(refused),
    }
    server = grpc.server(ThreadPoolExecutor(2), options=(("grpc.so_reuseport", 0),))
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("Shop", methods),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield f"127.0.0.1:{port}"
    server.stop(None).wait()


def call(address: str, method: str, body: Any = b"", metadata: Any = None) -> Any:
    """The answer, or all of them."""
    kind = {"Gather": "stream_unary", "List": "unary_stream", "Talk": "stream_stream"}
    with open_blocking_channel(address) as channel:
        stub = getattr(channel, kind.get(method, "unary_unary"))(f"/Shop/{method}")
        asked = iter([body]) if method in ("Gather", "Talk") else body
        answer = stub(asked, timeout=10, metadata=metadata)
        return answer if isinstance(answer, bytes) else list(answer)


@pytest.mark.parametrize("method", ["Get", "Gather"])
def test_a_call_is_a_span_that_the_server_is_told_of(address: str, method: str) -> None:
    passed_on = (("traceparent", f"00-{'a' * 32}-{'b' * 16}-01"), ("who", "ann"))
    answer, span, ended = for_a_span(lambda: call(address, method, metadata=passed_on))
    (own,) = ended
    assert (own.name, own.kind, own.parent_id) == (
        f"Shop/{method}",
        "client",
        span.context.span_id,
    )
    assert answer.decode() == dict(own.headers())["traceparent"]
    assert own.facts["rpc.response.status_code"] == "OK"
    assert own.error is None


@pytest.mark.parametrize("method", ["List", "Talk"])
def test_a_stream_is_one_span_until_it_ends(address: str, method: str) -> None:
    (told, more), _, ended = for_a_span(lambda: call(address, method))
    (own,) = ended
    assert told.decode() == dict(own.headers())["traceparent"]
    assert (more, own.facts["rpc.response.status_code"]) == (b"more", "OK")


def test_a_call_that_fails_is_a_failed_span(address: str) -> None:
    def work() -> None:
        with pytest.raises(grpc.RpcError):
            call(address, "Refuse", b"NOT_FOUND")

    (own,) = for_a_span(work)[2]
    assert own.error == own.facts["rpc.response.status_code"] == "NOT_FOUND"


@pytest.mark.parametrize("method", ["Get", "List"])
def test_a_trace_that_is_not_kept_is_told_of_and_makes_no_spans(address: str, method: str) -> None:
    answer, span, ended = for_a_span(lambda: call(address, method), share=0)
    first = answer if isinstance(answer, bytes) else answer[0]
    assert first.decode() == dict(span.headers())["traceparent"]
    assert ended == []


@pytest.mark.parametrize("method", ["Get", "List"])
def test_a_call_for_nobody_is_passed_on_as_it_is(address: str, method: str) -> None:
    answer = call(address, method)
    assert (answer if isinstance(answer, bytes) else answer[0]) == b""
