"""What is told about a kept request."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest

from inferflow.app.explain import explain_recording
from inferflow.app.recordings.documents import document, line
from inferflow.app.recordings.keeper import Keeper, Room
from inferflow.errors import InvalidRequest, StepFailed
from inferflow.explanation import item_text, kept_text, run_text
from inferflow.explanation.json_text import json_text
from inferflow.telemetry.calls import Call

from .conftest import SECRET, MakeScorer, ask


def test_a_recording_read_from_json_prints_as_the_one_in_this_process(
    make_scorer: MakeScorer,
) -> None:
    scorer, keeper = make_scorer(), Keeper()
    recording = scorer.new_recording()
    scores = scorer.score_now(ask("1", "9"), recording)
    kept = keeper.find(keeper.keep(Call("r1"), recording, scores, ""))
    read = json.loads(json_text(document(kept, "9")))
    here = explain_recording(recording, scores)
    assert run_text(read["run"]) == str(here)
    assert item_text(read["item"]) == str(here.item("9"))
    assert read["run"] == here.to_dict()
    assert read["has_values"]


def test_of_a_slow_request_there_are_steps_but_no_values(make_scorer: MakeScorer) -> None:
    keeper = Keeper()
    make_scorer(keeper).score_now(ask("1", "2"))
    [kept] = keeper.latest()
    facts = document(kept)
    assert not facts["has_values"]
    steps = {step["step"]: step for step in facts["run"]["steps"]}
    assert steps["fs_item"]["unique_keys"] == 2
    assert steps["rank"]["answered_by"] == "rank@1"
    assert all(step["start_us"] is None for step in steps.values())
    text = run_text(facts["run"])
    assert text.startswith("shop: 2 targets in ")
    assert "start µs" not in text
    assert "not reached" not in text
    with pytest.raises(InvalidRequest, match="ask to be recorded"):
        document(kept, "1")


@pytest.mark.parametrize("on_error", ["fail", "skip"])
def test_of_a_failed_request_the_words_of_its_error_are_not_told(
    make_scorer: MakeScorer, on_error: str
) -> None:
    keeper = Keeper(Room(slow_s=1e9))
    scorer = make_scorer(keeper, broken=True, on_error=on_error)
    with suppress(StepFailed):
        scorer.score_now(ask("1"))
    [kept] = keeper.latest()
    text = json_text(document(kept))
    assert SECRET not in text
    assert "ModelFailed" in text


def test_an_item_a_recording_does_not_have_is_refused(make_scorer: MakeScorer) -> None:
    scorer, keeper = make_scorer(), Keeper()
    recording = scorer.new_recording()
    scores = scorer.score_now(ask("1"), recording)
    kept = keeper.find(keeper.keep(Call("r1"), recording, scores, ""))
    with pytest.raises(InvalidRequest, match="item: no target '7'"):
        document(kept, "7")


def test_an_item_whose_values_were_too_many_is_refused_with_the_reason(
    make_scorer: MakeScorer,
) -> None:
    scorer, keeper = make_scorer(), Keeper(Room(recorded_bytes=1))
    recording = scorer.new_recording()
    scores = scorer.score_now(ask("1"), recording)
    kept = keeper.find(keeper.keep(Call("r1"), recording, scores, ""))
    assert document(kept)["run"]["steps"]
    with pytest.raises(InvalidRequest, match="more values than there is room for"):
        document(kept, "1")


def test_a_list_is_a_table_with_the_newest_first(make_scorer: MakeScorer) -> None:
    keeper = Keeper(tag="beef", now=lambda: 3661.25)
    scorer = make_scorer(keeper)
    scorer.score_now(ask("1", "2"))
    lines = kept_text([line(kept) for kept in keeper.latest()]).splitlines()
    assert lines[0].split()[:4] == ["recording", "UTC", "why", "config"]
    assert lines[1].split()[:5] == ["beef-1", "01:01:01.250", "slow", "shop", "2"]


def test_an_empty_list_says_what_would_be_in_it() -> None:
    assert "nothing kept" in kept_text([])
