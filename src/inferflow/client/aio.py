"""The client. One channel, and every call with a deadline.

A call that met no server, or one that was leaving, is made again after a pause that doubles, as
long as its deadline and the number of attempts allow. That is safe: scoring changes nothing.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from math import inf, isnan
from types import TracebackType
from typing import Any

import grpc

from inferflow.client.columns import ValueEncoding
from inferflow.client.failures import AWAY, Refusal, error_of
from inferflow.client.incoming import incoming
from inferflow.client.outgoing import outgoing
from inferflow.engine.asking import Asking
from inferflow.engine.deadline import Deadline
from inferflow.engine.request import ScoreRequest, request_from
from inferflow.errors import DeadlinePassed, InvalidInput, InvalidRequest
from inferflow.rpc.channel import open_channel
from inferflow.rpc.headers import USER_ID
from inferflow.rpc.options import ChannelOptions
from inferflow.scores import Scores

_METHODS = ("InferPointWise", "InferPairWise", "InferSlateWise")
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 1.0

Wait = Callable[[float], Awaitable[object]]
Trailing = Mapping[str, str | bytes]


@dataclass(frozen=True, slots=True)
class ClientOptions:
    deadline_ms: float | None
    """For calls that name none; None lets them take as long as they like."""
    attempts: int
    """Tries per call, the first included."""
    values: ValueEncoding = "typed"

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise InvalidInput(f"attempts={self.attempts}: a call is made at least once")
        if self.values not in ("typed", "text"):
            raise InvalidInput(f"values={self.values!r}: 'typed' or 'text' is wanted")
        _budget(self.deadline_ms)


class AsyncClient(Asking[Coroutine[Any, Any, Scores]]):
    """A client for the event loop it was made in. Close it, or use it in `async with`."""

    def __init__(
        self,
        addresses: str | Sequence[str],
        options: ClientOptions,
        *,
        wait: Wait = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        listed = addresses.split(",") if isinstance(addresses, str) else list(addresses)
        self.addresses = ", ".join(map(str.strip, listed))
        self._options = options
        self._wait = wait
        self._chance = chance
        # Repeated here and not by gRPC, which knows attempts but no patience. With several
        # servers, one that drains is left out before it refuses calls.
        channel = ChannelOptions(attempts=1, watch_health=len(listed) > 1)
        self._channel = open_channel(listed, channel)
        self._calls: dict[str, Any] = {
            method: self._channel.unary_unary(f"/Predict/{method}") for method in _METHODS
        }
        self._is_closed = False

    async def answer(self, request: ScoreRequest | Mapping[str, Any]) -> Scores:
        """Score a request, as an object or in its JSON form."""
        if self._is_closed:
            raise InvalidInput("this client is closed")
        if not isinstance(request, ScoreRequest):
            request = request_from(request)
        given = self._options.deadline_ms if request.deadline_ms is None else request.deadline_ms
        deadline = Deadline(_budget(given))
        sent = outgoing(request, self._options.values)
        body, trailing = await self._called(sent.method, sent.body, request, deadline)
        return incoming(request.config_id, sent, body, trailing)

    async def _called(
        self, method: str, body: bytes, request: ScoreRequest, deadline: Deadline
    ) -> tuple[bytes, Trailing]:
        headers = _headers(request)
        for attempt in count(1):
            left_s = deadline.remaining_s()
            if left_s == 0:
                break
            call = self._calls[method](
                body, timeout=None if left_s == inf else left_s, metadata=headers
            )
            try:
                answer: bytes = await call
                return answer, dict(await call.trailing_metadata() or ())
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if not self._is_closed or (task is not None and task.cancelling()):
                    raise
                raise InvalidInput("this client was closed during the call") from None
            except grpc.aio.AioRpcError as refused:
                pause_s = pause(attempt, self._chance())
                may_go_on = attempt < self._options.attempts and pause_s < deadline.remaining_s()
                if refused.code() not in AWAY or not may_go_on:
                    raise error_of(self._refusal(refused, request, deadline, attempt)) from refused
            await self._wait(pause_s)
        raise DeadlinePassed(f"{request.config_id!r} at {self.addresses}", deadline.budget_ms)

    def _refusal(
        self,
        refused: grpc.aio.AioRpcError,
        request: ScoreRequest,
        deadline: Deadline,
        attempts: int,
    ) -> Refusal:
        return Refusal(
            refused.code(),
            refused.details() or "",
            dict(refused.trailing_metadata() or ()),
            request.config_id,
            self.addresses,
            deadline.budget_ms,
            attempts,
        )

    async def close(self) -> None:
        """Calls under way are cancelled."""
        self._is_closed = True
        await self._channel.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()


def pause(attempt: int, chance: float) -> float:
    """Seconds to wait after so many attempts. Between half and all of a time that doubles, so
    that clients who met the same failure do not come back together."""
    longest = min(_FIRST_PAUSE_S * 2.0 ** min(attempt - 1, 16), _LONGEST_PAUSE_S)
    return longest * (0.5 + chance / 2)


def _budget(given: Any) -> float | None:
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float) or isnan(given):
        raise InvalidRequest("deadline_ms", f"{given!r} is not a number of milliseconds")
    return float(given)


def _headers(request: ScoreRequest) -> tuple[tuple[str, str], ...]:
    who = request.user_id
    if not who:
        return ()
    if not isinstance(who, str) or not who.isascii() or not who.isprintable():
        raise InvalidRequest(
            "for_user", f"{who!r}: a header holds printable ASCII text", "give it as an entity"
        )
    return ((USER_ID, who),)
