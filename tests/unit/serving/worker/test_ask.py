"""Requests run as one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.dtypes import Array
from inferflow.engine.deadline import Deadline
from inferflow.errors import DeadlinePassed, ModelFailed
from inferflow.serving.worker.ask import Ask, run_together
from inferflow.testing import ManualClock

from .fakes import FakeLoaded, double, rows, signature


def ask(*values: float, deadline: Deadline | None = None) -> Ask:
    return Ask({"x": rows(*values)}, ("y",), deadline or Deadline(None))


@given(st.lists(st.lists(st.floats(-4, 100, width=32), min_size=1, max_size=4), min_size=1))
def test_each_request_gets_what_it_would_have_got_alone(batch: list[list[float]]) -> None:
    asks = [ask(*values) for values in batch]
    outcomes = run_together(FakeLoaded(signature()), asks).each
    for each, outcome in zip(asks, outcomes, strict=True):
        try:
            alone: Array | None = double(each.feed["x"])
        except ModelFailed:
            alone = None
        if alone is None:
            assert isinstance(outcome, ModelFailed)
        else:
            assert not isinstance(outcome, Exception)
            np.testing.assert_array_equal(outcome[0], alone)


def test_a_bad_request_fails_alone_and_the_others_are_run_again_one_by_one() -> None:
    model = FakeLoaded(signature())
    outcomes = run_together(model, [ask(1), ask(-1), ask(3)]).each
    assert [isinstance(each, ModelFailed) for each in outcomes] == [False, True, False]
    assert model.runs == [3, 1, 1, 1]


def test_an_answer_that_has_not_a_row_per_row_is_not_split() -> None:
    model = FakeLoaded(signature(), function=lambda values: values.sum(axis=0, keepdims=True))
    outcomes = run_together(model, [ask(1, 2), ask(3)])
    assert not outcomes.is_splittable
    assert [each[0][0, 0] for each in outcomes.each if not isinstance(each, Exception)] == [3, 3]


def test_a_batch_may_take_as_long_as_its_most_patient_request() -> None:
    clock = ManualClock()
    hasty, patient = Deadline(10, clock=clock), Deadline(1000, clock=clock)
    clock.advance(0.1)
    outcomes = run_together(
        FakeLoaded(signature()), [ask(1, deadline=hasty), ask(2, deadline=patient)]
    )
    assert not any(isinstance(each, Exception) for each in outcomes.each)
    clock.advance(2)
    late = run_together(FakeLoaded(signature()), [ask(1, deadline=hasty), ask(2, deadline=patient)])
    assert all(isinstance(each, DeadlinePassed) for each in late.each)


def test_inputs_without_common_rows_go_with_nobody() -> None:
    feed = {"a": rows(1, 2), "b": rows(1)}
    one, other = (Ask(feed, ("y",), Deadline(None)) for _ in range(2))
    assert one.shape != other.shape
    assert ask(1).shape == ask(2, 3).shape


@pytest.mark.parametrize(("feed", "count"), [({}, 1), ({"x": np.array(1.0)}, 1)])
def test_a_model_that_knows_no_rows_counts_as_one(feed: dict[str, Array], count: int) -> None:
    assert Ask(feed, ("y",), Deadline(None)).rows == count
