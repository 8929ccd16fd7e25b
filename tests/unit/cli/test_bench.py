"""`inferflow bench`, up to the first call."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from inferflow.cli.load_chart import print_report
from inferflow.client.load import LoadReport

from .conftest import Run

QUICK = ("--deadline", "50ms")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, config_id in (("one", "ranker"), ("two", "other")):
        request = {"model_config_id": config_id, "entities": {"book": ["1"]}}
        (tmp_path / f"{name}.json").write_text(json.dumps(request))
    return tmp_path


def test_a_loop_is_open_or_closed(run: Run) -> None:
    said = run("bench", "--rate", "5", "--concurrency", "5", code=2).stderr
    assert "give --rate or --concurrency, not both" in said


@pytest.mark.parametrize("option", ["--duration", "--warmup", "--deadline"])
def test_times_are_durations(run: Run, option: str) -> None:
    assert "not a duration" in run("bench", option, "soon", code=2).stderr


def test_the_server_asked_is_the_projects_own(
    run: Run, starter: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APP_PORT", "1")
    monkeypatch.setenv("INFERFLOW_BIND", "0.0.0.0")
    said = run("bench", "--dir", starter, *QUICK, code=1).stderr
    assert "no server answered at 127.0.0.1:1" in said or "127.0.0.1:1 did not finish" in said


def test_a_folder_of_requests_may_be_narrowed_to_a_config(run: Run, folder: Path) -> None:
    said = run("bench", "third", "--requests", folder, code=1).stderr
    assert f"{folder}: no request to 'third'" in said


def test_a_folder_without_requests_is_refused(run: Run, tmp_path: Path) -> None:
    said = run("bench", "--requests", tmp_path, code=1).stderr
    assert f"{tmp_path}: no request; give --request FILE" in said


def test_a_folder_that_is_no_project_has_no_requests(run: Run, tmp_path: Path) -> None:
    assert "not a project" in run("bench", "--dir", tmp_path, code=1).stderr


def printed(**facts: object) -> str:
    plain: dict[str, object] = {
        "seconds": 2.0,
        "answered": 3,
        "failed": 0,
        "unsent": 0,
        "per_second": 1.5,
        "latency_ms": {"p50": 1.0, "max": 250.0},
        "late_ms": {},
        "failures": {},
        "failed_ms": {},
        "details": {},
        "histogram": [(1.0, 1), (250.0, 2)],
        "generator_busy": 0.1,
        "doubts": (),
    }
    stream = io.StringIO()
    print_report(LoadReport(**{**plain, **facts}), stream)  # type: ignore[arg-type]
    return stream.getvalue()


def test_a_report_has_percentiles_and_a_bar_for_each_stretch_of_latency() -> None:
    lines = printed().splitlines()
    assert lines[0] == "1.5 answers per second over 2.0 s: 3 answered, 0 failed"
    assert [line.split() for line in lines[2:4]] == [
        ["ms", "p50", "max"],
        ["latency", "1.00", "250"],
    ]
    assert [line.count("█") for line in lines[-2:]] == [20, 40]


def test_failures_are_listed_with_their_first_words_and_nothing_is_charted_without_answers() -> (
    None
):
    text = printed(
        answered=0,
        failed=7,
        latency_ms={},
        histogram=[],
        failures={"INTERNAL": 7},
        details={"INTERNAL": "a [b] c"},
    )
    assert text.splitlines()[1:] == ["  7 INTERNAL: a [b] c"]


def test_an_open_loop_shows_how_late_calls_were_sent() -> None:
    assert "sent late" in printed(late_ms={"p50": 0.1, "max": 0.2})
