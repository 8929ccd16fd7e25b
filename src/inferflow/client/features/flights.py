"""Keys that are being asked for: whoever wants one of them too waits for the same answer.

A call goes on as long as somebody waits for it, and is cancelled when nobody does. If it fails, the
others ask for themselves: they may have more time, or more luck.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from inferflow.errors import InferflowError

Answer = TypeVar("Answer")
Ask = Callable[[Sequence[bytes]], Awaitable[Answer]]


@dataclass(slots=True, eq=False)
class _Flight(Generic[Answer]):
    task: asyncio.Task[Answer]
    waiting: int = 0

    def may_be_joined(self) -> bool:
        is_here = self.task.get_loop() is asyncio.get_running_loop()
        return is_here and not self.task.cancelling()

    async def landed(self) -> Answer:
        self.waiting += 1
        try:
            return await asyncio.shield(self.task)
        finally:
            self.waiting -= 1
            if self.waiting == 0 and not self.task.done():
                self.task.cancel()


Part = tuple[Sequence[int], Answer, Sequence[int]]
"""Positions of keys, an answer, and which rows of it are theirs."""


class Flights(Generic[Answer]):
    def __init__(self) -> None:
        self._flying: dict[bytes, tuple[_Flight[Answer], int]] = {}

    async def answers(self, keys: Sequence[bytes], ask: Ask[Answer]) -> list[Part[Answer]]:
        """What is known of each key, once, in parts. Raises what `ask` raises."""
        shared, own = self._shared(keys)
        calls = [self._joined(flight, members) for flight, members in shared.items()]
        if own:
            calls.append(self._own(keys, own, ask))
        found = await _all(calls)
        parts = [part for part in found if part is not None]
        landed = {at for part in parts for at in part[0]}
        again = [at for at in range(len(keys)) if at not in landed]
        if again:
            parts.append(await self._own(keys, again, ask))
        return parts

    def _shared(
        self, keys: Sequence[bytes]
    ) -> tuple[dict[_Flight[Answer], list[tuple[int, int]]], list[int]]:
        """Keys that are being asked for, by flight with their rows there; and the others."""
        if not self._flying:
            return {}, list(range(len(keys)))
        shared: dict[_Flight[Answer], list[tuple[int, int]]] = {}
        own: list[int] = []
        for at, key in enumerate(keys):
            found = self._flying.get(key)
            if found is not None and found[0].may_be_joined():
                shared.setdefault(found[0], []).append((at, found[1]))
            else:
                own.append(at)
        return shared, own

    async def _joined(
        self, flight: _Flight[Answer], members: Sequence[tuple[int, int]]
    ) -> Part[Answer] | None:
        try:
            answer = await flight.landed()
        except InferflowError:
            return None
        return [at for at, _ in members], answer, [row for _, row in members]

    async def _own(
        self, keys: Sequence[bytes], own: Sequence[int], ask: Ask[Answer]
    ) -> Part[Answer]:
        wanted = [keys[at] for at in own]
        flight = _Flight(asyncio.ensure_future(_run(ask, wanted)))
        for row, key in enumerate(wanted):
            self._flying[key] = (flight, row)
        flight.task.add_done_callback(lambda _: self._landed(flight, wanted))
        return own, await flight.landed(), range(len(wanted))

    def _landed(self, flight: _Flight[Answer], keys: Sequence[bytes]) -> None:
        for key in keys:
            found = self._flying.get(key)
            if found is not None and found[0] is flight:
                del self._flying[key]
        if not flight.task.cancelled():
            flight.task.exception()  # looked at, though perhaps nobody waits for it any longer


async def _run(ask: Ask[Answer], keys: Sequence[bytes]) -> Answer:
    return await ask(keys)


async def _all(calls: Sequence[Awaitable[Part[Answer] | None]]) -> list[Part[Answer] | None]:
    """All answers; the first failure of a call of our own ends the wait for the others."""
    if len(calls) == 1:
        return [await calls[0]]
    tasks = [asyncio.ensure_future(call) for call in calls]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
