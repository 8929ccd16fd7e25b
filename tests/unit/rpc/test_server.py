"""A listening server: health, reflection, limits, and how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)

from inferflow.errors import InvalidInput
from inferflow.rpc.channel import open_channel
from inferflow.rpc.options import ChannelOptions, ServerOptions
from inferflow.rpc.server import RpcServer, is_loopback, start_server

from ...robustness.scenario import StartScenario

Handle = Callable[[bytes, Any], Awaitable[bytes]]

WAITING = ChannelOptions(attempts=1)


def echoing(handle: Handle) -> list[grpc.GenericRpcHandler]:
    methods = {"Echo": grpc.unary_unary_rpc_method_handler(handle)}
    return [grpc.method_handlers_generic_handler("Predict", methods)]


async def echo(body: bytes, context: Any) -> bytes:
    return body


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(test())


async def serving(handle: Handle = echo, **more: Any) -> RpcServer:
    return await start_server(echoing(handle), services=["Predict"], **more)


async def told(server: RpcServer, channel: grpc.aio.Channel, service: str) -> str:
    stub = health_pb2_grpc.HealthStub(channel)
    answer = await stub.Check(health_pb2.HealthCheckRequest(service=service))
    return str(health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status))


def test_health_says_what_it_is_told_for_each_service() -> None:
    async def test() -> None:
        server = await serving()
        async with open_channel(f"127.0.0.1:{server.port}") as channel:
            assert await told(server, channel, "") == "NOT_SERVING"
            await server.say_serving(True)
            assert await told(server, channel, "") == "SERVING"
            assert await told(server, channel, "Predict") == "SERVING"
        await server.stop()

    run(test)


def test_a_taken_port_is_an_error_at_the_start() -> None:
    async def test() -> None:
        first = await serving()
        with pytest.raises(InvalidInput, match=rf"127.0.0.1:{first.port}: .*another port"):
            await serving(port=first.port)
        await first.stop()

    run(test)


def test_a_port_is_shared_when_asked_for() -> None:
    async def test() -> None:
        options = ServerOptions(share_port=True)
        first = await serving(options=options)
        second = await serving(options=options, port=first.port)
        await first.stop()
        await second.stop()

    run(test)


def test_calls_under_way_finish_while_the_server_drains() -> None:
    async def test() -> None:
        inside, go_on, paused = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def slow(body: bytes, context: Any) -> bytes:
            inside.set()
            await go_on.wait()
            return body

        server = await serving(slow)
        await server.say_serving(True)
        async with open_channel(f"127.0.0.1:{server.port}", WAITING) as channel:
            call = asyncio.ensure_future(channel.unary_unary("/Predict/Echo")(b"hello"))
            await inside.wait()
            statuses: list[str] = []

            async def pause(seconds: float) -> None:
                statuses.append(await told(server, channel, ""))
                paused.set()

            draining = asyncio.ensure_future(server.drain(pause_s=1, grace_s=30, wait=pause))
            await paused.wait()
            assert not draining.done()
            go_on.set()
            assert await call == b"hello"
            await draining
            assert statuses == ["NOT_SERVING"]
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await channel.unary_unary("/Predict/Echo")(b"late", timeout=5)
            assert refused.value.code() is grpc.StatusCode.UNAVAILABLE

    run(test)


def test_a_callers_deadline_cancels_the_work(scenario: StartScenario) -> None:
    tried = scenario("D9", "a caller's deadline of 50 ms passes")

    async def test() -> None:
        cancelled = asyncio.Event()

        async def endless(body: bytes, context: Any) -> bytes:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.set()
                raise
            return body

        server = await serving(endless)
        async with open_channel(f"127.0.0.1:{server.port}") as channel:
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await channel.unary_unary("/Predict/Echo")(b"", timeout=0.05)
            assert refused.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
            with tried.timed("work is cancelled", 0.05):
                await asyncio.wait_for(cancelled.wait(), 10)
        await server.stop()

    run(test)


def test_an_oversized_message_is_refused_and_the_connection_lives_on() -> None:
    async def test() -> None:
        server = await serving(options=ServerOptions(max_receive_bytes=1000))
        async with open_channel(f"127.0.0.1:{server.port}") as channel:
            call = channel.unary_unary("/Predict/Echo")
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await call(b"x" * 1001)
            assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
            assert await call(b"x" * 900) == b"x" * 900
        await server.stop()

    run(test)


def reflected(port: int) -> tuple[list[str], str]:
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        database = ProtoReflectionDescriptorDatabase(channel)
        return sorted(database.get_services()), database.FindFileContainingSymbol("Predict").name


def test_reflection_describes_our_private_messages() -> None:
    async def test() -> None:
        server = await serving()
        services, file = await asyncio.to_thread(reflected, server.port)
        assert {"Predict", "grpc.health.v1.Health"} < set(services)
        assert file == "predict.proto"
        await server.stop()

    run(test)


def test_reflection_can_be_turned_off() -> None:
    async def test() -> None:
        server = await serving(reflect=False)
        with pytest.raises(grpc.RpcError) as refused:
            await asyncio.to_thread(reflected, server.port)
        assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED
        await server.stop()

    run(test)


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("a.b", False)],
)
def test_loopback_is_told_from_the_rest(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback
