"""Which requests are kept, and for how long."""

from __future__ import annotations

import threading
from contextlib import suppress

import pytest

from inferflow.app.recordings.keeper import Keeper, Room
from inferflow.app.recordings.kept import size_of
from inferflow.errors import InferflowError, NotFound, StepFailed
from inferflow.telemetry.calls import Call, request_context

from .conftest import MakeScorer, ask

QUICK = 1e9
"""A threshold in seconds that nothing is slower than."""


def call(request_id: str = "r1", config_id: str = "shop") -> Call:
    made = Call(request_id, "/Predict/InferPointWise")
    made.config_id, made.tracking_id = config_id, "t1"
    return made


def record(keeper: Keeper, make_scorer: MakeScorer, *ids: str) -> str:
    scorer = make_scorer()
    recording = scorer.new_recording()
    scores = scorer.score_now(ask(*ids), recording)
    return keeper.keep(call(), recording, scores, "")


def test_a_slow_request_is_kept_with_what_was_counted(make_scorer: MakeScorer) -> None:
    keeper = Keeper(now=lambda: 1.5)
    scorer = make_scorer(keeper)
    with request_context(call()):
        scorer.score_now(ask("1", "2"))
    [kept] = keeper.latest()
    assert (kept.why, kept.at_ms, kept.rows, kept.error) == ("slow", 1500, 2, "")
    assert (kept.request_id, kept.tracking_id, kept.config_id) == ("r1", "t1", "shop")
    assert [step.name for step in kept.steps] == ["feature_initializer", "fs_item", "rank"]
    assert kept.duration_us > 0
    assert kept.whole is None


def test_a_request_that_is_neither_slow_nor_failed_is_not_kept(make_scorer: MakeScorer) -> None:
    keeper = Keeper(Room(slow_s=QUICK))
    make_scorer(keeper).score_now(ask("1"))
    assert keeper.latest() == []


@pytest.mark.parametrize("on_error", ["fail", "skip"])
def test_a_failed_request_is_kept_also_when_it_was_answered_all_the_same(
    make_scorer: MakeScorer, on_error: str
) -> None:
    keeper = Keeper(Room(slow_s=QUICK))
    scorer = make_scorer(keeper, broken=True, on_error=on_error)
    with suppress(StepFailed):
        scorer.score_now(ask("1"))
    [kept] = keeper.latest()
    assert kept.why == "failed"
    assert kept.error == ("StepFailed" if on_error == "fail" else "ModelFailed")


def test_a_call_that_failed_before_it_was_scored_is_kept() -> None:
    keeper = Keeper()
    refused = call(config_id="nothing")
    refused.error = "NotFound"
    with request_context(refused):
        keeper.call_ended(refused.method, 5, 0.001)
    [kept] = keeper.latest()
    assert (kept.why, kept.error, kept.config_id, kept.plan) == (
        "failed",
        "NotFound",
        "nothing",
        None,
    )


def test_a_call_whose_request_is_kept_is_not_kept_again(make_scorer: MakeScorer) -> None:
    keeper = Keeper(Room(slow_s=QUICK))
    scorer = make_scorer(keeper, broken=True, on_error="fail")
    failed = call()
    with request_context(failed):
        with pytest.raises(InferflowError):
            scorer.score_now(ask("1"))
        failed.error = "StepFailed"
        keeper.call_ended(failed.method, 13, 0.001)
    assert len(keeper.latest()) == 1


def test_calls_turned_away_for_lack_of_room_are_not_kept() -> None:
    keeper = Keeper()
    refused = call()
    refused.error = "Overloaded"
    with request_context(refused):
        keeper.call_ended(refused.method, 8, 0.001)
    assert keeper.latest() == []


def test_an_answered_call_is_not_kept() -> None:
    keeper = Keeper()
    with request_context(call()):
        keeper.call_ended("/Predict/InferPointWise", 0, 0.001)
    keeper.call_ended("/Predict/InferPointWise", 13, 0.001)
    assert keeper.latest() == []


def test_a_recorded_request_is_found_by_its_id(make_scorer: MakeScorer) -> None:
    keeper = Keeper(tag="beef")
    found = keeper.find(record(keeper, make_scorer, "1", "2"))
    assert found.id == "beef-1"
    assert (found.why, found.rows, found.request_id) == ("asked", 2, "r1")
    assert found.whole is not None
    assert found.whole.recording.ids == ("1", "2")


def test_what_was_never_kept_is_not_found() -> None:
    with pytest.raises(NotFound, match="no recording 'beef-9'"):
        Keeper().find("beef-9")


def test_processes_give_different_ids(make_scorer: MakeScorer) -> None:
    assert record(Keeper(), make_scorer, "1") != record(Keeper(), make_scorer, "1")


def test_the_oldest_recording_makes_room_when_there_are_too_many(make_scorer: MakeScorer) -> None:
    keeper = Keeper(Room(recordings=2))
    ids = [record(keeper, make_scorer, "1") for _ in range(3)]
    assert [kept.id for kept in keeper.latest()] == [ids[2], ids[1]]


def test_and_when_they_are_too_large(make_scorer: MakeScorer) -> None:
    scorer = make_scorer()
    recording = scorer.new_recording()
    scorer.score_now(ask("1", "2"), recording)
    keeper = Keeper(Room(recorded_bytes=2 * size_of(recording)))
    ids = [record(keeper, make_scorer, "1", "2") for _ in range(3)]
    assert [kept.id for kept in keeper.latest()] == [ids[2], ids[1]]


def test_a_recording_larger_than_all_room_is_kept_without_its_values(
    make_scorer: MakeScorer,
) -> None:
    keeper = Keeper(Room(recorded_bytes=100))
    small = record(keeper, make_scorer, "1")
    [kept] = [each for each in keeper.latest() if each.id == small]
    assert kept.whole is not None
    assert not kept.whole.has_values
    assert kept.whole.recording.matrix is None
    assert kept.steps


def test_failures_do_not_push_out_what_somebody_asked_for(make_scorer: MakeScorer) -> None:
    keeper = Keeper(Room(failed=3, slow_s=QUICK))
    asked = record(keeper, make_scorer, "1")
    scorer = make_scorer(keeper, broken=True)
    for _ in range(10):
        scorer.score_now(ask("1"))
    assert [kept.why for kept in keeper.latest()] == ["failed", "failed", "failed", "asked"]
    assert keeper.find(asked).why == "asked"
    assert [kept.why for kept in keeper.latest(2)] == ["failed", "failed"]


def test_many_threads_may_report_at_once(make_scorer: MakeScorer) -> None:
    keeper = Keeper(Room(failed=1000, slow_s=QUICK))
    scorer = make_scorer(keeper, broken=True)
    threads = [
        threading.Thread(target=lambda: [scorer.score_now(ask("1")) for _ in range(50)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept = keeper.latest()
    assert len({each.id for each in kept}) == len(kept) == 200
