"""Several calls for one request: their order, their bound, and failures that stay their own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.components.batching import AT_ONCE, answers
from inferflow.errors import InvalidRequest, ModelFailed


def never() -> bool:
    return False


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=40), st.booleans())
def test_each_call_has_its_answer_or_its_failure_at_its_place(
    calls: list[tuple[int, bool]], together: bool
) -> None:
    async def call(number: int, turns: int, fails: bool) -> int:
        for _ in range(turns):
            await asyncio.sleep(0)
        if fails:
            raise ModelFailed("m", str(number))
        return number

    made = [partial(call, n, turns, fails) for n, (turns, fails) in enumerate(calls)]
    found: list[Any] = asyncio.run(answers(made, together=together, gives_up=never))
    assert len(found) == len(calls)
    for number, (_, fails) in enumerate(calls):
        if fails:
            assert isinstance(found[number], ModelFailed)
            assert found[number].why == str(number)
        else:
            assert found[number] == number


def under_way(count: int, *, together: bool) -> int:
    """The most calls that were under way at one time."""
    now = most = 0

    async def call() -> None:
        nonlocal now, most
        now += 1
        most = max(most, now)
        for _ in range(3):
            await asyncio.sleep(0)
        now -= 1

    asyncio.run(answers([call] * count, together=together, gives_up=never))
    return most


def test_calls_that_leave_the_process_are_under_way_together_up_to_a_bound() -> None:
    assert under_way(5, together=True) == 5
    assert under_way(200, together=True) == AT_ONCE


def test_calls_of_this_process_are_made_one_after_another() -> None:
    assert under_way(5, together=False) == 1


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize(
    ("failure", "gives_up"),
    [(ModelFailed("m", "no"), lambda: True), (InvalidRequest("x", "no"), never)],
)
def test_a_failure_that_ends_the_step_stops_the_other_calls(
    failure: Exception, gives_up: Callable[[], bool], together: bool
) -> None:
    ended: list[int] = []

    async def call(number: int) -> int:
        if number == 1:
            raise failure
        await asyncio.sleep(0)
        if number:
            await asyncio.Event().wait()
        ended.append(number)
        return number

    made = [partial(call, number) for number in range(4)]
    with pytest.raises(type(failure)):
        asyncio.run(answers(made, together=together, gives_up=gives_up))
    assert set(ended) <= {0}
