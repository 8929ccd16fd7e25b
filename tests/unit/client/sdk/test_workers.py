"""Which worker is asked first."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.client.sdk.sessions import lifetime
from inferflow.client.sdk.workers import Worker, Workers, order
from inferflow.rpc.options import ChannelOptions
from inferflow.testing import ManualClock


def in_a_loop(use: Callable[[Workers], Any]) -> Any:
    async def main() -> Any:
        workers = Workers(ChannelOptions())
        try:
            return use(workers)
        finally:
            await workers.close()

    return asyncio.run(main())


def names(workers: list[Worker]) -> list[str]:
    return [worker.worker_id for worker in workers]


def test_a_worker_that_failed_comes_last_for_longer_each_time_until_it_answers() -> None:
    def use(workers: Workers) -> None:
        clock = ManualClock()
        first, second = (workers.get(name, "127.0.0.1:1") for name in ("first", "second"))
        for away_s in (1, 2, 4):
            first.failed(clock())
            assert names(order([first, second], clock, sticky=False)) == ["second", "first"]
            clock.advance(away_s)
            assert names(order([first, second], clock, sticky=False)) == ["first", "second"]
        first.answered()
        first.failed(clock())
        clock.advance(1)
        assert not first.is_away(clock())

    in_a_loop(use)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3)), max_size=6))
def test_the_order_is_the_obvious_one(states: list[tuple[bool, int]]) -> None:
    def use(workers: Workers) -> None:
        clock = ManualClock(10.0)
        made = []
        for number, (is_away, in_flight) in enumerate(states):
            worker = workers.get(str(number), "127.0.0.1:1")
            worker.in_flight = in_flight
            if is_away:
                worker.failed(clock())
            made.append(worker)
        numbers = range(len(states))
        assert names(order(made, clock, sticky=True)) == [
            str(n) for away in (False, True) for n in numbers if states[n][0] is away
        ]
        assert names(order(made, clock, sticky=False)) == [
            str(n)
            for away in (False, True)
            for load in range(4)
            for n in numbers
            if states[n] == (away, load)
        ]

    in_a_loop(use)


def test_a_connection_ends_with_the_last_who_names_its_worker() -> None:
    def use(workers: Workers) -> None:
        held = workers.get("a", "127.0.0.1:1")
        assert workers.get("a", "127.0.0.1:1") is held
        assert workers.get("a", "127.0.0.1:2") is not held
        channel = weakref.ref(held.channel)
        del held
        gc.collect()
        assert channel() is None

    in_a_loop(use)


@pytest.mark.scenario("J3")
def test_tokens_are_replaced_in_time_whatever_this_clock_says() -> None:
    assert lifetime(300_000, 0.0) == (15.0, 300.0)
    assert lifetime(20_000, 0.0) == (10.0, 20.0)
    assert lifetime(300_000, 10_000.0) == (1.0, 2.0)  # a clock that runs hours ahead
