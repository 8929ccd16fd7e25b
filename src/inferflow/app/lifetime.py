"""The life of a process that serves: the loop it runs on, what it keeps, and being asked to end."""

from __future__ import annotations

import asyncio
import gc
import signal
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

_STOPS = (signal.SIGTERM, signal.SIGINT)


def run(main: Coroutine[Any, Any, None]) -> None:
    """Run on the fastest event loop there is."""
    try:
        import uvloop
    except ModuleNotFoundError:
        asyncio.run(main)
    else:
        uvloop.run(main)


@contextmanager
def stop_signals() -> Iterator[tuple[asyncio.Event, asyncio.Event]]:
    """Events: that this process was asked to end, and that it was asked again."""
    loop = asyncio.get_running_loop()
    end, hurry = asyncio.Event(), asyncio.Event()
    for stop in _STOPS:
        loop.add_signal_handler(stop, lambda: hurry.set() if end.is_set() else end.set())
    try:
        yield end, hurry
    finally:
        for stop in _STOPS:
            loop.remove_signal_handler(stop)


def keep_what_is_loaded() -> None:
    """What was loaded stays: the collector need not look at it again and again."""
    gc.collect()
    gc.freeze()
