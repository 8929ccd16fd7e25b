"""Which runs are made on the event loop."""

from __future__ import annotations

from inferflow.serving.worker.queue import BatchRules
from inferflow.serving.worker.short_runs import ShortRuns

ALONE = BatchRules()
TOGETHER = BatchRules(max_rows=64)


def learned(seconds: float, rules: BatchRules = ALONE, rows: int = 1) -> ShortRuns:
    """A limit of 1 s, and enough runs of one request each to know better."""
    short = ShortRuns(1.0, rules)
    for _ in range(3):
        short.add(1, rows, seconds)
    return short


def test_a_model_that_has_hardly_run_is_not_taken_for_a_quick_one() -> None:
    short = ShortRuns(1.0, ALONE)
    for _ in range(2):
        short.add(1, 1, 0.1)
        assert not short.covers(1)
    short.add(1, 1, 0.1)
    assert short.covers(1)


def test_a_run_is_short_up_to_the_limit_for_as_many_rows_as_it_has() -> None:
    short = learned(0.1, rows=10)
    assert short.covers(100)
    assert not short.covers(101)


def test_where_requests_are_put_together_half_as_long_is_short() -> None:
    assert learned(0.9).covers(1)
    assert not learned(0.9, TOGETHER).covers(1)
    assert learned(0.5, TOGETHER).covers(1)


def test_what_several_requests_took_together_says_nothing_about_one() -> None:
    short = learned(0.1, TOGETHER)
    for _ in range(50):
        short.add(10, 640, 5.0)
    assert short.covers(1)


def test_the_first_runs_are_of_one_request_and_later_one_in_many() -> None:
    short = ShortRuns(1.0, TOGETHER)
    for _ in range(3):
        assert short.wants_sample
        short.add(1, 1, 0.9)
    runs = 0
    while not short.wants_sample:
        short.add(8, 8, 0.9)
        runs += 1
    assert runs == 64
    short.add(1, 1, 0.9)
    assert not short.wants_sample


def test_a_model_taken_for_a_slow_one_can_show_that_it_is_not() -> None:
    short = learned(5.0, TOGETHER)
    assert not short.covers(1)
    samples = 0
    while not short.covers(1):
        assert samples < 50
        short.add(1, 1, 0.1)
        samples += 1


def test_after_a_run_that_held_up_the_loop_there_are_none_for_a_while() -> None:
    short = learned(0.1, TOGETHER)
    short.distrust()
    runs = 0
    while not short.covers(1):
        short.add(8, 8, 0.1)
        runs += 1
    assert runs == 200 / 8


def test_without_a_limit_or_with_a_delay_nothing_is_short_and_no_sample_is_taken() -> None:
    waits = BatchRules(max_rows=64, max_delay_s=0.01)
    for short in (ShortRuns(0.0, TOGETHER), ShortRuns(1.0, waits)):
        for _ in range(200):
            assert not short.wants_sample
            assert not short.covers(1)
            short.add(1, 1, 0.0)
