"""A real server under bad clients, too many calls, and rough treatment."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

import inferflow
from inferflow.demo import write_shop
from inferflow.rpc.channel import open_channel
from inferflow.rpc.options import ChannelOptions

from ..robustness.scenario import StartScenario
from .plain_wire import data
from .test_serve import Process, launch, start
from .test_serve_wire import HOUR, REQUESTS, USER
from .wire_client import document

POINT = "/Predict/InferPointWise"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("served") / "shop"
    write_shop(folder)
    return folder


@pytest.fixture(scope="module")
def server(shop: Path) -> Iterator[Process]:
    process = start(shop)
    yield process
    process.close()


def wide(targets: int) -> bytes:
    """A request that keeps the server busy for a while."""
    listed = b"".join(data(5, data(1, str(number))) for number in range(1, targets + 1))
    return data(1, "ranker") + USER + HOUR + listed


def refusal(server: Process, body: bytes, **more: Any) -> grpc.RpcError:
    with grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel:
        call = channel.unary_unary(POINT)
        with pytest.raises(grpc.RpcError) as refused:
            call(body, timeout=30, **more)
        # The connection is as good as before.
        assert call(REQUESTS["InferPointWise"], timeout=30)
    error: grpc.RpcError = refused.value
    return error


# --- too large ------------------------------------------------------------------------------


def test_a_message_over_the_limit_is_refused_and_the_limit_named(
    server: Process, scenario: StartScenario
) -> None:
    tried = scenario("F2", "a message of 17 MB where 16 MiB are allowed")
    refused = refusal(server, data(2, "x" * 17_000_000))
    code = refused.code()
    tried.holds("refused", code.name, code is grpc.StatusCode.RESOURCE_EXHAUSTED)
    named = str(16 * 1024 * 1024) in refused.details()
    tried.holds("the limit is named", refused.details(), named)


def test_headers_over_the_limit_are_refused(server: Process, scenario: StartScenario) -> None:
    tried = scenario("F2", "100 kB of headers, and then a good call on the same connection")
    metadata = [("x-large", "x" * 100_000)]
    refused = refusal(server, REQUESTS["InferPointWise"], metadata=metadata)
    code = refused.code()
    tried.holds("refused", code.name, code is grpc.StatusCode.RESOURCE_EXHAUSTED)


def test_a_million_targets_are_refused_and_nobody_else_notices(
    server: Process, scenario: StartScenario
) -> None:
    tried = scenario("F3", "a million targets")
    body = wide(3) + data(5, data(1, "7")) * 1_000_000
    before = peak_memory(server)
    with tried.timed("refused, and a good call answered", 1):
        refused = refusal(server, body)
    assert refused.code() is grpc.StatusCode.INVALID_ARGUMENT
    named = "max_targets=10000" in refused.details()
    tried.holds("the limit is named", refused.code().name, named)
    grown = (peak_memory(server) - before) / 1e6
    tried.at_most(f"memory for {len(body) / 1e6:.0f} MB of them", grown, 100, " MB")


def peak_memory(server: Process) -> int:
    (line,) = [
        line
        for line in Path(f"/proc/{server.popen.pid}/status").read_text().splitlines()
        if line.startswith("VmHWM")
    ]
    return int(line.split()[1]) * 1024


def test_a_call_nobody_offers_is_unimplemented(server: Process) -> None:
    with (
        grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel,
        pytest.raises(grpc.RpcError) as refused,
    ):
        channel.unary_unary("/Predict/InferNothing")(b"", timeout=30)
    assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED


# --- too many -------------------------------------------------------------------------------


async def flood(port: int, calls: int) -> tuple[Counter[grpc.StatusCode], list[Any], bool]:
    """All at once, over several connections. (how they ended, refusals, was it healthy)"""
    body = wide(900)
    own = [("grpc.use_local_subchannel_pool", 1)]
    async with Connections(f"127.0.0.1:{port}", own) as channels:
        stubs = [channel.unary_unary(POINT) for channel in channels]
        health = health_pb2_grpc.HealthStub(channels[0])
        await health.Check(health_pb2.HealthCheckRequest(), timeout=30)
        under_way = [stubs[n % len(stubs)](body, timeout=60) for n in range(calls)]
        checked = await health.Check(health_pb2.HealthCheckRequest(), timeout=60)
        refusals: list[Any] = []
        ended: Counter[grpc.StatusCode] = Counter()
        for call in under_way:
            ended[await call.code()] += 1
            if await call.code() is not grpc.StatusCode.OK:
                refusals.append(dict(await call.trailing_metadata()))
        return ended, refusals, checked.status == health_pb2.HealthCheckResponse.SERVING


class Connections:
    """Eight connections of their own."""

    def __init__(self, address: str, options: Any) -> None:
        self._channels = [grpc.aio.insecure_channel(address, options=options) for _ in range(8)]

    async def __aenter__(self) -> list[grpc.aio.Channel]:
        return self._channels

    async def __aexit__(self, *_: object) -> None:
        await asyncio.gather(*[channel.close() for channel in self._channels])


@pytest.mark.scenario("I1")
def test_the_surplus_is_refused_with_a_hint_and_the_rest_is_answered(shop: Path) -> None:
    process = start(shop, INFERFLOW_MAX_WAIT="20ms")
    try:
        ended, refusals, was_healthy = asyncio.run(flood(process.port, 100))
        assert set(ended) == {grpc.StatusCode.OK, grpc.StatusCode.RESOURCE_EXHAUSTED}
        assert sum(ended.values()) == 100
        assert all(int(refused["retry-after-ms"]) > 0 for refused in refusals)
        assert all("grpc-retry-pushback-ms" in refused for refused in refusals)
        assert was_healthy
        assert process.get("/health/live") == (200, b"true")
        ended, _, _ = asyncio.run(flood(process.port, 1))
        assert ended == {grpc.StatusCode.OK: 1}
    finally:
        process.close()


# --- clients that do not speak --------------------------------------------------------------


@pytest.mark.parametrize("said", [b"", b"PRI * HTTP/2.0\r\n"], ids=["nothing", "half a preface"])
def test_a_connection_that_does_not_speak_is_closed(
    server: Process, said: bytes, scenario: StartScenario
) -> None:
    tried = scenario("G13", "a connection that says nothing, or half a preface")
    with (
        tried.timed("closed", 4),
        socket.create_connection(("127.0.0.1", server.port), timeout=60) as silent,
    ):
        silent.sendall(said)
        while silent.recv(1024):
            pass  # what the server says first; then it hangs up


def test_slow_http_clients_cannot_keep_out_health_checks(
    server: Process, scenario: StartScenario
) -> None:
    tried = scenario("G13", "a hundred HTTP clients that never finish their headers")
    host, port = server.http.removeprefix("http://").split(":")
    with ExitStack() as held:
        for _ in range(100):
            slow = held.enter_context(socket.create_connection((host, int(port)), timeout=60))
            slow.sendall(b"GET /metrics HTTP/1.1\r\nX-Slow: ")
        with tried.timed("health and metrics are answered", 0.5):
            assert server.get("/health/ready") == (200, b"true")
            assert server.get("/metrics")[0] == 200


# --- servers that go ------------------------------------------------------------------------


def test_nobody_notices_that_one_of_two_servers_was_killed(
    shop: Path, scenario: StartScenario
) -> None:
    tried = scenario("A10", "one of two orchestrators killed under 16 callers")
    golden = document(shop, "ranker")
    servers = [start(shop) for _ in range(2)]
    addresses = [f"127.0.0.1:{each.port}" for each in servers]
    try:
        with inferflow.connect(addresses, deadline_ms=60_000) as client:
            expected = client.answer(golden).to_dict()

            def ask(turn: int) -> bool:
                if turn == 100:
                    servers[0].popen.send_signal(signal.SIGKILL)
                return client.answer(golden).to_dict() == expected

            with ThreadPoolExecutor(16) as threads:
                right = list(threads.map(ask, range(400)))
            tried.none(
                "call fails or answers otherwise", [r for r in right if not r], of=len(right)
            )
    finally:
        for each in servers:
            each.close()


def test_a_server_that_hangs_is_noticed(shop: Path, scenario: StartScenario) -> None:
    tried = scenario("A13", "a server hangs, and its caller pings every half second")
    process = start(shop)
    options = ChannelOptions(keepalive_ms=500, keepalive_timeout_ms=500, attempts=1)

    async def asked() -> grpc.StatusCode:
        async with open_channel(f"127.0.0.1:{process.port}", options) as channel:
            call = channel.unary_unary(POINT)
            await call(REQUESTS["InferPointWise"], timeout=30)
            process.popen.send_signal(signal.SIGSTOP)
            # Without pings this would last until the deadline.
            code: grpc.StatusCode = await call(REQUESTS["InferPointWise"], timeout=100).code()
            return code

    try:
        with tried.timed("noticed", 5):
            code = asyncio.run(asked())
        tried.holds("told", code.name, code is grpc.StatusCode.UNAVAILABLE)
    finally:
        process.popen.send_signal(signal.SIGCONT)
        process.close()


def test_a_data_folder_that_cannot_be_written_is_a_clear_error(
    shop: Path, tmp_path: Path, scenario: StartScenario
) -> None:
    tried = scenario("I6", "the data folder of a server is a file")
    taken = tmp_path / "taken"
    taken.write_text("a file")
    with tried.soon_over("it ends", 2):
        popen = launch(shop, "--port", "0", "--http-port", "0", INFERFLOW_DATA_DIR=str(taken))
        out, err = popen.communicate(timeout=60)
    tried.holds("it ends with 1", popen.returncode, popen.returncode == 1)
    assert out == ""
    last = err.splitlines()[-1]
    assert last.startswith("error: ")
    assert str(taken) in last
    assert "bug in Inferflow" not in last


def test_a_second_signal_ends_the_waiting_and_is_no_failure(
    shop: Path, scenario: StartScenario
) -> None:
    tried = scenario("A5", "a server with an hour to end is asked twice")
    process = start(shop, INFERFLOW_DRAIN_PAUSE="1h", INFERFLOW_DRAIN_GRACE="1h")
    process.popen.send_signal(signal.SIGTERM)
    while process.get("/health/ready")[0] == 200:
        pass
    with tried.timed("it ends after the second", 2):
        code = process.end(signal.SIGTERM)
    tried.holds("it ends with 0", code, code == 0)
