"""Calls as parts of a trace: who is whose parent, and what is told of how they ended."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any

import grpc
import pytest

from inferflow.rpc.channel import open_channel
from inferflow.rpc.server import RpcServer, start_server
from inferflow.rpc.traced_server import traced
from inferflow.tracing import Sampling, Span, Tracer, current_span, use_tracer

PARENT = f"00-{'a' * 32}-{'b' * 16}-01"


@pytest.fixture
def ended() -> Iterator[list[Span]]:
    """The spans of a process that traces."""
    spans: list[Span] = []
    stop = use_tracer(Tracer(spans.append))
    yield spans
    stop()


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(test())


def handlers(**methods: Any) -> list[grpc.GenericRpcHandler]:
    return [grpc.method_handlers_generic_handler("Shop", methods)]


def unary(handle: Any) -> Any:
    return grpc.unary_unary_rpc_method_handler(handle)


async def serving(**methods: Any) -> RpcServer:
    return await start_server(handlers(**methods), services=["Shop"])


def at(server: RpcServer) -> str:
    return f"127.0.0.1:{server.port}"


def test_a_call_made_for_a_call_is_under_it(ended: list[Span]) -> None:
    async def test() -> None:
        async def last(body: bytes, context: Any) -> bytes:
            return dict(context.invocation_metadata())["traceparent"].encode()

        behind = await serving(Get=unary(last))
        channel = open_channel(at(behind))
        get = channel.unary_unary("/Shop/Get")

        async def first(body: bytes, context: Any) -> bytes:
            # What it was told itself must not be told a second time.
            answer: bytes = await get(body, metadata=(("traceparent", PARENT), ("who", "ann")))
            return answer

        front = await serving(Buy=unary(first))
        async with open_channel(at(front)) as outside:
            told = (("traceparent", PARENT), ("tracestate", "v=1"))
            heard = await outside.unary_unary("/Shop/Buy")(b"", metadata=told)
        await channel.close()
        await front.stop()
        await behind.stop()
        inner, call, outer = ended
        assert [(s.name, s.kind) for s in ended] == [
            ("Shop/Get", "server"),
            ("Shop/Get", "client"),
            ("Shop/Buy", "server"),
        ]
        assert {s.context.trace_id for s in ended} == {int("a" * 32, 16)}
        assert outer.parent_id == int("b" * 16, 16)
        assert call.parent_id == outer.context.span_id
        assert inner.parent_id == call.context.span_id
        assert heard.decode() == dict(call.headers())["traceparent"]
        assert inner.context.state == "v=1"
        assert {s.facts["rpc.response.status_code"] for s in ended} == {"OK"}

    run(test)


async def refusing(body: bytes, context: Any) -> bytes:
    await context.abort(grpc.StatusCode[body.decode()], "no")
    return b""


@pytest.mark.parametrize(
    ("code", "error"),
    [("UNAVAILABLE", "UNAVAILABLE"), ("NOT_FOUND", None), ("INTERNAL", "INTERNAL")],
)
def test_a_span_has_failed_when_the_server_is_to_blame(
    ended: list[Span], code: str, error: str | None
) -> None:
    async def test() -> None:
        server = await serving(Get=unary(refusing))
        async with open_channel(at(server)) as channel:
            with pytest.raises(grpc.aio.AioRpcError):
                await channel.unary_unary("/Shop/Get")(code.encode())
        await server.stop()

    run(test)
    assert {span.facts["rpc.response.status_code"] for span in ended} == {code}
    assert {span.error for span in ended} == {error}


def test_an_error_nobody_expected_is_told_as_the_caller_hears_it(
    ended: list[Span], caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(body: bytes, context: Any) -> bytes:
        raise RuntimeError("secret")

    async def test() -> None:
        server = await serving(Get=unary(broken))
        async with open_channel(at(server)) as channel:
            with pytest.raises(grpc.aio.AioRpcError):
                await channel.unary_unary("/Shop/Get")(b"")
        await server.stop()

    run(test)
    assert [span.error for span in ended] == ["UNKNOWN"]


def test_a_call_given_up_by_its_caller_ends_its_spans(ended: list[Span]) -> None:
    async def test() -> None:
        inside, left = asyncio.Event(), asyncio.Event()

        async def endless(body: bytes, context: Any) -> bytes:
            inside.set()
            try:
                await asyncio.Event().wait()
            finally:
                left.set()
            return b""

        server = await serving(Get=unary(endless))
        async with open_channel(at(server)) as channel:
            call = channel.unary_unary("/Shop/Get")(b"")
            await inside.wait()
            call.cancel()
            await left.wait()
        await server.stop()

    run(test)
    assert [span.facts["rpc.response.status_code"] for span in ended] == ["CANCELLED"]


def test_a_stream_is_one_span(ended: list[Span]) -> None:
    async def test() -> None:
        async def echo(asked: AsyncIterator[bytes], context: Any) -> AsyncIterator[bytes]:
            async for each in asked:
                assert current_span() is not None
                yield each

        server = await serving(Talk=grpc.stream_stream_rpc_method_handler(echo))
        async with open_channel(at(server)) as channel:

            async def asking() -> AsyncIterator[bytes]:
                yield b"one"
                yield b"two"

            call = channel.stream_stream("/Shop/Talk")(asking())
            assert [each async for each in call] == [b"one", b"two"]
        await server.stop()

    run(test)
    assert [span.name for span in ended] == ["Shop/Talk"]


def test_a_trace_that_is_not_kept_is_passed_on_and_makes_no_spans() -> None:
    spans: list[Span] = []
    stop = use_tracer(Tracer(spans.append, Sampling(0.0)))

    async def test() -> None:
        async def last(body: bytes, context: Any) -> bytes:
            return dict(context.invocation_metadata())["traceparent"].encode()

        behind = await serving(Get=unary(last))
        channel = open_channel(at(behind))
        get = channel.unary_unary("/Shop/Get")

        async def first(body: bytes, context: Any) -> bytes:
            answer: bytes = await get(body)
            return answer

        front = await serving(Buy=unary(first))
        async with open_channel(at(front)) as outside:
            heard = (await outside.unary_unary("/Shop/Buy")(b"")).decode()
        await channel.close()
        await front.stop()
        await behind.stop()
        assert heard.endswith("-00")

    try:
        run(test)
    finally:
        stop()
    assert spans == []


def test_where_nobody_traces_handlers_are_left_as_they_are() -> None:
    made = handlers(Get=unary(refusing))
    assert traced(made) == tuple(made)
