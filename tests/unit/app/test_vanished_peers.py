"""Listening sockets of this process, and what their connections take over."""

from __future__ import annotations

import os
import socket

from inferflow.app.vanished_peers import NOTICED_AFTER_S, listening, notice_vanished


def test_only_sockets_that_listen_on_the_port_are_found() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as caller, server.accept()[0] as taken:
            found = listening(port)
            assert found == {server.fileno()}
            assert not found & {caller.fileno(), taken.fileno()}
    assert listening(port) == frozenset()


def test_looking_leaves_nothing_open() -> None:
    before = os.listdir("/dev/fd")
    listening(1)
    assert len(os.listdir("/dev/fd")) == len(before)


def test_connections_of_a_socket_are_looked_after_by_the_kernel() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        notice_vanished(server.fileno())
        with socket.create_connection(server.getsockname()), server.accept()[0] as taken:
            assert taken.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
            patience_ms = taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
    assert patience_ms == NOTICED_AFTER_S * 1000
