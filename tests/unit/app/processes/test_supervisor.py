"""Processes that are kept running."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import cast

import pytest

from inferflow.app.processes.messages import Word
from inferflow.app.processes.process import ChildProcess
from inferflow.app.processes.restarts import FIRST_WAIT_S, STABLE_S
from inferflow.app.processes.supervisor import Supervisor
from inferflow.errors import EngineFault


class Child:
    """A child that ends when the test, or whoever it obeys, says so."""

    def __init__(self, number: int, *, obeys: tuple[Word, ...], starts: bool) -> None:
        self.number = number
        self.pid = number
        self.page = f"page {number}".encode()
        self.has_started = asyncio.Event()
        if starts:
            self.has_started.set()
        self.heard: list[Word] = []
        self.state = "ready"
        self.code: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._obeys = obeys

    def say(self, word: Word) -> None:
        self.heard.append(word)
        if word in self._obeys:
            self.end(0)

    def kill(self) -> None:
        self.end(-9)

    def end(self, code: int) -> None:
        if not self.code.done():
            self.code.set_result(code)

    async def ended(self) -> int:
        return await self.code


class Yard:
    """All children that were ever started, and a clock."""

    def __init__(self, *, obeys: tuple[Word, ...] = (Word.DRAIN,), starts: bool = True) -> None:
        self.children: list[Child] = []
        self.retired: list[bytes] = []
        self.now = 0.0
        self.failures = 0
        self._obeys = obeys
        self._starts = starts
        self._more = asyncio.Condition()

    async def start(self, number: int) -> ChildProcess:
        if self.failures:
            self.failures -= 1
            raise OSError("cannot allocate memory")
        child = Child(number, obeys=self._obeys, starts=self._starts)
        async with self._more:
            self.children.append(child)
            self._more.notify_all()
        return cast(ChildProcess, child)

    async def has(self, count: int) -> None:
        async with self._more:
            await self._more.wait_for(lambda: len(self.children) >= count)

    def supervisor(self, count: int) -> Supervisor:
        return Supervisor(self.start, count, retire=self.retired.append, clock=lambda: self.now)


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def timed() -> None:
        async with asyncio.timeout(20):
            await test()

    asyncio.run(timed())


def test_as_many_run_as_are_wanted_until_they_are_ended() -> None:
    async def test() -> None:
        yard = Yard()
        supervisor = yard.supervisor(3)
        await supervisor.start()
        assert [child.number for child in yard.children] == [1, 2, 3]
        assert (supervisor.ready, supervisor.restarts) == (3, 0)
        await supervisor.end(hurry=asyncio.Event())
        assert [child.heard for child in yard.children] == [[Word.DRAIN]] * 3
        assert supervisor.children == []

    run(test)


def test_one_that_ends_is_replaced_at_once_and_its_last_page_is_kept() -> None:
    async def test() -> None:
        yard = Yard()
        supervisor = yard.supervisor(2)
        await supervisor.start()
        yard.children[1].end(-9)
        await yard.has(3)
        assert yard.children[2].number == 2
        assert yard.retired == [b"page 2"]
        assert (supervisor.restarts, len(supervisor.children)) == (1, 2)
        await supervisor.end(hurry=asyncio.Event())

    run(test)


def test_a_loop_is_slowed_and_ending_does_not_wait_for_it() -> None:
    async def test() -> None:
        yard = Yard()
        supervisor = yard.supervisor(1)
        await supervisor.start()
        yard.children[0].end(1)
        await yard.has(2)
        yard.now = STABLE_S / 2
        yard.children[1].end(1)
        while supervisor.restarts < 2:
            await asyncio.sleep(0)
        assert supervisor.places[0].restarts.wait_s == FIRST_WAIT_S
        await asyncio.sleep(0)
        assert supervisor.children == []  # it waits, instead of having been started again
        await supervisor.end(hurry=asyncio.Event())
        assert len(yard.children) == 2

    run(test)


def test_one_that_ends_before_any_has_served_ends_the_whole() -> None:
    async def test() -> None:
        yard = Yard(obeys=(Word.HURRY,), starts=False)
        supervisor = yard.supervisor(2)
        starting = asyncio.ensure_future(supervisor.start())
        await yard.has(2)
        yard.children[0].end(3)
        with pytest.raises(EngineFault, match="process 1 ended with 3 before it served"):
            await starting
        assert yard.children[1].heard == [Word.DRAIN, Word.HURRY]
        assert supervisor.children == []

    run(test)


def test_a_start_that_fails_later_is_tried_again() -> None:
    async def test() -> None:
        yard = Yard()
        supervisor = yard.supervisor(1)
        await supervisor.start()
        yard.failures = 1
        yard.now = STABLE_S
        yard.children[0].end(-9)
        await yard.has(2)
        assert supervisor.restarts == 2
        await supervisor.end(hurry=asyncio.Event())

    run(test)


def test_asked_again_they_are_told_to_hurry() -> None:
    async def test() -> None:
        yard = Yard(obeys=(Word.HURRY,))
        supervisor = yard.supervisor(2)
        await supervisor.start()
        hurry = asyncio.Event()
        ending = asyncio.ensure_future(supervisor.end(hurry=hurry))
        await asyncio.sleep(0)
        assert not ending.done()
        hurry.set()
        await ending
        assert [child.heard for child in yard.children] == [[Word.DRAIN, Word.HURRY]] * 2

    run(test)


def test_those_that_obey_nothing_are_killed_in_the_end() -> None:
    async def test() -> None:
        yard = Yard(obeys=())
        supervisor = yard.supervisor(2)
        await supervisor.start()
        await supervisor.end(hurry=asyncio.Event(), limit_s=0.01)
        assert [await child.ended() for child in yard.children] == [-9, -9]

    run(test)


def test_a_word_reaches_all_that_run() -> None:
    async def test() -> None:
        yard = Yard()
        supervisor = yard.supervisor(2)
        await supervisor.start()
        supervisor.say(Word.LOOK)
        assert [child.heard for child in yard.children] == [[Word.LOOK]] * 2
        await supervisor.end(hurry=asyncio.Event())

    run(test)
