"""Who may use the event loop next, when more calls come than it can serve.

A small request is scored right on the event loop, so while one is scored nobody is let in: the
surplus waits inside gRPC, where it can be neither counted nor refused, until its deadline is
over. So after some milliseconds of work without a break, calls take turns: all that have come are
let in first, those that would wait too long are refused at once, and the others are served in
order, a few at a time: first all of them are scored, then their answers sent, because the
processor forgets the code of the one while it does the other. Where the loop has had a break,
none of this happens and nothing is lost.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable

from inferflow.rpc.admission import Patience

Clock = Callable[[], float]
Pause = Callable[[float], Awaitable[object]]

_BREAK_S = 0.001
"""A pause this long means that nobody was waiting: letting in one call takes less, mostly."""
_REST_S = 0.01
"""And this long even where other processes take the processor away."""
_BURST_S = 0.02
"""Work goes on for so long before others are let in."""
_COMPANY, _COMPANY_S = 8, 0.008
"""Calls that are scored before the first of their answers is sent, and for how long at most."""
_DOOR_S = 0.012
"""Nor is the door open for longer than this: most of the time is for those who are served.
Who cannot be let in or refused meanwhile waits inside gRPC, which cuts off whom it cannot hold."""
_QUIET_S = 0.001
"""When nobody has come for so long, everybody is in. The loop rests meanwhile: who brings calls
are gRPC's own threads, and they may have to wait for the very processor it would look with."""
_LAST_DOOR_S, _LAST_QUIET_S = 0.1, 0.01
"""The same when the server ends, and who is not in is cut off."""


class Turns:
    """Used from one event loop only, so it needs no lock."""

    def __init__(
        self,
        patience: Patience,
        *,
        clock: Clock = time.perf_counter,
        pause: Pause = asyncio.sleep,
    ) -> None:
        self._patience = patience
        self._clock = clock
        self._pause = pause
        self._queue: deque[asyncio.Future[None]] = deque()
        self._serving: asyncio.Task[None] | None = None
        self._worked_s = 0.0
        self._pressed_s = 0.0
        self._is_held = False
        self._came = 0
        self._ended = clock()

    def came(self) -> None:
        """To be told of every call when gRPC hands it over, before its body is read."""
        self._came += 1

    @property
    def is_full(self) -> bool:
        """Whether another call would wait too long, whatever its deadline."""
        return self.wait_s > self._patience.max_wait_s

    @property
    def wait_s(self) -> float:
        """How long another call would wait."""
        return self._patience.wait_s(len(self._queue))

    async def take(self, left_s: float) -> None:
        """Returns when it is this call's turn. Raises Overloaded when that would be too late."""
        if self._serving is None:  # else the loop has only rested for others to be let in
            self._notice_break()
        if self._pressed_s >= _BURST_S:
            self._patience.check(len(self._queue), left_s)
        if self._serving is None and self._worked_s < _BURST_S and not self._is_held:
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        if self._serving is None:
            self._serving = asyncio.ensure_future(self._serve())
        await turn

    def _notice_break(self) -> None:
        pause_s = self._clock() - self._ended
        if pause_s > _BREAK_S:
            self._worked_s = 0.0
        if pause_s > _REST_S:
            self._pressed_s = 0.0

    async def worked(self, seconds: float) -> None:
        """To be told by a call that has used the loop for so long without a pause. Returns when
        its answer may be sent."""
        self.note_work(seconds)
        if self._serving is not None:
            await asyncio.sleep(0)  # those in its company are scored first

    def note_work(self, seconds: float) -> None:
        """The same, of a call that goes on elsewhere."""
        self._worked_s += seconds
        self._pressed_s += seconds
        self._ended = self._clock()
        if self._serving is None:
            self._patience.took(seconds)

    async def hold(self) -> None:
        """Serve nobody until all are in. The caller closes the door before it waits again; after
        that those who are in are served. Without it they would be cut off inside gRPC."""
        self._is_held = True
        try:
            await self._let_in(_LAST_DOOR_S, _LAST_QUIET_S)
        finally:
            asyncio.get_running_loop().call_soon(self._release)

    def _release(self) -> None:
        self._is_held = False

    async def _serve(self) -> None:
        try:
            while self._queue:
                began, served = self._clock(), 0
                await self._let_in(_DOOR_S, _QUIET_S)
                self._worked_s = 0.0
                while self._is_held:
                    await asyncio.sleep(0)
                while self._queue and self._worked_s < _BURST_S and not self._is_held:
                    served += self._call_up()
                    await asyncio.sleep(0)  # they are scored before this returns
                if served:  # who waits, waits for the door and for answers to be sent, too
                    self._patience.took(self._clock() - began, served)
        finally:
            self._serving = None

    def _call_up(self) -> int:
        """It is the turn of as many as are quickly scored, of one at least. Says of how many."""
        quick = int(_COMPANY_S / (self._patience.average_s or _COMPANY_S))
        called = 0
        for _ in range(min(max(1, quick), _COMPANY, len(self._queue))):
            turn = self._queue.popleft()
            if not turn.done():  # else its caller has given up
                turn.set_result(None)
                called += 1
        return called

    async def _let_in(self, longest_s: float, quiet_s: float) -> None:
        until = self._clock() + longest_s
        known = None
        while known != self._came and self._clock() < until:
            known = self._came
            await self._pause(quiet_s)
