"""`inferflow score`"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import Run


def ranked_ids(text: str) -> list[str]:
    return [line.split()[1] for line in text.splitlines()[1:] if line.strip()]


def test_a_request_file_becomes_a_ranked_table(run: Run, starter: Path) -> None:
    request = starter / "requests/ranker.json"
    text = run("score", "ranker", "--dir", starter, "--request", request).stdout
    expected = json.loads(request.read_text("utf-8"))
    worth = dict(zip(expected["entities"]["book"], expected["expect"]["pick:score"], strict=True))
    assert ranked_ids(text) == sorted(worth, key=worth.__getitem__, reverse=True)
    assert text.split()[:2] == ["rank", "id"]
    assert "The Copper Fox" in text.splitlines()[1]
    assert "1.03385" in text.splitlines()[1]


def test_only_the_best_are_shown_when_so_many_are_asked_for(run: Run, starter: Path) -> None:
    request = starter / "requests/ranker.json"
    arguments = ("score", "ranker", "--dir", starter, "--request", request, "--top", 2)
    assert ranked_ids(run(*arguments).stdout) == ["10", "12"]
    assert json.loads(run(*arguments, "--json").stdout)["ranking"] == [9, 11]


def test_entities_may_be_given_as_options(run: Run, starter: Path) -> None:
    text = run(
        "score", "ranker", "-d", starter, "-e", "user=ben", "-e", "book=1,2", "-e", "book=6"
    ).stdout
    assert set(ranked_ids(text)) == {"1", "2", "6"}


def test_options_replace_parts_of_a_request(run: Run, starter: Path) -> None:
    request = starter / "requests/ranker.json"
    found = run("score", "ranker", "-d", starter, "-r", request, "-e", "book=3,4", "--json").stdout
    assert json.loads(found)["ids"] == ["3", "4"]


def test_a_request_may_come_from_stdin(run: Run, starter: Path) -> None:
    request = '{"entities": {"user": "ada", "book": ["1"]}}'
    found = run("score", "ranker", "-d", starter, "-r", "-", "--json", stdin=request).stdout
    assert json.loads(found)["ids"] == ["1"]


def test_json_has_every_digit_and_every_error(run: Run, starter: Path) -> None:
    found = json.loads(
        run("score", "ranker", "-d", starter, "-e", "user=ada", "-e", "book=10", "--json").stdout
    )
    assert found["columns"]["pick:score"] == [pytest.approx(1.0338502, abs=1e-6)]
    assert found["errors"] == [""]


def test_errors_of_rows_have_a_column_of_their_own(run: Run, starter: Path) -> None:
    (starter / "expressions.yaml").write_text("pick: like / years_old + 0 * likes_new\n")
    text = run("score", "ranker", "-d", starter, "-e", "user=ada", "-e", "book=1,3").stdout
    header, first, second = text.splitlines()
    assert header.split()[-1] == "error"
    assert first.split()[1] == "1"
    assert "division by zero" in second


def test_nothing_scored_is_a_failure(run: Run, starter: Path) -> None:
    (starter / "expressions.yaml").write_text("pick: like / years_old + 0 * likes_new\n")
    text = run("score", "ranker", "-d", starter, "-e", "user=ada", "-e", "book=3,7", code=1).stdout
    assert text.count("division by zero") == 2


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["-e", "user"], "'user' is not NAME=VALUE"),
        (["-c", "=1"], "'=1' is not NAME=VALUE"),
        (["-e", "user=1", "--top", "0"], "--top"),
    ],
)
def test_a_wrong_option_is_wrong_usage(
    run: Run, starter: Path, arguments: list[str], what: str
) -> None:
    assert what in run("score", "ranker", "-d", starter, *arguments, code=2).stderr


def test_a_broken_request_is_told_with_its_place(run: Run, starter: Path, tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text('{"entities": {"user": "ada", "user": "ben"}}')
    refused = run("score", "ranker", "-d", starter, "-r", tmp_path / "r.json", code=1)
    assert "key 'user' is given twice" in refused.stderr
    (tmp_path / "r.json").write_text("[]")
    refused = run("score", "ranker", "-d", starter, "-r", tmp_path / "r.json", code=1)
    assert "an object is wanted" in refused.stderr
    refused = run("score", "ranker", "-d", starter, "-r", tmp_path / "gone.json", code=1)
    assert "gone.json: cannot be read" in refused.stderr


def test_a_config_with_problems_says_all_of_them(run: Run, starter: Path) -> None:
    config = starter / "configs/ranker.yaml"
    text = config.read_text("utf-8").replace("compute_id: pick", "compute_id: pik")
    config.write_text(text.replace("model_name: like_model", "model_name: lik_model"))
    refused = run("score", "ranker", "-d", starter, "-e", "user=ada", code=1).stderr
    assert "closest: 'pick'" in refused
    assert "closest: 'like_model'" in refused


def test_a_broken_schema_is_told_as_such(run: Run, starter: Path) -> None:
    schema = starter / "features/schema.yaml"
    schema.write_text(schema.read_text("utf-8").replace("dtype: INT32", "dtype: INT33"))
    refused = run("score", "ranker", "-d", starter, "-e", "user=ada", code=1).stderr
    assert "features/schema.yaml" in refused
    assert "years_old" in refused
