"""One call to a fleet: to the best worker, and to the next at once when that one fails it.

Each worker a manager named is tried once, which costs the fleet no more than the call itself.
After that other workers are asked for, and trying again is bounded three times over: by the call's
deadline, by a number of rounds with pauses that double, and by a budget that all calls of the
client share. Running a model changes nothing, so all of that is safe.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from math import inf

import grpc

from inferflow.client.oip.budget import RetryBudget
from inferflow.client.pausing import pause
from inferflow.client.sdk.managers import Managers
from inferflow.client.sdk.refusals import Next, error_from, next_after
from inferflow.client.sdk.sessions import Session, Sessions, Wanted
from inferflow.client.sdk.workers import Worker, Workers, order
from inferflow.engine.deadline import Clock, Deadline
from inferflow.errors import DeadlinePassed, InferflowError, ModelUnavailable
from inferflow.rpc.options import MIB, ChannelOptions
from inferflow.rpc.tls_channel import ChannelTls

_ROUNDS = 3
_ROUNDS_LATER = 12
"""Rounds for workers that do not know a model yet: they hear of it within a heartbeat."""
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.025, 0.25


@dataclass(frozen=True, slots=True)
class FleetOptions:
    max_answer_mb: int = 64
    tls: ChannelTls | None = None
    """None calls in plain text."""
    clock: Clock = time.monotonic
    wall: Callable[[], float] = time.time
    """Time of day in seconds, which tokens go by."""
    wait: Callable[[float], Awaitable[object]] = asyncio.sleep
    chance: Callable[[], float] = field(default=random.random)


@dataclass(slots=True)
class Tries:
    """How it went so far, for one call."""

    attempts: int = 0
    rounds: int = 0
    renewals: int = 0
    said: Next = Next.STOP
    refused: grpc.aio.AioRpcError | None = None
    workers: dict[str, None] = field(default_factory=dict)

    def note(self, worker: Worker, refused: grpc.aio.AioRpcError) -> Next:
        self.attempts += 1
        self.workers[worker.address] = None
        self.refused = refused
        self.said = next_after(refused)
        return self.said

    def error(self, model: str, deadline: Deadline) -> InferflowError:
        if self.refused is None:
            return DeadlinePassed(f"model {model!r}", deadline.budget_ms)
        return error_from(
            self.refused,
            model,
            ", ".join(self.workers),
            budget_ms=deadline.budget_ms,
            attempts=self.attempts,
        )


class Fleet:
    """Calls to the workers of one fleet. For the event loop it was made in."""

    def __init__(
        self, managers: Sequence[str], key: str, options: FleetOptions | None = None
    ) -> None:
        self.options = options or FleetOptions()
        self._workers = Workers(
            ChannelOptions(
                max_receive_bytes=self.options.max_answer_mb * MIB,
                attempts=1,
                tls=self.options.tls,
            )
        )
        self._managers = Managers(
            managers,
            key,
            self._workers,
            tls=self.options.tls,
            clock=self.options.clock,
            wall=self.options.wall,
        )
        self._sessions = Sessions(self._managers.discover, clock=self.options.clock)
        self._budget = RetryBudget(clock=self.options.clock)

    @property
    def managers(self) -> str:
        return self._managers.addresses

    async def ask(self, wanted: Wanted, body: bytes, deadline: Deadline) -> bytes:
        """The bytes of a ModelInfer answer to a request that names no version.

        Raises Unreachable, ModelUnavailable, Overloaded, DeadlinePassed, NotFound, InvalidRequest,
        Unauthenticated, PermissionDenied, ModelFailed or RemoteFailed.
        """
        session = await self._sessions.get(wanted, deadline)
        self._budget.count_call()
        tries = Tries()
        while True:
            for worker in self.order(session):
                left_s = deadline.remaining_s()
                if left_s <= 0:
                    raise DeadlinePassed(f"model {str(wanted)!r}", deadline.budget_ms)
                worker.in_flight += 1
                try:
                    answer: bytes = await worker.infer(
                        session.head + body,
                        timeout=None if left_s == inf else left_s,
                        metadata=session.headers,
                    )
                except grpc.aio.AioRpcError as refused:
                    if not self.goes_on(session, worker, refused, tries):
                        raise tries.error(str(wanted), deadline) from refused
                    if tries.said is Next.TOKEN:
                        break
                else:
                    worker.answered()
                    return answer
                finally:
                    worker.in_flight -= 1
            session = await self.next_round(session, tries, deadline)

    def order(self, session: Session) -> list[Worker]:
        sticky = bool(session.wanted.affinity)
        return order(session.workers, self.options.clock, sticky=sticky)

    async def session(self, wanted: Wanted, deadline: Deadline) -> Session:
        return await self._sessions.get(wanted, deadline)

    async def renewed(self, session: Session, deadline: Deadline) -> Session:
        return await self._sessions.renewed(session, deadline)

    def goes_on(
        self, session: Session, worker: Worker, refused: grpc.aio.AioRpcError, tries: Tries
    ) -> bool:
        """Whether another try is in order. Notes how the worker did."""
        now = self.options.clock()
        match tries.note(worker, refused):
            case Next.ANOTHER:
                worker.failed(now)
                self._sessions.distrust(session)
                return True
            case Next.WITH_ROOM:
                return self._budget.take()
            case Next.LATER:
                return True
            case Next.TOKEN:
                tries.renewals += 1
                return tries.renewals == 1
            case Next.LATE:
                if worker.was_silent(now):
                    self._sessions.distrust(session)
                return False
            case Next.STOP:
                return False

    async def next_round(self, session: Session, tries: Tries, deadline: Deadline) -> Session:
        """What to go on with when every worker of a session has been tried, after a pause.
        Raises the error of the last try when that is enough."""
        pause_s = self._pause(tries)
        most = _ROUNDS_LATER if tries.said is Next.LATER else _ROUNDS
        tries.rounds += 1
        if tries.said is not Next.TOKEN and (
            tries.rounds >= most
            or pause_s >= deadline.remaining_s()
            or tries.said is Next.WITH_ROOM
            or not self._budget.take()
        ):
            raise tries.error(str(session.wanted), deadline) from tries.refused
        if pause_s:
            await self.options.wait(pause_s)
        try:
            return await self._sessions.renewed(session, deadline)
        except ModelUnavailable:
            if tries.said is Next.TOKEN:
                raise
            return session  # the managers are away, or know no other: it is all there is

    def _pause(self, tries: Tries) -> float:
        """None before other workers are asked for the first time."""
        if not tries.rounds or tries.said is Next.TOKEN:
            return 0.0
        return pause(
            tries.rounds,
            self.options.chance(),
            first_s=_FIRST_PAUSE_S,
            longest_s=_LONGEST_PAUSE_S,
        )

    async def close(self) -> None:
        """Calls under way are cancelled."""
        await self._sessions.close()
        await self._workers.close()
        await self._managers.close()
