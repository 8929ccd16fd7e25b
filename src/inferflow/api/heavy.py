"""Threads for work that would hold up the event loop, and the line before them."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from inferflow.rpc.admission import Patience

T = TypeVar("T")


class HeavyWork:
    """Used from one event loop only, so its counting needs no lock."""

    def __init__(self, patience: Patience, *, threads: int | None = None) -> None:
        self._patience = patience
        self._count = threads or os.cpu_count() or 1
        self._threads = ThreadPoolExecutor(self._count, "inferflow-heavy")
        self._under_way = 0

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def check(self, left_s: float) -> None:
        """Refuse work that would have to wait too long for a thread. Raises Overloaded."""
        ahead = self._under_way + 1 - self._count
        if ahead > 0:
            self._patience.check(ahead / self._count, left_s)

    async def run(self, work: Callable[[], T]) -> T:
        """The result of `work`, done in a thread that knows what this task knows."""
        within = copy_context()
        self._under_way += 1
        try:
            result, took_s = await asyncio.get_running_loop().run_in_executor(
                self._threads, lambda: _timed(lambda: within.run(work))
            )
        finally:
            self._under_way -= 1
        self._patience.took(took_s)
        return result


def _timed(work: Callable[[], T]) -> tuple[T, float]:
    began = time.perf_counter()
    return work(), time.perf_counter() - began
