"""Calls to one server, or to several that answer alike.

A channel is opened by the first call and belongs to the event loop that made it; when nothing
holds the line any longer, its channels close with it. A call that met no server, or one that was
leaving, is made again, at another server when there are several: at most twice, only while a
fifth of its time is left, and only as often as the line's budget allows. Running a model or an
expression changes nothing, so that is safe. No other failure is repeated. Where nobody answers any
more, calls fail at once (`breaker`); where it is asked for, a slow call has a second chance
(`hedging`).
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from math import inf
from typing import Any

import grpc

from inferflow.client.budget import RetryBudget
from inferflow.client.failures import AWAY
from inferflow.client.hedging import Hedging
from inferflow.client.oip.breaker import Breaker
from inferflow.client.pausing import pause
from inferflow.engine.deadline import Clock, Deadline
from inferflow.errors import (
    DeadlinePassed,
    InferflowError,
    ModelFailed,
    Overloaded,
    Unreachable,
)
from inferflow.rpc.channel import channel_to, target_of
from inferflow.rpc.headers import PUSHBACK, RETRY_AFTER
from inferflow.rpc.options import MIB, ChannelOptions
from inferflow.rpc.tls_channel import ChannelTls

INFER = "/inference.GRPCInferenceService/ModelInfer"

_ATTEMPTS = 3
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.01, 0.1
_LEAST_LEFT = 0.2
"""Share of a call's time that must be left for it to be worth another try."""
_TELLING_S = 0.05
"""A call that was given less time than this says nothing about a server that did not answer it."""
_LONGEST_BACKOFF_MS = 500
"""Between attempts to connect to a server that is away."""
_SHORT = 300

Headers = tuple[tuple[str, str], ...]
Wait = Callable[[float], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class LineOptions:
    headers: Headers = ()
    """Sent with every call."""
    max_answer_mb: int = 64
    eject_after_ms: int = 1_000
    """Of several servers, one that failed most calls for this long is left out for a while."""
    hedge: bool = False
    """Make a second copy of calls that take unusually long."""
    tls: ChannelTls | None = None
    """None calls in plain text."""
    clock: Clock = time.monotonic
    wait: Wait = asyncio.sleep
    chance: Callable[[], float] = field(default=random.random)


@dataclass(frozen=True, slots=True)
class Method:
    """What a line calls, and how it says that this failed."""

    path: str
    what: str
    """What the things are that it is called for by name: `model`."""
    failed: Callable[[str, str], InferflowError]
    """The error of a name and a reason."""


MODEL = Method(INFER, "model", ModelFailed)


@dataclass(slots=True)
class _Open:
    """A channel in one event loop."""

    channel: grpc.aio.Channel
    call: Any


class Line:
    def __init__(self, address: str, options: LineOptions, method: Method = MODEL) -> None:
        self.address = address
        self._options = options
        self._method = method
        self._budget = RetryBudget(clock=options.clock)
        self._breaker = Breaker(address, clock=options.clock)
        self._hedging = Hedging(clock=options.clock) if options.hedge else None
        self._open: dict[asyncio.AbstractEventLoop, _Open] = {}
        self._target = ""

    def look_up(self) -> None:
        """Find the hosts of a list, which may take a while; a call does so itself if need be.
        Raises InvalidInput when one is not known."""
        if not self._target:
            self._target = target_of(self.address)

    async def ask(self, body: bytes, name: str, deadline: Deadline) -> bytes:
        """The bytes of the answer. Raises Unreachable, Overloaded, DeadlinePassed, or what the
        method fails with."""
        if not self._breaker.lets_through():
            raise Unreachable(self.address, 0, self._breaker.why)
        began = self._options.clock()
        try:
            answer = await self._answer(body, name, deadline)
        except Unreachable as away:
            self._breaker.silent(away.why)
            raise
        except DeadlinePassed as late:
            if self._options.clock() - began >= _TELLING_S:
                self._breaker.silent(str(late))
            raise
        except InferflowError:
            self._breaker.answered()
            raise
        self._breaker.answered()
        return answer

    async def _answer(self, body: bytes, name: str, deadline: Deadline) -> bytes:
        self._budget.count_call()
        for attempt in count(1):
            left_s = deadline.remaining_s()
            if left_s <= 0:
                raise self._late(name, deadline)
            try:
                return await self._attempt(body, None if left_s == inf else left_s)
            except grpc.aio.AioRpcError as refused:
                pause_s = self._pause(attempt)
                if not self._may_repeat(refused, attempt, pause_s, deadline):
                    raise self._error(refused, name, attempt, deadline) from refused
            await self._options.wait(pause_s)
        raise AssertionError("counting has no end")

    async def _attempt(self, body: bytes, timeout_s: float | None) -> bytes:
        call = partial(
            self._channel().call, body, timeout=timeout_s, metadata=self._options.headers
        )
        answer: bytes = await (call() if self._hedging is None else self._hedging.ask(call))
        return answer

    def close(self) -> None:
        """Give up every channel. Later calls open new ones."""
        self._open.clear()

    def _channel(self) -> _Open:
        loop = asyncio.get_running_loop()
        found = self._open.get(loop)
        if found is None:
            self._open = {each: it for each, it in self._open.items() if not each.is_closed()}
            found = self._open[loop] = self._opened()
        return found

    def _opened(self) -> _Open:
        options = self._options
        are_several = "," in self.address
        self.look_up()
        channel = channel_to(
            self._target,
            ChannelOptions(
                max_receive_bytes=options.max_answer_mb * MIB,
                attempts=1,  # repeated here: gRPC knows attempts, but neither budget nor patience
                max_backoff_ms=_LONGEST_BACKOFF_MS,
                watch_health=are_several,
                eject_after_ms=options.eject_after_ms,
                tls=options.tls,
            ),
        )
        return _Open(channel, channel.unary_unary(self._method.path))

    def _pause(self, attempt: int) -> float:
        """None before the first repetition where another server may answer at once."""
        if attempt == 1 and "," in self.address:
            return 0.0
        return pause(
            attempt, self._options.chance(), first_s=_FIRST_PAUSE_S, longest_s=_LONGEST_PAUSE_S
        )

    def _may_repeat(
        self, refused: grpc.aio.AioRpcError, attempt: int, pause_s: float, deadline: Deadline
    ) -> bool:
        left_s = deadline.remaining_s()
        return (
            refused.code() in AWAY
            and attempt < _ATTEMPTS
            and pause_s < left_s
            and (left_s == inf or left_s >= _LEAST_LEFT * deadline.budget_ms / 1000)
            and not _trailing(refused, PUSHBACK).startswith("-")
            and self._budget.take()
        )

    def _error(
        self, refused: grpc.aio.AioRpcError, name: str, attempts: int, deadline: Deadline
    ) -> InferflowError:
        code, said = refused.code(), _shortened(refused.details() or "")
        if code in AWAY:
            return Unreachable(self.address, attempts, said.rpartition("last error: ")[2])
        if code is grpc.StatusCode.DEADLINE_EXCEEDED:
            return self._late(name, deadline)
        wait_ms = _trailing(refused, RETRY_AFTER)
        if code is grpc.StatusCode.RESOURCE_EXHAUSTED and wait_ms.isdecimal():
            return Overloaded(None, retry_after_ms=int(wait_ms))
        return self._method.failed(name, f"{self.address} answered {code.name}: {said}")

    def _late(self, name: str, deadline: Deadline) -> DeadlinePassed:
        what = f"{self._method.what} {name!r} at {self.address}"
        return DeadlinePassed(what, deadline.budget_ms)


def _trailing(refused: grpc.aio.AioRpcError, name: str) -> str:
    found: Sequence[tuple[str, str | bytes]] = tuple(refused.trailing_metadata() or ())
    return str(dict(found).get(name, ""))


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _SHORT else text[: _SHORT - 1] + "…"
