"""`inferflow explain`"""

from __future__ import annotations

import json
from pathlib import Path

from .conftest import Run


def test_without_a_request_the_plan_is_shown_and_no_data_is_loaded(run: Run, starter: Path) -> None:
    text = run("explain", "ranker", "--dir", starter).stdout
    assert text.startswith("ranker: 5 steps on 4 levels")
    assert "local like_model@1" in text
    assert not (starter / ".inferflow").exists()


def test_with_a_request_every_step_has_a_bar(run: Run, starter: Path) -> None:
    request = starter / "requests/ranker.json"
    text = run("explain", "ranker", "--dir", starter, "--request", request).stdout
    for step in ("feature_initializer", "fs_user", "fs_book", "like_model", "pick"):
        (line,) = [line for line in text.splitlines() if line.startswith(step + " ")]
        assert "█" in line
        assert "12 rows" in line


def test_an_item_has_every_feature_with_its_source(run: Run, starter: Path) -> None:
    text = run("explain", "ranker", "-d", starter, "-e", "user=ada", "-e", "book=1,99", "-i", "99")
    columns = text.stdout.partition("99: target 2 of 2")[2].splitlines()
    (price,) = [line for line in columns if "book:facts:price" in line and "book[" in line]
    assert "missing, default used" in price
    assert "book[book_id=99]" in price
    (likes,) = [line for line in columns if "user:profile:likes_new" in line and "user[" in line]
    assert " real " in likes


def test_programs_get_facts(run: Run, starter: Path) -> None:
    plan = json.loads(run("explain", "ranker", "-d", starter, "--json").stdout)
    assert plan["steps"][0]["step"] == "feature_initializer"
    asked = ("explain", "ranker", "-d", starter, "-e", "user=ada", "-e", "book=1,2", "--json")
    assert json.loads(run(*asked).stdout)["targets"] == 2
    item = json.loads(run(*asked, "--item", 2).stdout)
    assert item["item"] == "2"
    assert item["rows"][0]["row"] == 1


def test_an_item_that_was_not_asked_for_is_told(run: Run, starter: Path) -> None:
    refused = run(
        "explain", "ranker", "-d", starter, "-e", "book=1,2", "-e", "user=x", "-i", 3, code=1
    )
    assert refused.stderr == "error: no target '3'\n"


def test_an_unknown_config_is_told_with_the_nearest(run: Run, starter: Path) -> None:
    assert "did you mean 'ranker'" in run("explain", "ranke", "-d", starter, code=1).stderr


def test_a_request_that_fails_is_shown_and_is_a_failure(run: Run, starter: Path) -> None:
    (starter / "expressions.yaml").write_text("pick: like / years_old + 0 * likes_new\n")
    config = starter / "configs/ranker.yaml"
    strict = config.read_text("utf-8").replace(
        "        compute_id: pick",
        "        compute_id: pick\n        on_error: fail\n        domain_errors: fail",
    )
    config.write_text(strict)
    text = run(
        "explain", "ranker", "-d", starter, "-e", "user=ada", "-e", "book=1,3", code=1
    ).stdout
    assert "failed: step 'pick'" in text
    assert "division by zero" in text


def test_a_server_is_asked_for_requests_and_for_what_it_kept(run: Run, starter: Path) -> None:
    for arguments in (
        ("ranker", "--target", "127.0.0.1:1"),
        ("ranker", "--item", "1"),
        ("ranker", "--last"),
        ("ranker", "--recording", "beef-1"),
        ("--last", "--recording", "beef-1"),
        (),
    ):
        assert run("explain", *arguments, "-d", starter, code=2).stdout == ""


def test_what_was_kept_is_asked_of_the_server_the_project_names(run: Run, starter: Path) -> None:
    (starter / "inferflow.toml").write_text("[serve]\nport = 1\n")
    for arguments in (("--last",), ("--recording", "beef-1")):
        refused = run("explain", *arguments, "-d", starter, code=1)
        assert "no server answered at 127.0.0.1:1" in refused.stderr
