"""Golden requests."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inferflow.app.golden import Outcome, run_golden

Ask = Callable[..., Path]


def only(root: Path) -> Outcome:
    (outcome,) = run_golden(root)
    return outcome


def test_a_request_that_gets_what_it_expects_passes(echo: Path, ask: Ask) -> None:
    ask([1.0, 2.0], expect={"echo:score": [1.0, 2.0], "name": ["ann", "ann"]})
    outcome = only(echo)
    assert outcome.passed
    assert outcome.columns == ("echo:score", "name")
    assert outcome.rows == 2


def test_the_first_mismatch_is_told_and_all_are_counted(echo: Path, ask: Ask) -> None:
    ask([1.0, 2.0, 4.0], expect={"echo:score": [1.0, 3.0, 5.0]})
    outcome = only(echo)
    assert not outcome.passed
    assert outcome.why == "echo:score[1]: expected 3.0, got 2.0"
    assert outcome.mismatches == 2
    assert outcome.worst == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("got", "wanted", "tolerance", "passes"),
    [
        (1.0, 1.0 + 9e-7, None, True),  # a millionth unless said otherwise
        (1.0, 1.0 + 2e-6, None, False),
        (1e-9, 9e-7, None, True),  # small numbers are compared as they are
        (2000.0, 2001.0, 1e-3, True),  # large ones in proportion
        (2000.0, 2003.0, 1e-3, False),
        (2.0, 2, 0, True),  # a whole number may be written without a point
        (2.0, "2", 0, False),
        (2.0, None, 0, False),
        (1.0, True, 0, False),
        (2.0, [2.0], 0, False),
    ],
)
def test_numbers_may_differ_within_the_tolerance(
    echo: Path, ask: Ask, got: float, wanted: Any, tolerance: float | None, passes: bool
) -> None:
    said = {} if tolerance is None else {"tolerance": tolerance}
    ask([got], expect={"echo:score": [wanted]}, **said)
    assert only(echo).passed is passes


def test_text_must_be_equal(echo: Path, ask: Ask) -> None:
    ask([1.0], expect={"name": ["Ann"]}, tolerance=10)
    assert "expected 'Ann', got 'ann'" in only(echo).why


def test_null_expects_that_there_is_no_value(echo: Path, ask: Ask) -> None:
    ask([0.0, 1.0], expect={"echo:score": [None, 1.0]})  # 1/0 has no answer
    assert only(echo).passed
    ask([1.0, 1.0], expect={"echo:score": [None, 1.0]})
    assert only(echo).why == "echo:score[0]: expected None, got 1.0"


def test_a_number_is_not_what_a_blank_gives(echo: Path, ask: Ask) -> None:
    ask([0.0], expect={"echo:score": [0.0]}, tolerance=1)
    assert only(echo).why == "echo:score[0]: expected 0.0, got None"


def test_without_expectations_a_request_must_be_scored_without_errors(echo: Path, ask: Ask) -> None:
    ask([1.0], name="good")
    ask([0.0], name="marked")
    good, marked = run_golden(echo)
    assert good.passed
    assert good.columns == ()
    assert not marked.passed
    assert "division by zero" in marked.why


def test_an_unknown_column_is_told_with_the_nearest(echo: Path, ask: Ask) -> None:
    ask([1.0], expect={"echo:scor": [1.0]})
    assert "closest: 'echo:score'" in only(echo).why


def test_a_wrong_number_of_values_is_told(echo: Path, ask: Ask) -> None:
    ask([1.0, 2.0], expect={"echo:score": [1.0]})
    assert "has 1 value(s), the answer has 2" in only(echo).why


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"expect": []}, "expect: an object"),
        ({"expect": {}}, "expect: an object"),
        ({"expect": {"echo:score": 1.0}}, "expect['echo:score']: a list"),
        ({"tolerance": "loose"}, "tolerance: a number"),
        ({"tolerance": -1}, "tolerance: a number"),
        ({"tolerance": True}, "tolerance: a number"),
        ({"model_config_id": "ecko"}, "did you mean 'echo'"),
        ({"entitis": {}}, "closest: 'entities'"),
    ],
)
def test_what_cannot_be_run_fails_and_says_why(
    echo: Path, ask: Ask, fields: dict[str, Any], why: str
) -> None:
    ask([1.0], **fields)
    outcome = only(echo)
    assert not outcome.passed
    assert why in outcome.why


def test_one_broken_request_does_not_hide_another(echo: Path, ask: Ask) -> None:
    (echo / "requests/broken.json").write_text("{")
    ask([1.0], name="good")
    broken, good = run_golden(echo)
    assert "not valid JSON" in broken.why
    assert good.passed


def test_a_project_without_requests_has_no_outcomes(echo: Path) -> None:
    assert run_golden(echo) == []


def test_nothing_is_written_into_the_project(starter: Path) -> None:
    before = sorted(starter.rglob("*"))
    for folder, _, _ in os.walk(starter):
        os.chmod(folder, 0o555)
    try:
        assert only(starter).passed
    finally:
        for folder, _, _ in os.walk(starter):
            os.chmod(folder, 0o755)
    assert sorted(starter.rglob("*")) == before
