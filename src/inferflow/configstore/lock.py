"""One writer at a time, in whichever process or thread. A lock dies with its holder."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from inferflow.errors import ConfigStoreBusy, ConfigStoreFailed

_RETRY_S = 0.005


@contextmanager
def locked(
    path: Path,
    *,
    timeout_s: float,
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> Iterator[None]:
    """Hold the lock of a file, which is made when it is not there.

    Raises ConfigStoreBusy when another holds it for longer than `timeout_s`.
    """
    try:
        import fcntl
    except ModuleNotFoundError as missing:
        raise ConfigStoreFailed("configs cannot be changed: no file locks here") from missing
    # A handle of its own per call: locks belong to handles, so threads exclude each other too.
    # Read-only is enough to lock, and lets somebody look who may not write.
    handle = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        until = clock() + timeout_s
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if clock() >= until:
                    raise ConfigStoreBusy(
                        f"another process has been changing configs for {timeout_s:g} s"
                    ) from None
            pause(_RETRY_S)
        yield
    finally:
        os.close(handle)
