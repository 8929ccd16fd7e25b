"""Live numbers for any number of pages, from one sampler.

While somebody listens it looks once per second; otherwise every two, for the history, of which
five minutes are kept. Every listener has a short queue of its own. One that falls behind is let
go instead of being waited for.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any, Protocol

from inferflow.app.backoffice.sampling import Sample

log = logging.getLogger("inferflow.gateway.live")

Facts = dict[str, Any]

EVERY_S = 1.0
KEPT_EVERY = 2
"""Of the looks somebody listens to, each so many-th is kept."""
KEPT = 150
EVENTS = 50
QUEUE = 16

NOTHING: Facts = {
    "type": "metrics",
    "at_ms": 0,
    "overview": {
        "rate": 0.0,
        "errors_per_s": 0.0,
        "p50_ms": None,
        "p95_ms": None,
        "p99_ms": None,
        "in_flight": 0,
    },
    "configs": {},
}


class Looks(Protocol):
    async def look(self) -> Sample: ...


class LiveHub:
    """Implements `api.gateway.management.ports.Live`. `start` it, and `close` it when done."""

    def __init__(
        self, sampler: Looks, *, wait: Callable[[float], Awaitable[object]] = asyncio.sleep
    ) -> None:
        self._sampler = sampler
        self._wait = wait
        self._latest = NOTHING
        self._metrics: deque[Facts] = deque(maxlen=KEPT)
        self._events: deque[Facts] = deque(maxlen=EVENTS)
        self._listeners: set[asyncio.Queue[Facts | None]] = set()
        self._rounds = 0
        self._running: asyncio.Task[None] | None = None
        self._is_closed = False

    def start(self) -> None:
        self._running = asyncio.ensure_future(self._run())

    async def close(self) -> None:
        """Listeners are let go, and later ones get the history alone."""
        self._is_closed = True
        running, self._running = self._running, None
        if running is not None:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running
        for queue in list(self._listeners):
            self._let_go(queue)

    def latest(self) -> Facts:
        return self._latest

    async def listen(self) -> AsyncIterator[Facts]:
        queue: asyncio.Queue[Facts | None] = asyncio.Queue(QUEUE)
        self._listeners.add(queue)
        try:
            yield {
                "type": "history",
                "metrics": list(self._metrics),
                "events": list(self._events),
            }
            while not self._is_closed and (message := await queue.get()) is not None:
                yield message
        finally:
            self._listeners.discard(queue)

    async def _run(self) -> None:
        while True:
            try:
                await self.round()
            except Exception:  # the boundary of a round: the next one may go better
                log.exception("live_failed")
            await self._wait(EVERY_S if self._listeners else EVERY_S * KEPT_EVERY)

    async def round(self) -> None:
        """One look, told to everybody."""
        was_heard = bool(self._listeners)
        sample = await self._sampler.look()
        self._latest = sample.metrics
        self._rounds += 1
        if not was_heard or self._rounds % KEPT_EVERY == 0:
            self._metrics.append(sample.metrics)
        self._events.extend(sample.events)
        for message in (*sample.events, sample.metrics):
            self._tell(message)

    def _tell(self, message: Facts) -> None:
        for queue in list(self._listeners):
            try:
                queue.put_nowait(message)
            except asyncio.QueueFull:
                self._let_go(queue)

    def _let_go(self, queue: asyncio.Queue[Facts | None]) -> None:
        self._listeners.discard(queue)
        with suppress(asyncio.QueueEmpty):
            queue.get_nowait()  # makes room for the end
        queue.put_nowait(None)
