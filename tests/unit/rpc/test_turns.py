"""Taking turns on the event loop. The clock moves a little with each look at it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from inferflow.errors import Overloaded
from inferflow.rpc.admission import Patience
from inferflow.rpc.turns import Turns

from ...robustness.scenario import StartScenario

LONG = 60.0
CALL_S = 0.004


class Ticking:
    """A tenth of a millisecond passes from look to look."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 0.0001
        return self.now


class House:
    """Calls that each use the loop for four milliseconds, unless told otherwise."""

    def __init__(self, max_wait_s: float = 0.25, call_s: float = CALL_S) -> None:
        self.clock = Ticking()
        self.call_s = call_s
        patience = Patience(max_wait_s)
        patience.average_s = call_s
        self.turns = Turns(patience, clock=self.clock, pause=self.pause)
        self.served: list[Any] = []
        self.events: list[str] = []

    async def call(self, name: Any, left_s: float = LONG) -> None:
        self.turns.came()
        await self.turns.take(left_s)
        self.served.append(name)
        self.events.append(f"scored {name}")
        self.clock.now += self.call_s
        await self.turns.worked(self.call_s)
        self.events.append(f"sent {name}")

    async def pause(self, seconds: float) -> None:
        self.clock.now += seconds
        await asyncio.sleep(0)

    async def work(self, calls: int) -> None:
        """So many calls, one right after the other."""
        for number in range(calls):
            await self.call(number)
        self.served.clear()
        self.events.clear()


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(test)


def test_a_loop_that_had_a_break_serves_at_once() -> None:
    async def test() -> None:
        house = House()
        for name in range(20):
            house.clock.now += 0.01
            call = house.call(name)
            with pytest.raises(StopIteration):
                call.send(None)  # it ends without ever waiting
        assert house.served == list(range(20))

    run(test())


def test_without_a_break_calls_are_served_in_the_order_they_came() -> None:
    async def test() -> None:
        house = House()
        await house.work(5)
        await asyncio.gather(*[house.call(name) for name in range(30)])
        assert house.served == list(range(30))

    run(test())


def test_all_that_have_come_are_let_in_before_the_next_is_served() -> None:
    async def test() -> None:
        house = House()
        await house.work(5)
        first = asyncio.ensure_future(house.call("first"))
        await asyncio.sleep(0)
        others = [asyncio.ensure_future(house.call(name)) for name in range(5)]
        await asyncio.sleep(0)
        assert house.served == []
        await asyncio.gather(first, *others)
        assert house.served == ["first", 0, 1, 2, 3, 4]

    run(test())


def test_those_who_would_wait_too_long_are_refused_and_the_others_served() -> None:
    async def test() -> None:
        house = House(max_wait_s=0.04)
        await house.work(5)
        ended = await asyncio.gather(
            *[house.call(name) for name in range(50)], return_exceptions=True
        )
        refused = [name for name, error in enumerate(ended) if isinstance(error, Overloaded)]
        # The wait for ten calls of four milliseconds each is as long as it may be.
        assert house.served == list(range(11))
        assert refused == list(range(11, 50))
        await house.call("next")

    run(test())


def test_that_the_loop_was_busy_is_not_forgotten_while_others_are_let_in() -> None:
    async def test() -> None:
        house = House(max_wait_s=0.01)
        await house.work(5)
        first = asyncio.ensure_future(house.call("first"))
        for _ in range(11):  # of a millisecond each
            house.turns.came()
            await asyncio.sleep(0)
        assert house.served == []
        ended = await asyncio.gather(
            *[house.call(name) for name in range(10)], return_exceptions=True
        )
        await first
        assert [isinstance(error, Overloaded) for error in ended] == [False] * 3 + [True] * 7

    run(test())


def test_a_call_with_little_time_left_is_refused_first(scenario: StartScenario) -> None:
    tried = scenario("I2", "a call with 45 ms left behind ten that last longer")

    async def test() -> None:
        house = House()
        await house.work(5)
        patient = [house.call(name) for name in range(10)]
        ended = await asyncio.gather(
            *patient, house.call("hasty", left_s=0.045), return_exceptions=True
        )
        assert isinstance(ended[-1], Overloaded)
        tried.none("late call is run", set(house.served) - set(range(10)))
        assert house.served == list(range(10))

    run(test())


def test_quick_calls_are_scored_together_before_their_answers_are_sent() -> None:
    async def test() -> None:
        house = House(call_s=0.00062)
        await house.work(33)
        await asyncio.gather(*[house.call(name) for name in range(12)])
        assert house.events == [
            *(f"scored {name}" for name in range(8)),
            *(f"sent {name}" for name in range(8)),
            *(f"scored {name}" for name in range(8, 12)),
            *(f"sent {name}" for name in range(8, 12)),
        ]

    run(test())


def test_the_answer_of_a_slow_call_does_not_wait_for_others_to_be_scored() -> None:
    async def test() -> None:
        house = House(call_s=0.009)
        await house.work(3)
        await asyncio.gather(*[house.call(name) for name in range(3)])
        assert house.events == [
            "scored 0",
            "sent 0",
            "scored 1",
            "sent 1",
            "scored 2",
            "sent 2",
        ]

    run(test())


def test_work_for_a_call_that_goes_on_elsewhere_counts_like_any_other() -> None:
    async def test() -> None:
        house = House()
        house.turns.note_work(0.021)
        calls = [asyncio.ensure_future(house.call(name)) for name in range(2)]
        await asyncio.sleep(0)
        assert house.served == []  # others are let in first
        await asyncio.gather(*calls)
        assert house.served == [0, 1]

    run(test())


def test_a_queue_is_full_when_the_next_would_wait_too_long() -> None:
    async def test() -> None:
        house = House(max_wait_s=0.04)
        await house.work(5)
        calls = [asyncio.ensure_future(house.call(name)) for name in range(11)]
        assert not house.turns.is_full
        await asyncio.sleep(0)
        assert house.turns.is_full
        assert house.turns.wait_s == pytest.approx(11 * CALL_S)
        await asyncio.gather(*calls)
        assert not house.turns.is_full

    run(test())


def test_who_gives_up_is_passed_over() -> None:
    async def test() -> None:
        house = House()
        await house.work(5)
        calls = [asyncio.ensure_future(house.call(name)) for name in range(3)]
        await asyncio.sleep(0)
        calls[1].cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        assert house.served == [0, 2]
        await house.call("next")
        assert house.served == [0, 2, "next"]

    run(test())


def test_somebody_is_served_although_others_never_stop_coming() -> None:
    async def test() -> None:
        house = House()
        await house.work(5)
        call = asyncio.ensure_future(house.call("patient"))
        for _ in range(10_000):
            house.turns.came()
            await asyncio.sleep(0)
            if call.done():
                break
        assert house.served == ["patient"]

    run(test())


def test_before_the_door_is_closed_all_are_let_in_and_served_only_then() -> None:
    async def test() -> None:
        house = House()
        held = asyncio.ensure_future(house.turns.hold())
        await asyncio.sleep(0)
        calls = [asyncio.ensure_future(house.call(name)) for name in range(3)]
        await held
        # Here the server closes its door, before it waits for anything.
        assert house.served == []
        await asyncio.gather(*calls)
        assert house.served == [0, 1, 2]
        await house.call("another")

    run(test())
