"""The engine answers what the obvious slow interpreter answers, on random graphs and data."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.errors import InvalidRequest, StepFailed
from inferflow.scores import Scores

from ...robustness.scenario import StartScenario
from .comparing import alike, marked_by, relaxed
from .graphs import Case, cases
from .reference import Outcome, Reference
from .worlds import pausing


def check(scores: Scores, want: Outcome, case: Case) -> None:
    steps = [name for kind in case.config["component_config"].values() for name in kind]
    assert list(scores.targets.columns) == list(want.columns)
    for name, values in want.columns.items():
        got = scores.targets.columns[name].to_list()
        assert len(got) == len(values)
        for row, (mine, other) in enumerate(zip(got, values, strict=True)):
            assert alike(mine, other), f"{name}[{row}] is {mine!r}, must be {other!r}"
    assert [marked_by(error, steps) for error in scores.errors] == want.marks


def check_case(case: Case, score: Any) -> None:
    want = Reference(case.world, case.config, case.request).answer()
    if want.is_refused:
        with pytest.raises(InvalidRequest):
            score()
    elif want.failing:
        with pytest.raises(StepFailed) as failed:
            score()
        assert failed.value.step in want.failing
    else:
        check(score(), want, case)


@given(case=cases())
@relaxed(400)
def test_local_plans_answer_as_the_reference_does(scenario: StartScenario, case: Case) -> None:
    tried = scenario("K3", "random graphs without waiting")
    scorer = case.world.scorer(case.config)
    assert scorer.is_local
    check_case(case, lambda: scorer.score_now(case.request))
    tried.shown("as the naive version, bit for bit", "equal")


@given(case=cases(), seed=st.integers(0, 1000))
@relaxed(250)
def test_plans_that_wait_answer_the_same_in_whatever_order_their_steps_end(
    scenario: StartScenario, case: Case, seed: int
) -> None:
    tried = scenario("K3", "random graphs whose steps end in any order")
    case.world.pause = pausing(seed)
    scorer = case.world.scorer(case.config)

    async def score() -> Scores:
        scores = await scorer.score(case.request)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return scores

    check_case(case, lambda: asyncio.run(score()))
    tried.shown("as the naive version, bit for bit", "equal")
