"""Requests that wait to be logged: what there is room for, and when they are worth a wake-up."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from inferflow.inferlog.queue import MANY, LogQueue
from inferflow.inferlog.taken import Taken


def taken(size: int = 10) -> Taken:
    """A queue looks at nothing but the size."""
    some: Any = SimpleNamespace(size=size)
    return cast(Taken, some)


@pytest.fixture
def queue() -> LogQueue:
    return LogQueue(most=1_000, most_bytes=100_000)


def test_what_is_put_in_comes_out_in_its_order(queue: LogQueue) -> None:
    items = [taken() for _ in range(5)]
    assert not queue.wait(0)
    assert all(queue.offer(each) for each in items)
    assert queue.wait(0)
    assert [queue.take() for _ in range(6)] == [*items, None]
    assert not queue.wait(0)


@pytest.mark.parametrize(("most", "most_bytes"), [(3, 1_000), (100, 35)])
def test_when_it_is_full_new_ones_stay_out_until_one_is_taken(most: int, most_bytes: int) -> None:
    queue = LogQueue(most=most, most_bytes=most_bytes)
    assert [queue.offer(taken()) for _ in range(5)] == [True] * 3 + [False] * 2
    queue.take()
    assert queue.offer(taken())
    assert not queue.offer(taken())


def test_a_few_can_wait_and_many_cannot(queue: LogQueue) -> None:
    for _ in range(MANY - 1):
        queue.offer(taken())
    assert not queue.linger(0)
    queue.offer(taken())
    assert queue.linger(0)
    while queue.take() is not None:
        pass
    assert not queue.linger(0)


def test_neither_can_large_ones(queue: LogQueue) -> None:
    queue.offer(taken(50_000))
    assert not queue.linger(0)
    queue.offer(taken(1))
    assert queue.linger(0)


def test_whoever_ends_does_not_wait(queue: LogQueue) -> None:
    queue.wake()
    assert queue.wait(0)
    assert queue.linger(0)
