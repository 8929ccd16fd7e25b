"""One call to a fleet: to the best worker, and to the next at once when that one fails it.

Each worker a manager named is tried once, which costs the fleet no more than the call itself.
After that other workers are asked for, and trying again is bounded three times over: by the call's
deadline, by a number of rounds with pauses that double, and by a budget that all calls of the
client share. Running a model changes nothing, so all of that is safe.

A worker that refuses a session token is shown a new one. A manager that gives none says what is
wrong with the key; once it gave one, whoever refuses that is at fault itself, by its clock or for
want of orders, and others are asked. Only when all refuse it is the caller told so.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from math import inf

import grpc

from inferflow.client.budget import RetryBudget
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


Call = Callable[[Worker, Session, float | None], Awaitable[bytes]]
"""Asks a worker, showing the session's token, with so many seconds for the answer."""


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
    is_about_tokens: bool = True
    """Whether nothing but tokens was refused."""
    not_renewed: ModelUnavailable | None = None
    """Why there is no new token, when one was wanted and no manager was there."""
    workers: dict[str, None] = field(default_factory=dict)

    def note(self, worker: Worker, refused: grpc.aio.AioRpcError) -> Next:
        self.attempts += 1
        self.workers[worker.address] = None
        self.said = next_after(refused)
        if self.said is not Next.TOKEN:
            self.is_about_tokens = False
            self.refused = refused
            return self.said
        if self.is_about_tokens:
            self.refused = refused
        self.renewals += 1
        if self.renewals > 1:
            self.said = Next.DOUBTFUL
        return self.said

    def is_refused_by_all(self, session: Session) -> bool:
        """Whether every worker of a session has refused a token just given, and said no more."""
        is_over = self.said is Next.DOUBTFUL and self.is_about_tokens
        return is_over and all(each.address in self.workers for each in session.workers)

    def error(self, model: str, deadline: Deadline) -> InferflowError:
        if self.not_renewed is not None and self.is_about_tokens:
            return self.not_renewed
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
        """The bytes of a ModelInfer answer to a request that names no version. Raises as `send`
        does."""

        def infer(worker: Worker, session: Session, timeout_s: float | None) -> Awaitable[bytes]:
            answer: Awaitable[bytes] = worker.infer(
                session.head + body, timeout=timeout_s, metadata=session.headers
            )
            return answer

        return await self.send(wanted, infer, deadline)

    async def send(self, wanted: Wanted, call: Call, deadline: Deadline) -> bytes:
        """What the first worker answers that does not fail the call.

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
                    answer = await call(worker, session, None if left_s == inf else left_s)
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
            case Next.ANOTHER | Next.DOUBTFUL:
                worker.failed(now)
                self._sessions.distrust(session)
                return True
            case Next.WITH_ROOM:
                return self._budget.take()
            case Next.LATER | Next.TOKEN:
                return True
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
        session = await self._renewed(session, tries, deadline)
        if tries.is_refused_by_all(session):
            raise tries.error(str(session.wanted), deadline) from tries.refused
        return session

    async def _renewed(self, session: Session, tries: Tries, deadline: Deadline) -> Session:
        try:
            return await self._sessions.renewed(session, deadline)
        except ModelUnavailable as away:
            if tries.said is Next.TOKEN:
                tries.not_renewed = away
            return session  # the managers are away, or know no other: it is all there is

    def _pause(self, tries: Tries) -> float:
        """None before other workers are asked for the first time, nor for tokens: waiting makes
        them no better."""
        if not tries.rounds or tries.said is Next.TOKEN or tries.is_about_tokens:
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
