"""The client of a fleet, for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from math import isnan
from types import TracebackType
from typing import Any

from inferflow.client.sdk.fleet import Fleet, FleetOptions
from inferflow.client.sdk.managers import listed
from inferflow.client.sdk.sessions import Wanted
from inferflow.client.sdk.streaming import Stream
from inferflow.client.sdk.tensors import Asked, Inputs, Outputs
from inferflow.engine.deadline import Deadline
from inferflow.errors import InvalidInput, InvalidRequest

AHEAD = 8


@dataclass(frozen=True, slots=True)
class Call:
    """What a call asks for beside its tensors."""

    wanted: Wanted
    asked: Asked
    deadline_ms: float | None


class AsyncFleetClient:
    """A client for the event loop it was made in. Close it, or use it in `async with`."""

    def __init__(
        self,
        managers: str | Sequence[str],
        *,
        key: str = "",
        deadline_ms: float | None = 1_000.0,
        options: FleetOptions | None = None,
    ) -> None:
        self._deadline_ms = _milliseconds(deadline_ms)
        self._fleet = Fleet(listed(managers), key, options)
        self._is_closed = False

    async def infer(
        self,
        model: str,
        inputs: Inputs,
        *,
        version: str | int | None = None,
        stage: str | None = None,
        affinity: str | None = None,
        needs_gpu: bool = False,
        outputs: Sequence[str] | None = None,
        deadline_ms: float | None = None,
    ) -> Outputs:
        """Run a model on arrays by the names of its inputs; its outputs by theirs.

        The version in production answers unless a `version` or a `stage` is named. Calls with the
        same `affinity` go to the same worker while it is there. Arrays of the answer are read-only.
        """
        call = self.call(model, version, stage, affinity, needs_gpu, outputs, deadline_ms)
        body = call.asked.body(inputs)
        deadline = Deadline(call.deadline_ms)
        try:
            return call.asked.read(await self._fleet.ask(call.wanted, body, deadline))
        except asyncio.CancelledError:
            raise self._closed_meanwhile() from None

    async def stream(
        self,
        model: str,
        inputs: AsyncIterable[Inputs] | Iterable[Inputs],
        *,
        version: str | int | None = None,
        stage: str | None = None,
        affinity: str | None = None,
        needs_gpu: bool = False,
        outputs: Sequence[str] | None = None,
        deadline_ms: float | None = None,
        ahead: int = AHEAD,
    ) -> AsyncGenerator[Outputs, None]:
        """Run a model on one set of inputs after another, over one connection.

        Answers come in the order of the inputs, of which up to `ahead` are under way. `deadline_ms`
        is what each may take. The first that fails ends the stream with its error.
        """
        if ahead < 1:
            raise InvalidRequest("ahead", f"{ahead}: at least one is under way")
        call = self.call(model, version, stage, affinity, needs_gpu, outputs, deadline_ms)
        bodies = _bodies(call.asked, inputs)
        stream = Stream(self._fleet, call.wanted, bodies, deadline_ms=call.deadline_ms, ahead=ahead)
        answers = stream.answers()
        try:
            async for answer in answers:
                yield call.asked.read(answer)
        except asyncio.CancelledError:
            raise self._closed_meanwhile() from None
        finally:
            await answers.aclose()

    def call(
        self,
        model: str,
        version: str | int | None,
        stage: str | None,
        affinity: str | None,
        needs_gpu: bool,
        outputs: Sequence[str] | None,
        deadline_ms: float | None,
    ) -> Call:
        if self._is_closed:
            raise InvalidInput("this client is closed")
        wanted = Wanted(
            model, "" if version is None else str(version), stage or "", affinity or "", needs_gpu
        )
        given = self._deadline_ms if deadline_ms is None else _milliseconds(deadline_ms)
        return Call(wanted, Asked(model, outputs), given)

    def _closed_meanwhile(self) -> BaseException:
        """Closing cancels calls without their tasks having been cancelled."""
        task = asyncio.current_task()
        if not self._is_closed or (task is not None and task.cancelling()):
            return asyncio.CancelledError()
        return InvalidInput("this client was closed during the call")

    async def close(self) -> None:
        """Calls under way are cancelled."""
        self._is_closed = True
        await self._fleet.close()

    async def __aenter__(self) -> AsyncFleetClient:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()


async def _bodies(
    asked: Asked, inputs: AsyncIterable[Inputs] | Iterable[Inputs]
) -> AsyncIterator[bytes]:
    if isinstance(inputs, AsyncIterable):
        async for each in inputs:
            yield asked.body(each)
    else:
        for each in inputs:
            yield asked.body(each)


def _milliseconds(given: Any) -> float | None:
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float) or isnan(given):
        raise InvalidRequest("deadline_ms", f"{given!r} is not a number of milliseconds")
    return float(given)
