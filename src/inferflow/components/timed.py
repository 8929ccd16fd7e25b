"""Notes in a step's record how often a port was asked, how long it took and what failed."""

from __future__ import annotations

from collections.abc import Awaitable
from time import perf_counter
from typing import TypeVar

from inferflow.engine.recording import StepRecord

Answer = TypeVar("Answer")


def timed(call: Awaitable[Answer], record: StepRecord | None) -> Awaitable[Answer]:
    """The call itself when nobody watches."""
    return call if record is None else _timed(call, record)


async def _timed(call: Awaitable[Answer], record: StepRecord) -> Answer:
    began = perf_counter()
    record.calls += 1
    try:
        return await call
    except BaseException as broken:
        record.failed_calls += 1
        record.failure = type(broken).__name__
        raise
    finally:
        record.calls_us += (perf_counter() - began) * 1e6
