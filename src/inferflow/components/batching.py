"""Several calls for one request. One that fails costs its own rows and no others.

In this process they are made one after another, for they would only wait for each other; calls
that leave it are under way together, up to a bound that keeps one request from taking a server
for itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from inferflow.engine.ports import MODEL_FAILURES
from inferflow.errors import ComputeFailed, InferflowError, StoreFailed

T = TypeVar("T")
Call = Callable[[], Awaitable[T]]

_FAILURES = (*MODEL_FAILURES, StoreFailed, ComputeFailed)
"""How a call may end without an answer."""
AT_ONCE = 16
"""Calls of one step of one request that may be under way."""


async def answers(
    calls: Sequence[Call[T]], *, together: bool, gives_up: Callable[[], bool]
) -> list[T | InferflowError]:
    """What each call gave, in their order: an answer, or why there is none. A failure is raised,
    and what is under way stopped, when `gives_up` says so."""
    if not together or len(calls) < 2:
        return [await _answer(call, gives_up) for call in calls]
    found: list[T | InferflowError | None] = [None] * len(calls)
    left = iter(enumerate(calls))

    async def work() -> None:
        for at, call in left:
            found[at] = await _answer(call, gives_up)

    workers = [asyncio.ensure_future(work()) for _ in range(min(AT_ONCE, len(calls)))]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
    return [each for each in found if each is not None]


async def _answer(call: Call[T], gives_up: Callable[[], bool]) -> T | InferflowError:
    try:
        return await call()
    except _FAILURES as failed:
        if gives_up():
            raise
        return failed
