"""A port kept for several processes that will share it.

Whoever holds it never listens, so it gets no connection; but the port is known before the first
process starts, stays theirs while they are restarted, and is closed to everybody else.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from inferflow.errors import InvalidInput
from inferflow.rpc.listening import bound, cannot_listen, check_free


@contextmanager
def held_port(host: str, port: int) -> Iterator[int]:
    """Hold `host:port` (0: any free one) for processes of this user that ask to share it.

    Raises InvalidInput when anybody has it, even one who would share.
    """
    if not hasattr(socket, "SO_REUSEPORT"):
        raise InvalidInput("processes: this system does not let several processes share a port")
    check_free(host, port)
    with _held(host, port) as holder:
        yield holder.getsockname()[1]


def _held(host: str, port: int) -> socket.socket:
    try:
        # Without SO_REUSEADDR, so that nobody who sets that flag gets in before we listen.
        return bound(host, port, reuse=False, shared=True)
    except OSError:
        pass
    try:
        # What is left are connections that a server here has closed a moment ago.
        return bound(host, port, reuse=True, shared=True)
    except OSError as refused:
        raise cannot_listen(host, port, refused) from refused
