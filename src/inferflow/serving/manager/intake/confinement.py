"""The fences of the child process, put up from the inside before it opens anything.

Another user and an empty network need root or user namespaces, which not everybody has: they are
put up where they can be. Memory, time and written files are limited everywhere.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource

_NEW_USER = 0x10000000
_NEW_NET = 0x40000000
_NO_NEW_PRIVILEGES = 38
_NOBODY = 65534


def confine(*, memory_bytes: int, cpu_s: int) -> None:
    """Become somebody who may do little. What must be read from here on must be readable to all."""
    _become_nobody()
    _limit(resource.RLIMIT_AS, memory_bytes)
    _limit(resource.RLIMIT_CPU, cpu_s)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, 0)


def leave_network() -> None:
    """A network of its own, with nothing in it. Comes first: it needs a process of one thread."""
    with contextlib.suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(_NEW_NET) != 0:
            libc.unshare(_NEW_USER | _NEW_NET)
        libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)


def _become_nobody() -> None:
    if os.getuid() == 0:
        # Inside a user namespace of ours root may be nobody already, and has nowhere to go.
        with contextlib.suppress(OSError):
            os.setgroups([])
            os.setgid(_NOBODY)
            os.setuid(_NOBODY)


def _limit(what: int, most: int) -> None:
    _, hard = resource.getrlimit(what)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(what, (most, most))
