"""Many requests over one connection: answered in order, with some of them under way at a time.

A request is kept until it is answered. When a worker fails, those without an answer are sent again
to the next one, and the stream goes on from there; the same before its token ends. `deadline_ms` is
what each answer may take.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import grpc

from inferflow._proto.pool import message_class
from inferflow.client.sdk.fleet import Fleet, Tries
from inferflow.client.sdk.refusals import Next
from inferflow.client.sdk.sessions import Session, Wanted
from inferflow.client.sdk.workers import Worker
from inferflow.engine.deadline import Deadline
from inferflow.errors import DeadlinePassed, ModelFailed, RemoteFailed

_Answer = message_class("inference.ModelStreamInferResponse")


class Stream:
    """One stream of requests. `answers` is to be read once."""

    def __init__(
        self,
        fleet: Fleet,
        wanted: Wanted,
        bodies: AsyncIterator[bytes],
        *,
        deadline_ms: float | None,
        ahead: int,
    ) -> None:
        self._fleet = fleet
        self._wanted = wanted
        self._bodies = bodies
        self._deadline_ms = deadline_ms
        self._room = asyncio.Semaphore(ahead)
        self._incoming: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._unanswered: deque[bytes] = deque()
        self._is_read = False
        self._failed: BaseException | None = None

    async def answers(self) -> AsyncGenerator[bytes, None]:
        """The bytes of one ModelInfer answer per request. Raises as `Fleet.ask` does."""
        reading = asyncio.ensure_future(self._read())
        tries = Tries()
        try:
            session = await self._fleet.session(self._wanted, self._deadline())
            while not self._is_read or self._unanswered:
                for worker in self._fleet.order(session):
                    try:
                        async for answer in self._over(worker, session):
                            tries = Tries()
                            yield answer
                        break
                    except grpc.aio.AioRpcError as refused:
                        if not self._fleet.goes_on(session, worker, refused, tries):
                            raise tries.error(str(self._wanted), self._deadline()) from refused
                        if tries.said is Next.TOKEN:
                            break
                session = await self._next_session(session, tries)
            if self._failed is not None:
                raise self._failed
        finally:
            reading.cancel()

    async def _next_session(self, session: Session, tries: Tries) -> Session:
        if self._is_read and not self._unanswered:
            return session
        if tries.refused is None:
            return await self._fleet.renewed(session, self._deadline())
        return await self._fleet.next_round(session, tries, self._deadline())

    async def _read(self) -> None:
        """Take requests as there is room for them. Never interrupted by a worker's failure."""
        try:
            await self._room.acquire()
            async for body in self._bodies:
                self._incoming.put_nowait(body)
                await self._room.acquire()
        except Exception as failed:  # the caller's own: told when what came before is answered
            self._failed = failed
        finally:
            self._incoming.put_nowait(None)

    async def _over(self, worker: Worker, session: Session) -> AsyncIterator[bytes]:
        """Answers over one call, until all is answered or the token is to be replaced."""
        call = worker.stream(metadata=session.headers)
        written: asyncio.Queue[bool] = asyncio.Queue()
        writing = asyncio.ensure_future(self._write(call, session, written))
        worker.in_flight += 1
        try:
            while await written.get():
                answer = await self._answer(call, worker)
                worker.answered()
                self._unanswered.popleft()
                self._room.release()
                yield answer
        finally:
            worker.in_flight -= 1
            writing.cancel()
            call.cancel()

    async def _write(self, call: Any, session: Session, written: asyncio.Queue[bool]) -> None:
        switch_at = (session.look_again_at + session.ends_at) / 2
        try:
            for body in tuple(self._unanswered):
                written.put_nowait(True)
                await call.write(session.head + body)
            while (found := await self._next_input()) is not None:
                self._unanswered.append(found)
                if self._fleet.options.clock() >= switch_at:
                    break
                written.put_nowait(True)
                await call.write(session.head + found)
            else:
                self._is_read = True
            await call.done_writing()
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError):
            return  # the call has ended, which reading its answer tells
        finally:
            written.put_nowait(False)

    async def _next_input(self) -> bytes | None:
        """None when there are no more, however often that is asked: after a failure it is."""
        return None if self._is_read else await self._incoming.get()

    async def _answer(self, call: Any, worker: Worker) -> bytes:
        budget_s = None if self._deadline_ms is None else self._deadline_ms / 1000
        try:
            async with asyncio.timeout(budget_s):
                body = await call.read()
        except TimeoutError:
            worker.was_silent(self._fleet.options.clock())
            what = f"an answer of model {str(self._wanted)!r} at {worker.address}"
            raise DeadlinePassed(what, self._deadline().budget_ms) from None
        if body is grpc.aio.EOF:
            raise RemoteFailed("OK", f"{worker.address} ended a stream without its answers")
        answer = _Answer.FromString(body)
        if answer.error_message:
            raise ModelFailed(str(self._wanted), answer.error_message)
        found: bytes = answer.infer_response.SerializeToString()
        return found

    def _deadline(self) -> Deadline:
        return Deadline(self._deadline_ms, clock=self._fleet.options.clock)
