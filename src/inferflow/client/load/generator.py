"""Sends a load, in one event loop.

In an open loop a latency counts from the moment its call was due, not from when it was sent. A
server that stalls is charged for the calls that had to wait meanwhile; counted from the sending,
they would seem quick, or not be made at all. That the generator itself is late has the same effect,
so lateness is kept beside and reported.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import count

from inferflow.client.load.plan import Call, Load
from inferflow.client.load.tally import Failure, Tally

Ask = Callable[[int, Call], Awaitable[Failure | None]]
"""Makes a call over the connection of that number; None when it was answered."""

AWAY = "UNAVAILABLE"
_PAUSE_S = 0.01
"""A refusal takes no time. Without a pause, a server that is away would be asked in a frenzy."""


class Generator:
    def __init__(
        self,
        load: Load,
        ask: Ask,
        *,
        clock: Callable[[], float] = time.perf_counter,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._load = load
        self._ask = ask
        self._clock = clock
        self._sleep = sleep
        self._tally = Tally()
        self._begin = self._end = 0.0

    async def run(self, stop: asyncio.Event) -> Tally:
        """Everything until the end, or until `stop`; then calls under way are given up."""
        load, cpu, began = self._load, time.process_time(), self._clock()
        self._begin = began + load.warmup_s
        self._end = self._begin + load.seconds
        sending = asyncio.ensure_future(self._closed() if load.rate is None else self._open())
        stopped = asyncio.ensure_future(stop.wait())
        await asyncio.wait((sending, stopped), return_when=asyncio.FIRST_COMPLETED)
        until = self._end if sending.done() else min(self._clock(), self._end)
        self._tally.window_s = max(0.0, until - self._begin)
        self._tally.busy = (time.process_time() - cpu) / max(self._clock() - began, 1e-9)
        stopped.cancel()
        if not sending.done():
            sending.cancel()
        with suppress(asyncio.CancelledError):
            await sending
        return self._tally

    async def _closed(self) -> None:
        async with asyncio.TaskGroup() as lanes:
            for lane in range(self._load.concurrency):
                lanes.create_task(self._lane(lane))

    async def _lane(self, lane: int) -> None:
        for turn in count():
            now = self._clock()
            if now >= self._end:
                return
            failure = await self._one(lane, lane + turn * self._load.concurrency, now)
            if failure is not None and failure.code == AWAY:
                await self._sleep(_PAUSE_S)

    async def _open(self) -> None:
        load = self._load
        assert load.rate is not None
        first = self._begin - load.warmup_s + load.first / load.rate
        under_way: set[asyncio.Task[Failure | None]] = set()
        async with asyncio.TaskGroup() as calls:
            for number in count():
                due = first + number / load.rate
                if due >= self._end:
                    return
                await self._sleep(max(0.0, due - self._clock()))
                if len(under_way) >= load.most_in_flight:
                    self._tally.unsent += due >= self._begin
                    continue
                task = calls.create_task(self._one(number, number, due))
                under_way.add(task)
                task.add_done_callback(under_way.discard)

    async def _one(self, lane: int, number: int, due: float) -> Failure | None:
        load, tally = self._load, self._tally
        call = load.calls[number % len(load.calls)]
        sent = self._clock()
        failure = await self._ask(lane % load.connections, call)
        ended = self._clock()
        if due < self._begin:
            return failure
        if load.rate is not None:
            tally.late_s.append(sent - due)
        if failure is not None:
            tally.note_failure(failure, ended - sent)
        else:
            tally.latencies_s.append(ended - due)
            tally.answered_in_window += ended <= self._end
        return failure
