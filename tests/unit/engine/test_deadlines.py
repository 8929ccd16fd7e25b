"""One deadline per request, on a clock the test moves."""

from __future__ import annotations

from typing import Any

import pytest

from inferflow.engine.deadline import Deadline
from inferflow.errors import DeadlinePassed, Fault, StepFailed

from .worlds import World, row_model
from .writing import config, feature_step, model_step, request


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def pass_ms(self, ms: float) -> None:
        self.now += ms / 1000


@pytest.fixture
def clock() -> Clock:
    return Clock()


# --- the deadline itself ------------------------------------------------------------------------


def test_a_deadline_counts_down_on_its_clock(clock: Clock) -> None:
    deadline = Deadline(50, clock=clock)
    assert deadline.remaining_s() == pytest.approx(0.05)
    clock.pass_ms(30)
    assert deadline.remaining_s() == pytest.approx(0.02)
    assert not deadline.is_past()
    clock.pass_ms(20)
    assert deadline.is_past()
    assert deadline.remaining_s() == 0
    with pytest.raises(DeadlinePassed, match="reading did not finish within 50 ms"):
        deadline.check("reading")


def test_without_a_budget_there_is_no_hurry(clock: Clock) -> None:
    deadline = Deadline(None, clock=clock)
    clock.pass_ms(1e12)
    assert not deadline.is_past()
    assert deadline.remaining_s() == float("inf")
    deadline.check("anything")


def test_a_call_gets_the_smaller_of_its_own_limit_and_what_is_left(clock: Clock) -> None:
    deadline = Deadline(50, clock=clock)
    assert deadline.within(None) is deadline
    assert deadline.within(500) is deadline
    assert deadline.within(10).remaining_s() == pytest.approx(0.01)
    clock.pass_ms(45)
    assert deadline.within(10) is deadline


def test_a_deadline_ahead_leaves_a_little_and_never_takes_most_of_the_time(clock: Clock) -> None:
    assert Deadline(1000, clock=clock).ahead(5).remaining_s() == pytest.approx(0.995)
    assert Deadline(10, clock=clock).ahead(5).remaining_s() == pytest.approx(0.009)
    assert Deadline(0, clock=clock).ahead(5).is_past()
    assert Deadline(None, clock=clock).ahead(5).remaining_s() == float("inf")
    ahead = Deadline(1000, clock=clock).ahead(5)
    clock.pass_ms(996)
    with pytest.raises(DeadlinePassed, match="it did not finish within 1000 ms"):
        ahead.check("it")


# --- a request ----------------------------------------------------------------------------------


class Shop:
    """A store and a model that take as long as a test says."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.model_ms = 0.0
        self.world = World(pause=None)
        self.world.table("product", "attrs", {"price": ("FP32", 9.0)}, {"1": {"price": 1.0}})
        self.world.models["m"] = row_model(self._score)

    def _score(self, x: Any) -> Any:
        self.clock.pass_ms(self.model_ms)
        return [[x[0] * 2]]

    def score(self, deadline_ms: float | None = None, **more: Any) -> Any:
        fs = feature_step("product", {"product_id": "product_id"}, {"attrs": ["price"]})
        first = model_step("m", {"product:attrs:price": "FP32"}, **more)
        second = model_step("m", {"first:score": "FP32"})
        written = config(
            ["first:score", "second:score"],
            features={"fs": fs},
            models={"first": first, "second": second},
        )
        scorer = self.world.scorer(written, clock=self.clock)
        return scorer.score_now(
            request(entities={"product": ["1", "1", "1", "1"]}, deadline_ms=deadline_ms)
        )


@pytest.fixture
def shop(clock: Clock) -> Shop:
    return Shop(clock)


def test_a_request_that_is_late_before_it_begins_reaches_nobody(shop: Shop) -> None:
    with pytest.raises(DeadlinePassed) as late:
        shop.score(deadline_ms=0)
    assert late.value.fault is Fault.LATE
    assert "'config'" in late.value.doing
    assert shop.world.reads == []
    assert shop.world.runs == []


def test_no_step_starts_after_the_deadline(shop: Shop) -> None:
    shop.model_ms = 20
    with pytest.raises(DeadlinePassed):
        shop.score(deadline_ms=50)
    assert [name for name, _ in shop.world.runs] == ["m"]


def test_a_request_without_deadline_takes_its_time(shop: Shop) -> None:
    shop.model_ms = 1e6
    assert shop.score().errors == ["", "", "", ""]


@pytest.mark.parametrize("limit", ["timeout", "deadline"])
def test_a_step_past_its_own_limit_falls_under_its_policy(shop: Shop, limit: str) -> None:
    """The second of four calls finds the step's 30 ms used up by the first."""
    shop.model_ms = 40
    written: Any = "30ms" if limit == "timeout" else 30
    scores = shop.score(**{limit: written}, batch_size=1)
    assert scores.targets.columns["first:score"].to_list() == [2, None, None, None]
    assert scores.errors[0] == ""
    assert all("did not finish within 30 ms" in error for error in scores.errors[1:])


def test_a_step_s_own_limit_may_fail_the_request(shop: Shop) -> None:
    shop.model_ms = 40
    with pytest.raises(StepFailed) as failed:
        shop.score(timeout="30ms", batch_size=1, on_error="fail")
    assert failed.value.fault is Fault.LATE


def test_batches_that_fail_because_the_request_is_late_do_not_pass_for_answers(shop: Shop) -> None:
    shop.model_ms = 40
    with pytest.raises(DeadlinePassed, match="request for 'config'"):
        shop.score(deadline_ms=100, batch_size=1)
