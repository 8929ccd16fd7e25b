"""Connections whose peer has vanished are ended by the kernel, for a server that does not do it.

What is set on a listening socket holds for every connection it takes. The socket is found by its
port, because the server that opened it is not in Python and does not hand it out.
"""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from contextlib import closing, suppress

NOTICED_AFTER_S = 30
_ASK_AFTER_S, _ASK_EVERY_S, _ASK_TIMES = 15, 5, 3

_TCP_OPTIONS = {
    "TCP_KEEPIDLE": _ASK_AFTER_S,
    "TCP_KEEPINTVL": _ASK_EVERY_S,
    "TCP_KEEPCNT": _ASK_TIMES,
    "TCP_USER_TIMEOUT": NOTICED_AFTER_S * 1000,
}
"""Not every system has each of them."""


def listening(port: int) -> frozenset[int]:
    """Descriptors of the sockets that listen on this port."""
    return frozenset(number for number, held in _sockets() if _listens(held, port))


def notice_vanished(descriptor: int) -> None:
    """End connections whose peer is away, or takes nothing of what it is sent, for
    `NOTICED_AFTER_S`."""
    with closing(socket.socket(fileno=os.dup(descriptor))) as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _TCP_OPTIONS.items():
            if (option := getattr(socket, name, None)) is not None:
                held.setsockopt(socket.IPPROTO_TCP, option, value)


def _sockets() -> Iterator[tuple[int, socket.socket]]:
    for name in os.listdir("/dev/fd"):
        with suppress(OSError):  # closed since
            if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                with closing(socket.socket(fileno=os.dup(int(name)))) as held:
                    yield int(name), held


def _listens(held: socket.socket, port: int) -> bool:
    if held.family not in (socket.AF_INET, socket.AF_INET6):
        return False
    is_listening = held.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    return bool(is_listening) and held.getsockname()[1] == port
