"""What managers said, remembered.

A session is used until its token ends. From a while before that on, and at once after a worker
failed somebody, its next use has it looked up again beside the calls, which go on with what they
have. So calls wait for a manager only when there is no session at all, a manager that is away is
not missed while tokens last, and clients that do nothing ask nothing.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from inferflow.client.sdk.workers import Worker
from inferflow.engine.deadline import Clock, Deadline
from inferflow.errors import DeadlinePassed, InferflowError

MOST_SESSIONS = 1024
LOOK_AGAIN_S = 15.0
"""New workers and other versions are found within this time, however long a token lives."""
AGAIN_AFTER_FAILURE_S = 1.0
_SHORTEST_S = 2.0
"""However wrong this machine's clock is, a token just given is good for so long."""

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked of a manager. Equal wishes share a session."""

    model: str
    version: str = ""
    """Empty: what the stage says."""
    stage: str = ""
    """Empty: production."""
    affinity: str = ""
    """Calls with the same text prefer the same worker and version."""
    needs_gpu: bool = False

    def __str__(self) -> str:
        at = self.version or self.stage
        return f"{self.model}@{at}" if at else self.model


@dataclass(slots=True)
class Session:
    """Where to send calls of one kind, and what to show there."""

    wanted: Wanted
    version: str
    workers: tuple[Worker, ...]
    """Best first."""
    headers: Headers
    head: bytes
    """Names the version, in front of every request."""
    look_again_at: float
    ends_at: float


def lifetime(expires_ms: int, now_s: float) -> tuple[float, float]:
    """Seconds until a token should be replaced, and until it must be. `now_s` is this machine's
    time of day, which may be wrong."""
    left_s = max(expires_ms / 1000 - now_s, _SHORTEST_S)
    return min(left_s / 2, LOOK_AGAIN_S), left_s


Discover = Callable[[Wanted, tuple[str, ...]], Awaitable[Session]]
"""Asks managers; the texts are ids of workers that had better not be named."""


class Sessions:
    """For one event loop."""

    def __init__(self, discover: Discover, *, clock: Clock) -> None:
        self._discover = discover
        self._clock = clock
        self._known: OrderedDict[Wanted, Session] = OrderedDict()
        self._looking: dict[Wanted, asyncio.Task[Session]] = {}

    async def get(self, wanted: Wanted, deadline: Deadline) -> Session:
        """Raises what asking a manager raises, or DeadlinePassed."""
        known = self._known.get(wanted)
        now = self._clock()
        if known is None or now >= known.ends_at:
            return await self._waited_for(self._look(wanted), wanted, deadline)
        self._known.move_to_end(wanted)
        if now >= known.look_again_at:
            self._look(wanted)
        return known

    def distrust(self, session: Session) -> None:
        """A worker of it failed a call: its next use asks for others."""
        session.look_again_at = min(session.look_again_at, self._clock())

    async def renewed(self, session: Session, deadline: Deadline) -> Session:
        """A session that was made after this one. Raises as `get` does."""
        known = self._known.get(session.wanted)
        if known is not None and known is not session:
            return known
        return await self._waited_for(self._look(session.wanted), session.wanted, deadline)

    async def close(self) -> None:
        looking = list(self._looking.values())
        for task in looking:
            task.cancel()
        await asyncio.gather(*looking, return_exceptions=True)
        self._known.clear()

    def _look(self, wanted: Wanted) -> asyncio.Task[Session]:
        """One question at a time, whoever asks."""
        task = self._looking.get(wanted)
        if task is None:
            task = self._looking[wanted] = asyncio.ensure_future(self._found(wanted))
            task.add_done_callback(_seen)
        return task

    async def _found(self, wanted: Wanted) -> Session:
        known = self._known.get(wanted)
        now = self._clock()
        avoid = tuple(w.worker_id for w in known.workers if w.is_away(now)) if known else ()
        try:
            session = await self._discover(wanted, avoid)
        except InferflowError:
            if known is not None:
                known.look_again_at = self._clock() + AGAIN_AFTER_FAILURE_S
            raise
        finally:
            self._looking.pop(wanted, None)
        self._known[wanted] = session
        self._known.move_to_end(wanted)
        while len(self._known) > MOST_SESSIONS:
            self._known.popitem(last=False)
        return session

    async def _waited_for(
        self, task: asyncio.Task[Session], wanted: Wanted, deadline: Deadline
    ) -> Session:
        """Others may wait for the same answer, so it is not cancelled with one of them."""
        left_s = deadline.remaining_s()
        done, _ = await asyncio.wait((task,), timeout=None if left_s == float("inf") else left_s)
        if not done:
            raise DeadlinePassed(f"finding workers for {str(wanted)!r}", deadline.budget_ms)
        return task.result()


def _seen(task: asyncio.Task[Session]) -> None:
    """A failure nobody waited for is told to those who ask next."""
    if not task.cancelled():
        task.exception()
