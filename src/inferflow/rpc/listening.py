"""Whether an address can be listened on, and what is said when not; the same for gRPC and HTTP."""

from __future__ import annotations

import errno
import os
import socket

from inferflow.errors import InvalidInput

_TAKEN = "end the program that has it, or choose another port (`inferflow settings` lists them all)"


def check_free(host: str, port: int, *, shared: bool = False, purpose: str = "") -> int:
    """Try an address, and say its port: the one given, or for 0 one that is free.

    Raises InvalidInput when it is taken; `shared` if not only by those who share it.
    """
    try:
        with bound(host, port, reuse=True, shared=shared) as tried:
            found: int = tried.getsockname()[1]
            return found
    except OSError as refused:
        raise cannot_listen(host, port, refused, purpose=purpose) from refused


def bound(host: str, port: int, *, reuse: bool, shared: bool) -> socket.socket:
    """A socket that has the address and does not listen. Raises OSError."""
    family, kind, protocol, _, where = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    opened = socket.socket(family, kind, protocol)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, int(reuse))
        if shared:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        opened.bind(where)
    except BaseException:
        opened.close()
        raise
    return opened


def cannot_listen(host: str, port: int, refused: OSError, *, purpose: str = "") -> InvalidInput:
    """The error to raise; `purpose` is ` for HTTP` where that is not plain."""
    number = refused.errno
    # asyncio puts the address into its own text, and the system's word is all that is missing.
    why = os.strerror(number) if number is not None and number > 0 else str(refused.strerror)
    fix = f"; {_TAKEN}" if number == errno.EADDRINUSE else ""
    return InvalidInput(f"cannot listen on {host}:{port}{purpose}: {why}{fix}")
