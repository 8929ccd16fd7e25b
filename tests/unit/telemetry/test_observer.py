"""What the engine tells those who watch it."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

import pytest

from inferflow.engine.observer import Observer, Observers, RequestStats
from inferflow.engine.request import request_from
from inferflow.errors import InferflowError
from inferflow.plan.plan import Plan
from inferflow.testing import failing, model


class Diary(Observer):
    def __init__(self) -> None:
        self.started: list[str] = []
        self.ended: list[RequestStats] = []

    def request_started(self, plan: Plan) -> None:
        self.started.append(plan.config_id)

    def request_ended(self, request: RequestStats) -> None:
        self.ended.append(request)


@pytest.fixture
def diary() -> Diary:
    return Diary()


def _steps(stats: RequestStats):
    return {record.name: record for record in stats.steps}


def test_a_request_is_told_once_when_it_has_ended_with_every_step(make_shop, diary):
    make_shop(diary).score()
    assert diary.started == ["shop"]
    [stats] = diary.ended
    assert (stats.plan.config_id, stats.mode, stats.rows, stats.outcome) == (
        "shop",
        "pointwise",
        3,
        "",
    )
    assert [record.name for record in stats.steps] == [step.name for step in stats.plan.steps]
    assert all(0 < record.duration_us <= stats.duration_s * 1e6 for record in stats.steps)


def test_steps_tell_keys_cache_calls_and_endpoint(make_shop, diary):
    shop = make_shop(diary)
    shop.score()
    shop.score(entities={"user": "u1", "product": ["p1", "p4", "p4"]})
    cold, warm = (_steps(stats)["fs_product"] for stats in diary.ended)
    assert (cold.unique_keys, cold.cache_hits, cold.calls) == (3, 0, 1)
    assert (warm.unique_keys, warm.cache_hits, warm.calls) == (2, 1, 1)
    uncached = _steps(diary.ended[1])["fs_user"]
    assert (uncached.unique_keys, uncached.cache_hits) == (1, None)
    ranker = _steps(diary.ended[0])["ranker"]
    assert (ranker.calls, ranker.endpoint, ranker.rows) == (1, "local", 3)
    assert 0 < ranker.calls_us < ranker.duration_us
    assert _steps(diary.ended[0])["blend"].calls == 1


def test_a_step_served_by_the_cache_alone_makes_no_call(make_shop, diary):
    shop = make_shop(diary)
    shop.score()
    shop.score()
    assert _steps(diary.ended[1])["fs_product"].calls == 0


def test_watching_changes_no_answer(make_shop, diary):
    assert make_shop(diary).score().to_dict() == make_shop(None).score().to_dict()


def test_a_refused_request_blames_the_caller_and_ran_no_step(make_shop, diary):
    make_shop(diary).fail({"entities": {"user": ["u1", "u2"], "product": ["p1", "p2", "p3"]}})
    [stats] = diary.ended
    assert (stats.outcome, stats.error, stats.rows) == ("caller", "InvalidRequest", 0)
    assert all(record.duration_us == 0 for record in stats.steps)


def test_a_late_request_is_told_as_late(make_shop, diary):
    shop = make_shop(diary)
    shop.world.features.takes_s = 1.0
    shop.fail(deadline_ms=100)
    assert (diary.ended[0].outcome, diary.ended[0].error) == ("late", "DeadlinePassed")
    assert "DeadlinePassed" in {record.failure for record in diary.ended[0].steps}


def test_a_step_that_fails_without_failing_its_request_names_the_class(make_shop, diary):
    shop = make_shop(diary)
    shop.world.features.broken = "no route"
    shop.score()
    [stats] = diary.ended
    assert stats.outcome == ""
    failed = _steps(stats)["fs_user"]
    assert (failed.failure, failed.failed_calls) == ("StoreFailed", 1)


def test_a_batch_that_fails_is_told_though_the_step_survives(make_shop, diary):
    calls: list[int] = []

    def second_fails(x):
        calls.append(len(x))
        return failing()(x) if len(calls) == 2 else x.sum(axis=1)

    broken = model(second_fails, inputs={"x": "FP32[N,3]"}, outputs={"s": "FP32[N]"})
    shop = make_shop(diary, batch_size=1, world={"models": {"ranker": broken}})
    shop.score()
    ranker = _steps(diary.ended[0])["ranker"]
    assert (ranker.calls, ranker.failed_calls, ranker.failure) == (3, 1, "ModelFailed")
    assert ranker.error == ""


def test_a_cancelled_request_is_told_as_cancelled(make_shop, diary):
    shop = make_shop(diary, world={"local": False})
    asked = request_from({"entities": {"user": "u1", "product": ["p1"]}}, config_id="shop")

    async def give_up() -> None:
        task = asyncio.ensure_future(shop.scorer.score(asked))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(give_up())
    assert diary.ended[0].outcome == "cancelled"


@pytest.mark.parametrize(
    ("asked", "mode"),
    [({}, "pointwise"), ({"pairs": [[0, 1]]}, "pairwise"), ({"slates": [[0]]}, "slatewise")],
)
def test_the_mode_is_how_the_request_was_asked(make_shop, diary, asked, mode):
    shop = make_shop(diary)
    request = request_from(
        {"entities": {"user": "u1", "product": ["p1", "p2"]}, **asked}, config_id="shop"
    )
    try:
        shop.scorer.score_now(request)
    except InferflowError:  # the shop has no slate steps; it is counted all the same
        assert asked
    with_text = replace(request, pairs=None, slates=None, legacy=True)
    shop.scorer.score_now(with_text)
    assert [stats.mode for stats in diary.ended] == [mode, "legacy"]


def test_an_observer_that_raises_is_reported_and_harms_nobody(make_shop, diary, caplog):
    class Broken(Observer):
        def request_started(self, plan: Plan) -> None:
            raise ValueError("started")

        def request_ended(self, request: RequestStats) -> None:
            raise ValueError("ended")

    with caplog.at_level(logging.ERROR):
        assert len(make_shop(Observers(Broken(), diary)).score()) == 3
    assert len(diary.ended) == 1
    assert [record.getMessage() for record in caplog.records] == ["observer_failed"] * 2


def test_several_observers_pass_on_every_event():
    told: list[tuple[object, ...]] = []
    events = {
        name: (lambda *facts, name=name: told.append((name, *facts[1:])))
        for name in vars(Observer)
        if not name.startswith("_")
    }
    watching = Observers(type("Nosy", (Observer,), dict(events))())
    for name in events:
        arguments = getattr(Observer, name).__code__.co_argcount - 1
        getattr(watching, name)(*range(arguments))
    assert [each[0] for each in told] == list(events)
    assert all(list(facts) == list(range(len(facts))) for _, *facts in told)
