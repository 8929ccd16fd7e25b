"""The watchdog stops what is late and leaves the rest alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from inferflow.serving.runtime.watchdog import Watchdog

PATIENCE_S = 60
"""How long a test waits for something that must happen."""


@pytest.fixture
def watchdog() -> Iterator[Watchdog]:
    dog = Watchdog()
    yield dog
    dog.close()


def test_work_past_its_time_is_stopped(watchdog: Watchdog) -> None:
    stopped = threading.Event()
    watchdog.arm(0.0, stopped.set)
    assert stopped.wait(PATIENCE_S)


def test_work_that_ended_is_not_stopped(watchdog: Watchdog) -> None:
    ended, late = threading.Event(), threading.Event()
    watchdog.disarm(watchdog.arm(0.01, ended.set))
    watchdog.arm(0.02, late.set)
    assert late.wait(PATIENCE_S)
    assert not ended.is_set()


def test_everything_can_be_stopped_before_its_time(watchdog: Watchdog) -> None:
    ended, running = threading.Event(), threading.Event()
    watchdog.disarm(watchdog.arm(10_000.0, ended.set))
    armed = watchdog.arm(10_000.0, running.set)
    watchdog.stop_all()
    assert running.is_set()
    assert not ended.is_set()
    assert not watchdog.disarm(armed)


def test_a_nearer_deadline_is_not_held_up_by_a_farther_one(watchdog: Watchdog) -> None:
    far, near = threading.Event(), threading.Event()
    watchdog.arm(10_000.0, far.set)
    watchdog.arm(0.0, near.set)
    assert near.wait(PATIENCE_S)
    assert not far.is_set()


def test_many_deadlines_from_many_threads_are_all_kept(watchdog: Watchdog) -> None:
    stopped = [threading.Event() for _ in range(200)]

    def arm(start: int) -> None:
        for index in range(start, len(stopped), 4):
            watchdog.arm(index % 7 / 1000, stopped[index].set)

    threads = [threading.Thread(target=arm, args=(start,)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(event.wait(PATIENCE_S) for event in stopped)


def test_disarming_twice_does_no_harm(watchdog: Watchdog) -> None:
    key = watchdog.arm(10_000.0, lambda: None)
    watchdog.disarm(key)
    watchdog.disarm(key)


def test_disarming_tells_whether_the_work_may_still_be_stopped(watchdog: Watchdog) -> None:
    assert watchdog.disarm(watchdog.arm(10_000.0, lambda: None))
    stopped = threading.Event()
    key = watchdog.arm(0.0, stopped.set)
    assert stopped.wait(PATIENCE_S)
    assert not watchdog.disarm(key)


def test_no_thread_runs_before_the_first_deadline_or_after_closing() -> None:
    before = threading.active_count()
    dog = Watchdog()
    assert threading.active_count() == before
    dog.arm(10_000.0, lambda: None)
    assert threading.active_count() == before + 1
    dog.close()
    assert threading.active_count() == before
    dog.arm(0.0, lambda: None)
    assert threading.active_count() == before
    dog.close()
