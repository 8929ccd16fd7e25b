"""Channels: what an address may look like, and that dead servers are passed over."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import grpc
import pytest

from inferflow.errors import InvalidInput
from inferflow.rpc.channel import open_channel, target_of
from inferflow.rpc.options import ChannelOptions, ServerOptions
from inferflow.rpc.server import start_server


@pytest.mark.parametrize(
    ("addresses", "target"),
    [
        ("localhost:50051", "dns:///localhost:50051"),
        ("[::1]:50051", "dns:///[::1]:50051"),
        ("10.0.0.1:1,10.0.0.2:2", "ipv4:10.0.0.1:1,10.0.0.2:2"),
        (["10.0.0.1:1", " 10.0.0.2:2"], "ipv4:10.0.0.1:1,10.0.0.2:2"),
        (["[::1]:1", "[::2]:2"], "ipv6:[::1]:1,[::2]:2"),
    ],
)
def test_addresses_become_a_target(addresses: Any, target: str) -> None:
    assert target_of(addresses) == target


@pytest.mark.parametrize("address", ["", "host", "host:", ":1", "host:x", "host:0", "host:70000"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(InvalidInput, match="write host:port"):
        target_of(address)


def test_a_url_is_refused_with_the_address_in_it() -> None:
    with pytest.raises(InvalidInput, match=r"write host:50051, without http://"):
        target_of("http://host:50051/")


def test_two_kinds_of_addresses_cannot_share_a_channel() -> None:
    with pytest.raises(InvalidInput, match="IPv4 and IPv6"):
        target_of(["10.0.0.1:1", "[::1]:1"])


def test_only_unavailable_is_tried_again() -> None:
    service = json.loads(str(dict(ChannelOptions().listed())["grpc.service_config"]))
    (method,) = service["methodConfig"]
    assert method["retryPolicy"]["retryableStatusCodes"] == ["UNAVAILABLE"]
    assert method["retryPolicy"]["maxAttempts"] == 3
    assert "methodConfig" not in str(dict(ChannelOptions(attempts=1).listed()))


def test_a_client_pings_less_often_than_a_server_allows() -> None:
    pings = dict(ChannelOptions().listed())["grpc.keepalive_time_ms"]
    allowed = dict(ServerOptions().listed())["grpc.http2.min_recv_ping_interval_without_data_ms"]
    assert int(pings) > int(allowed)


def test_a_dead_server_of_several_costs_no_call() -> None:
    async def echo(body: bytes, context: Any) -> bytes:
        return body

    methods = {"Echo": grpc.unary_unary_rpc_method_handler(echo)}
    handlers = [grpc.method_handlers_generic_handler("Predict", methods)]

    async def test() -> None:
        servers = [await start_server(handlers, services=["Predict"]) for _ in range(2)]
        addresses = [f"127.0.0.1:{server.port}" for server in servers]
        async with open_channel(addresses) as channel:
            call = channel.unary_unary("/Predict/Echo")
            for number in range(20):
                if number == 10:
                    await servers[0].stop()
                assert await call(b"%d" % number, timeout=10) == b"%d" % number
        await servers[1].stop()

    asyncio.run(test())
