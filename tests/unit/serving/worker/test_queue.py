"""Which requests run together, and when."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.errors import Overloaded
from inferflow.serving.worker.queue import Batch, BatchQueue, BatchRules, Release


def queue(**rules: Any) -> BatchQueue[str]:
    return BatchQueue(BatchRules(**{"max_rows": 8, **rules}))


def add(to: BatchQueue[str], work: str, **facts: Any) -> Any:
    return to.add(work, **{"rows": 1, "shape": "s", "now": 0.0, **facts})


def works(batch: Batch[str] | None) -> list[str]:
    assert batch is not None
    return [member.work for member in batch.members]


def test_nothing_is_released_when_nothing_waits() -> None:
    assert queue().take(0.0) is None
    assert queue().wakes_at(0.0) == math.inf


def test_a_lone_request_runs_at_once_when_no_delay_is_allowed() -> None:
    waiting = queue()
    add(waiting, "a")
    batch = waiting.take(0.0)
    assert works(batch) == ["a"]
    assert batch is not None
    assert batch.reason is Release.ALONE


def test_what_waits_anyway_is_put_together_without_any_delay() -> None:
    waiting = queue()
    for work in "abc":
        add(waiting, work)
    batch = waiting.take(0.0)
    assert works(batch) == ["a", "b", "c"]
    assert batch is not None
    assert batch.reason is Release.DELAY


def test_requests_are_never_put_together_with_a_batch_of_one() -> None:
    waiting = queue(max_rows=1)
    add(waiting, "a")
    add(waiting, "b")
    assert works(waiting.take(0.0)) == ["a"]
    assert works(waiting.take(0.0)) == ["b"]


def test_with_a_delay_a_request_waits_for_company_until_it_has_passed() -> None:
    waiting = queue(max_delay_s=0.01)
    add(waiting, "a")
    assert waiting.take(0.005) is None
    assert waiting.wakes_at(0.005) == 0.01
    add(waiting, "b", now=0.005)
    batch = waiting.take(0.01)
    assert works(batch) == ["a", "b"]
    assert batch is not None
    assert batch.reason is Release.DELAY


def test_a_full_batch_does_not_wait() -> None:
    waiting = queue(max_rows=4, max_delay_s=1.0)
    add(waiting, "a", rows=2)
    add(waiting, "b", rows=2)
    add(waiting, "c", rows=2)
    batch = waiting.take(0.0)
    assert works(batch) == ["a", "b"]
    assert batch is not None
    assert batch.reason is Release.FULL
    assert waiting.take(0.0) is None


def test_a_batch_is_full_when_the_next_request_does_not_fit() -> None:
    waiting = queue(max_rows=4, max_delay_s=1.0)
    add(waiting, "a", rows=3)
    add(waiting, "b", rows=3)
    batch = waiting.take(0.0)
    assert works(batch) == ["a"]
    assert batch is not None
    assert batch.reason is Release.FULL


def test_a_request_larger_than_a_batch_runs_by_itself() -> None:
    waiting = queue(max_rows=4, max_delay_s=1.0)
    add(waiting, "large", rows=100)
    add(waiting, "small")
    assert works(waiting.take(0.0)) == ["large"]


def test_the_largest_preferred_size_is_released_at_once() -> None:
    waiting = queue(max_delay_s=1.0, preferred=(2, 4))
    for work in "abcde":
        add(waiting, work)
    batch = waiting.take(0.0)
    assert works(batch) == ["a", "b", "c", "d"]
    assert batch is not None
    assert batch.reason is Release.PREFERRED
    assert waiting.take(0.0) is None


def test_a_deadline_that_is_near_ends_the_wait() -> None:
    waiting = queue(max_delay_s=1.0)
    add(waiting, "a", deadline=0.5)
    assert waiting.take(0.3, run_s=0.1) is None
    assert waiting.wakes_at(0.3, run_s=0.1) == pytest.approx(0.4)
    batch = waiting.take(0.4, run_s=0.1)
    assert batch is not None
    assert batch.reason is Release.DEADLINE


def test_nobody_waits_for_company_when_no_more_will_come() -> None:
    waiting = queue(max_delay_s=1.0)
    add(waiting, "a")
    batch = waiting.take(0.0, draining=True)
    assert batch is not None
    assert batch.reason is Release.DRAIN


def test_a_sample_is_the_request_whose_turn_it_is_by_itself() -> None:
    waiting = queue()
    for work in "abc":
        add(waiting, work, rows=2)
    assert waiting.next_rows == 2
    batch = waiting.take(0.0, sample=True)
    assert works(batch) == ["a"]
    assert batch is not None
    assert batch.reason is Release.SAMPLE
    assert works(waiting.take(0.0)) == ["b", "c"]


def test_only_requests_of_one_shape_share_a_batch() -> None:
    waiting = queue()
    add(waiting, "a", shape="wide")
    add(waiting, "b", shape="narrow")
    add(waiting, "c", shape="wide")
    assert works(waiting.take(0.0)) == ["a", "c"]
    assert works(waiting.take(0.0)) == ["b"]


def test_a_lower_number_is_more_urgent_and_0_is_the_default() -> None:
    waiting = queue(max_rows=1)
    for work, priority in (("late", 5), ("default", 0), ("second", 2), ("first", 1)):
        add(waiting, work, priority=priority)
    taken = [works(waiting.take(0.0))[0] for _ in range(4)]
    assert taken == ["first", "default", "second", "late"]


def test_only_what_would_go_before_counts_as_ahead() -> None:
    waiting = queue()
    add(waiting, "a", priority=1, rows=3)
    add(waiting, "b", priority=7, rows=5)
    assert [waiting.rows_ahead(each) for each in (1, 0, 7)] == [3, 3, 8]


def test_a_full_queue_refuses_and_says_when_to_come_back() -> None:
    waiting = queue(queue_limit=1)
    add(waiting, "a")
    with pytest.raises(Overloaded) as refused:
        add(waiting, "b")
    assert refused.value.retry_after_ms == 100
    assert len(waiting) == 1


def test_a_request_gives_up_at_the_earliest_of_its_limits() -> None:
    waiting = queue(queue_timeout_s=0.5)
    assert add(waiting, "own", timeout_s=0.1).gives_up == pytest.approx(0.1)
    assert add(waiting, "rule").gives_up == pytest.approx(0.5)
    assert add(waiting, "deadline", deadline=0.2).gives_up == pytest.approx(0.2)
    assert [each.work for each in waiting.expired(0.2)] == ["own", "deadline"]
    assert len(waiting) == 1


def test_a_request_whose_caller_has_left_is_taken_out() -> None:
    waiting = queue()
    first = add(waiting, "a")
    add(waiting, "b")
    assert waiting.discard(first)
    assert not waiting.discard(first)
    assert works(waiting.take(0.0)) == ["b"]


arrivals = st.lists(
    st.tuples(
        st.integers(1, 5),  # rows
        st.sampled_from("xyz"),  # shape
        st.integers(0, 3),  # priority
        st.floats(0, 1, allow_nan=False),  # arrival
        st.one_of(st.none(), st.floats(0, 1, allow_nan=False)),  # queue timeout
    ),
    max_size=20,
)
rules = st.builds(
    BatchRules,
    max_rows=st.integers(1, 8),
    max_delay_s=st.sampled_from([0.0, 0.1, 0.5]),
    preferred=st.lists(st.integers(1, 8), max_size=2).map(tuple),
)


@given(arrivals, rules)
def test_every_request_leaves_exactly_once_in_a_batch_that_keeps_the_rules(
    arriving: list[tuple[int, str, int, float, float | None]], chosen: BatchRules
) -> None:
    waiting: BatchQueue[int] = BatchQueue(chosen)
    left: list[int] = []
    ordered = sorted(enumerate(arriving), key=lambda each: each[1][3])
    moments = sorted({each[3] for _, each in ordered} | {0.25, 0.5, 0.75, 1.0, 2.0})
    for now in moments:
        for number, (rows, shape, priority, arrived, timeout) in ordered:
            if arrived == now:
                waiting.add(
                    number, rows=rows, shape=shape, now=now, priority=priority, timeout_s=timeout
                )
        left += [each.work for each in waiting.expired(now)]
        while (batch := waiting.take(now)) is not None:
            check_batch(batch, chosen)
            left += [member.work for member in batch.members]
        assert len(waiting) == 0 or waiting.wakes_at(now) > now
    assert len(waiting) == 0
    assert sorted(left) == list(range(len(arriving)))


def check_batch(batch: Batch[int], chosen: BatchRules) -> None:
    assert len({member.shape for member in batch.members}) == 1
    assert batch.rows <= chosen.max_rows or len(batch.members) == 1
    assert list(batch.members) == sorted(batch.members)
    if batch.reason is Release.PREFERRED:
        assert batch.rows in chosen.preferred
    if batch.reason is Release.ALONE:
        assert len(batch.members) == 1


@given(arrivals)
def test_nobody_of_the_same_shape_is_overtaken_by_someone_less_urgent(
    arriving: list[tuple[int, str, int, float, float | None]],
) -> None:
    waiting: BatchQueue[int] = BatchQueue(BatchRules(max_rows=4))
    for number, (rows, shape, priority, _, _) in enumerate(arriving):
        waiting.add(number, rows=rows, shape=shape, now=0.0, priority=priority)
    taken = []
    while (batch := waiting.take(0.0)) is not None:
        taken += batch.members
    for shape in "xyz":
        expected = sorted(
            (each[2] or 2, number) for number, each in enumerate(arriving) if each[1] == shape
        )
        assert [m.work for m in taken if m.shape == shape] == [number for _, number in expected]
