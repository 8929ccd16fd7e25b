"""Second copies of slow calls: when they are made, who wins, and that there are few."""

from __future__ import annotations

import asyncio
import random
import selectors
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from inferflow.client.hedging import MOST_CREDIT, SHARE, Hedging

from ...robustness.scenario import StartScenario


class SkippingLoop(asyncio.SelectorEventLoop):
    """Time passes when everybody waits, and takes no time."""

    def __init__(self) -> None:
        self.now = 0.0
        super().__init__(_Skipping(self))

    def time(self) -> float:
        return self.now


class _Skipping(selectors.SelectSelector):
    def __init__(self, loop: SkippingLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[Any]:
        self._loop.now += timeout or 0.0
        return super().select(0)


def run(main: Callable[[Hedging], Coroutine[Any, Any, None]]) -> Hedging:
    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        loop = runner.get_loop()
        hedging = Hedging(clock=loop.time)
        runner.run(main(hedging))
        return hedging


class Server:
    """Takes as long as it is told, call by call, and 10 ms afterwards."""

    def __init__(self, *took_s: float) -> None:
        self.took_s = list(took_s)
        self.calls = self.cancelled = 0

    async def __call__(self) -> int:
        self.calls += 1
        mine = self.calls
        try:
            await asyncio.sleep(self.took_s.pop(0) if self.took_s else 0.01)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return mine


async def used_to(hedging: Hedging) -> None:
    """So that a call which takes longer than 10 ms is unusual, and may be copied."""
    for took_s in (0.01, 0.001):
        for _ in range(100):
            await hedging.ask(Server(took_s))
    hedging.copies = 0


def test_a_slow_call_is_overtaken_by_its_copy_and_given_up() -> None:
    async def main(hedging: Hedging) -> None:
        await used_to(hedging)
        server = Server(5.0)
        began = asyncio.get_running_loop().time()
        assert await hedging.ask(server) == 2
        assert asyncio.get_running_loop().time() - began == pytest.approx(0.02)
        assert (server.calls, server.cancelled) == (2, 1)

    assert run(main).copies == 1


def test_a_copy_that_is_slower_changes_nothing() -> None:
    async def main(hedging: Hedging) -> None:
        await used_to(hedging)
        server = Server(0.03, 5.0)
        assert await hedging.ask(server) == 1
        assert (server.calls, server.cancelled) == (2, 1)

    run(main)


def test_nothing_is_copied_before_it_is_known_what_is_usual() -> None:
    async def main(hedging: Hedging) -> None:
        for _ in range(20):
            await hedging.ask(Server())
        server = Server(5.0)
        assert await hedging.ask(server) == 1
        assert server.calls == 1

    run(main)


def test_a_failure_is_outlived_by_the_other_and_told_when_both_fail() -> None:
    async def main(hedging: Hedging) -> None:
        await used_to(hedging)
        outcomes = iter([ConnectionError("first"), None])

        async def failing() -> str:
            outcome = next(outcomes)
            await asyncio.sleep(0.5 if outcome else 1.0)
            if outcome:
                raise outcome
            return "answered"

        assert await hedging.ask(failing) == "answered"
        outcomes = iter([ConnectionError("first"), ConnectionError("second")])
        with pytest.raises(ConnectionError):
            await hedging.ask(failing)

    run(main)


def test_who_gives_up_waiting_ends_both() -> None:
    async def main(hedging: Hedging) -> None:
        await used_to(hedging)
        server = Server(5.0, 5.0)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(hedging.ask(server), 1.0)
        assert (server.calls, server.cancelled) == (2, 2)

    run(main)


@pytest.mark.parametrize("slow_share", [0.0, 0.02, 0.3, 1.0])
def test_however_slow_calls_are_few_are_copied(slow_share: float, scenario: StartScenario) -> None:
    tried = scenario("B3", "none to all of 2000 calls slow")
    chance = random.Random(7)
    calls = 2_000

    async def main(hedging: Hedging) -> None:
        await used_to(hedging)
        made = []
        for _ in range(calls):
            server = Server(1.0 if chance.random() < slow_share else 0.01)
            await hedging.ask(server)
            made.append(server.calls)
        assert sum(made) == calls + hedging.copies

    limit = SHARE * calls + MOST_CREDIT
    tried.at_most("copies, a share of calls and what was saved", run(main).copies, limit)


def test_rare_slow_calls_hardly_show_any_more(scenario: StartScenario) -> None:
    """Two in a hundred take a second; with copies, the slowest take little more than usual."""
    tried = scenario("B3", "two in a hundred calls take a second, on a clock of its own")
    chance = random.Random(3)

    async def main(hedging: Hedging) -> None:
        await used_to(hedging)
        loop = asyncio.get_running_loop()
        took = []
        for _ in range(1_000):
            began = loop.time()
            slow = chance.random() < 0.02
            await hedging.ask(Server(1.0 if slow else chance.uniform(0.005, 0.015)))
            took.append(loop.time() - began)
        tried.at_most("p99", sorted(took)[990] * 1000, 50, " ms")

    run(main)
