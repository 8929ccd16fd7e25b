"""A second copy of a call that takes unusually long: whichever answers first is taken.

For calls that change nothing. A call is unusual when it takes longer than 95 of 100 did lately. At
most one copy is made of a call, and of all calls together at most one in twenty, so that servers
which are slow for everybody do not get slower by it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from inferflow.engine.deadline import Clock

T = TypeVar("T")

SHARE = 0.05
MOST_CREDIT = 5.0
REMEMBERED = 400
_FEWEST = 40
"""Calls that must have been seen before one can be called unusual."""
_EVERY = 20


class Hedging:
    """For one thread."""

    def __init__(self, *, clock: Clock) -> None:
        self.copies = 0
        """How many were made."""
        self._clock = clock
        self._took_s: deque[float] = deque(maxlen=REMEMBERED)
        self._seen = 0
        self._credit = 0.0
        self._delay_s: float | None = None

    async def ask(self, call: Callable[[], Awaitable[T]]) -> T:
        """What the call, or its copy, answers. Raises what the last of them raises."""
        self._credit = min(MOST_CREDIT, self._credit + SHARE)
        began = self._clock()
        answer = await (call() if self._delay_s is None else self._raced(call, self._delay_s))
        self._note(self._clock() - began)
        return answer

    async def _raced(self, call: Callable[[], Awaitable[T]], delay_s: float) -> T:
        tasks = [asyncio.ensure_future(call())]
        try:
            await asyncio.wait(tasks, timeout=delay_s)
            if not tasks[0].done() and self._credit >= 1.0:
                self._credit -= 1.0
                self.copies += 1
                tasks.append(asyncio.ensure_future(call()))
            return await _first(tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _note(self, took_s: float) -> None:
        self._took_s.append(took_s)
        self._seen += 1
        if self._seen >= _FEWEST and self._seen % _EVERY == 0:
            ordered = sorted(self._took_s)
            self._delay_s = ordered[int(len(ordered) * (1 - SHARE))]


async def _first(tasks: Sequence[asyncio.Future[T]]) -> T:
    """The first answer; the last failure when there is none."""
    left = set(tasks)
    while True:
        done, left = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
        answered = [task for task in done if task.exception() is None]
        if answered or not left:
            return (answered or list(done))[0].result()
