"""Keeps a number of processes running: starts them, starts again what ends, ends them all.

A process that ends before any has ever served stops the whole: something is wrong that another
start would not mend, and whoever started us should hear of it. Later, each place is filled
again, at once or after a while (see `restarts`).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field

from inferflow.app.processes.messages import Word
from inferflow.app.processes.process import ChildProcess
from inferflow.app.processes.restarts import Restarts
from inferflow.errors import EngineFault

log = logging.getLogger("inferflow.processes")


@dataclass(slots=True)
class Place:
    """Where one process after another runs."""

    number: int
    first: asyncio.Future[ChildProcess]
    """The first one."""
    child: ChildProcess | None = None
    """The one that runs now."""
    restarts: Restarts = field(default_factory=Restarts)


class Supervisor:
    """Used from one event loop. `start` says how a process of some number is started."""

    def __init__(
        self,
        start: Callable[[int], Awaitable[ChildProcess]],
        count: int,
        *,
        retire: Callable[[bytes], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        loop = asyncio.get_running_loop()
        self.places = [Place(number, loop.create_future()) for number in range(1, count + 1)]
        self._start = start
        self._retire = retire
        self._clock = clock
        self._ending = asyncio.Event()
        self.broken: asyncio.Future[None] = loop.create_future()
        """Has an exception when this cannot go on."""
        self._has_served = False
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def children(self) -> list[ChildProcess]:
        """Those that run now."""
        return [place.child for place in self.places if place.child is not None]

    @property
    def ready(self) -> int:
        return sum(child.state == "ready" for child in self.children)

    @property
    def restarts(self) -> int:
        return sum(place.restarts.count for place in self.places)

    async def start(self) -> None:
        """Start all, and wait until each serves. Raises EngineFault when one ends instead; then
        all have ended."""
        for place in self.places:
            task = asyncio.ensure_future(self._keep(place))
            task.add_done_callback(self._kept)
            self._tasks.append(task)
        started = asyncio.ensure_future(self._all_started())
        await asyncio.wait((started, self.broken), return_when=asyncio.FIRST_COMPLETED)
        if self.broken.done():
            started.cancel()
            await self.end(hurry=_set())
            self.broken.result()
        self._has_served = True

    async def _all_started(self) -> None:
        for place in self.places:
            await (await place.first).has_started.wait()

    def say(self, word: Word) -> None:
        for child in self.children:
            child.say(word)

    async def end(self, *, hurry: asyncio.Event, limit_s: float = 60.0) -> None:
        """End all politely, at once when `hurry` is set, and by force after `limit_s`."""
        self._ending.set()
        self.say(Word.DRAIN)
        hurried = asyncio.ensure_future(self._hurry(hurry))
        _, late = await asyncio.wait(self._tasks, timeout=limit_s)
        hurried.cancel()
        if late:
            for child in self.children:
                log.error(
                    "process_killed", extra={"process_number": child.number, "pid": child.pid}
                )
                child.kill()
            await asyncio.wait(late)

    async def _hurry(self, hurry: asyncio.Event) -> None:
        await hurry.wait()
        self.say(Word.HURRY)

    async def _keep(self, place: Place) -> None:
        while not self._ending.is_set():
            began = self._clock()
            code = await self._one_life(place)
            if self._ending.is_set():
                return
            if not self._has_served:
                raise EngineFault(f"process {place.number} ended with {code} before it served")
            place.restarts = place.restarts.after(self._clock() - began)
            wait_s = place.restarts.wait_s
            log.log(
                logging.INFO if code == 0 else logging.ERROR,
                "process_ended",
                extra={"process_number": place.number, "code": code, "restarts_in_s": wait_s},
            )
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), wait_s)

    async def _one_life(self, place: Place) -> int:
        """Start a process and wait for its end; its exit code."""
        try:
            place.child = child = await self._start(place.number)
        except OSError:
            log.exception("process_not_started", extra={"process_number": place.number})
            return 1
        if not place.first.done():
            place.first.set_result(child)
        log.info("process_started", extra={"process_number": place.number, "pid": child.pid})
        if self._ending.is_set():
            child.say(Word.DRAIN)
        try:
            return await child.ended()
        finally:
            place.child = None
            self._retire(child.page)

    def _kept(self, task: asyncio.Task[None]) -> None:
        """A place is kept until the end, unless something is wrong with us."""
        if not task.cancelled() and task.exception() is not None and not self.broken.done():
            self.broken.set_exception(task.exception() or EngineFault("a place was given up"))


def _set() -> asyncio.Event:
    event = asyncio.Event()
    event.set()
    return event
