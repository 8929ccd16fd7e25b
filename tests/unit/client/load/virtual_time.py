"""Time that passes only when everybody waits."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Coroutine
from itertools import count
from typing import Any, TypeVar

T = TypeVar("T")


class VirtualTime:
    def __init__(self) -> None:
        self.now = 0.0
        self._waiting: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = count()

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        woken = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (self.now + seconds, next(self._order), woken))
        await woken

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        async def driven() -> T:
            task = asyncio.ensure_future(main)
            while not task.done():
                for _ in range(20):  # lets everyone who can go on do so
                    await asyncio.sleep(0)
                if self._waiting and not task.done():
                    self.now, _, woken = heapq.heappop(self._waiting)
                    if not woken.done():
                        woken.set_result(None)
            return await task

        return asyncio.run(driven())
