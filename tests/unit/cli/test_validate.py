"""`inferflow validate`"""

from __future__ import annotations

import json
from pathlib import Path

from .conftest import Run


def misspell(starter: Path) -> None:
    config = starter / "configs/ranker.yaml"
    config.write_text(config.read_text("utf-8").replace("book:facts:price: FP32", "cost: FP32"))
    request = starter / "requests/ranker.json"
    request.write_text(request.read_text("utf-8").replace('"ranker"', '"rankr"'))


def test_a_good_project_has_no_errors(run: Run, starter: Path) -> None:
    assert run("validate", starter).stdout == "no errors\n"


def test_problems_are_grouped_by_file_and_counted(run: Run, starter: Path) -> None:
    misspell(starter)
    lines = run("validate", starter, code=1).stdout.splitlines()
    config, request = f"{starter}/configs/ranker.yaml", f"{starter}/requests/ranker.json"
    assert lines.index(config) < lines.index(request)
    assert any("closest: 'ranker'" in line for line in lines[lines.index(request) :])
    assert lines[-1] == "1 error, 1 note"


def test_notes_alone_are_no_failure(run: Run, starter: Path) -> None:
    misspell(starter)
    (starter / "requests/ranker.json").unlink()
    assert run("validate", starter).stdout.splitlines()[-1] == "no errors, 1 note"


def test_programs_get_the_same_as_json(run: Run, starter: Path) -> None:
    misspell(starter)
    found = json.loads(run("validate", starter, "--json", code=1).stdout)
    assert (found["errors"], found["notes"]) == (1, 1)
    assert {each["file"] for each in found["findings"]} == {
        "configs/ranker.yaml",
        "requests/ranker.json",
    }
    assert {each["project"] for each in found["findings"]} == {str(starter)}


def test_a_single_file_is_seen_as_part_of_its_project(run: Run, starter: Path) -> None:
    misspell(starter)
    assert run("validate", starter / "configs/ranker.yaml").stdout.splitlines()[-1] == (
        "no errors, 1 note"
    )
    run("validate", starter / "requests/ranker.json", code=1)


def test_a_config_from_elsewhere_needs_to_be_told_its_project(
    run: Run, starter: Path, tmp_path: Path
) -> None:
    candidate = tmp_path / "loose" / "candidate.yaml"
    candidate.parent.mkdir()
    candidate.write_text((starter / "configs/ranker.yaml").read_text("utf-8"))
    assert "--dir" in run("validate", candidate, code=1).stderr
    run("validate", candidate, "--dir", starter)
    candidate.write_text(candidate.read_text("utf-8").replace("compute_id: pick", "compute_id: x"))
    told = run("validate", candidate, "--dir", starter, code=1).stdout
    assert told.splitlines()[0] == str(candidate.resolve())


def test_a_path_that_is_not_there_is_told(run: Run, tmp_path: Path) -> None:
    assert "no such file" in run("validate", tmp_path / "gone", code=1).stderr


def test_causes_come_before_what_follows_from_them(run: Run, starter: Path) -> None:
    schema = starter / "features/schema.yaml"
    schema.write_text(schema.read_text("utf-8").replace("dtype: FP32", "dtype: FP33"))
    lines = run("validate", starter, code=1).stdout.splitlines()
    files = [line for line in lines if line.startswith(str(starter))]
    assert files[0] == f"{starter}/features/schema.yaml"
    assert files[-1] == f"{starter}/configs/ranker.yaml"
