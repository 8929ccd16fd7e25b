"""A port kept for several processes."""

from __future__ import annotations

import asyncio
import socket

import pytest

from inferflow.errors import InvalidInput
from inferflow.rpc.held_port import held_port
from inferflow.rpc.options import ServerOptions
from inferflow.rpc.server import start_server

HOST = "127.0.0.1"


async def listening(port: int, *, shared: bool) -> int:
    server = await start_server(
        [], services=(), host=HOST, port=port, options=ServerOptions(share_port=shared)
    )
    try:
        return server.port
    finally:
        await server.stop()


def test_servers_that_share_get_the_port_that_is_held() -> None:
    async def both(port: int) -> list[int]:
        return await asyncio.gather(listening(port, shared=True), listening(port, shared=True))

    with held_port(HOST, 0) as port:
        assert asyncio.run(both(port)) == [port, port]


def test_a_server_of_its_own_does_not_get_it() -> None:
    with held_port(HOST, 0) as port, pytest.raises(InvalidInput, match="in use"):
        asyncio.run(listening(port, shared=False))


def test_nobody_else_can_hold_it() -> None:
    with held_port(HOST, 0) as port, pytest.raises(InvalidInput, match="in use"):
        held_port(HOST, port).__enter__()


def test_a_port_that_somebody_listens_on_cannot_be_held() -> None:
    with socket.create_server((HOST, 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(InvalidInput, match=f"cannot listen on {HOST}:{port}"):
            held_port(HOST, port).__enter__()


def test_connections_just_closed_do_not_keep_a_port_from_being_held() -> None:
    with socket.create_server((HOST, 0)) as listener:
        port = listener.getsockname()[1]
        with socket.create_connection((HOST, port)) as client:
            served, _ = listener.accept()
            served.close()  # the side that closes first keeps the address for a while
            client.recv(1)
    with held_port(HOST, port) as held:
        assert held == port


def test_a_port_is_free_again_afterwards() -> None:
    with held_port(HOST, 0) as port:
        pass
    assert asyncio.run(listening(port, shared=False)) == port
