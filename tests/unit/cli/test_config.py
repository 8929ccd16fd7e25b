"""`inferflow config`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

Run = Callable[..., Result]


@pytest.fixture
def config(run: Run, starter: Path) -> Run:
    """`inferflow config …` on the starter project."""

    def invoke(command: str, *arguments: Any, **more: Any) -> Result:
        return run("config", command, *arguments, "--dir", starter, **more)

    return invoke


@pytest.fixture
def longer(starter: Path, tmp_path: Path) -> Path:
    """A second version of the starter's config, in a file elsewhere."""
    path = tmp_path / "ranker.yaml"
    path.write_text((starter / "configs/ranker.yaml").read_text() + "      - book:facts:rating\n")
    return path


def test_a_config_is_new_then_recorded_then_edited(
    config: Run, starter: Path, longer: Path
) -> None:
    def state() -> Any:
        (found,) = json.loads(config("list", "--json").output)["configs"]
        return found["state"], found["version"] and found["version"]["number"]

    assert state() == ("new", None)
    config("push", starter / "configs/ranker.yaml")
    assert state() == ("recorded", 1)
    (starter / "configs/ranker.yaml").write_text(longer.read_text())
    assert state() == ("edited", 1)
    (starter / "configs/ranker.yaml").write_text("{")
    assert state() == ("unreadable", 1)
    assert "not valid YAML" in config("list").output


def test_a_pushed_config_is_read_back_to_the_letter(config: Run, longer: Path) -> None:
    done = config("push", longer, "--author", "ann", "--note", "ratings")
    assert "ranker is at version 2" in done.output
    assert "golden, 1 of 1 golden requests passed" in done.output
    assert config("get", "ranker").output == longer.read_text()
    assert config("get", "ranker", 2).output == longer.read_text()
    found = json.loads(config("get", "ranker", "--json").output)
    assert (found["file"], found["text"]) == ("configs/ranker.yaml", longer.read_text())


def test_a_config_comes_from_stdin_with_its_id(config: Run, longer: Path) -> None:
    config("push", "-", stdin=longer.read_text(), code=2)
    config("push", "-", "--id", "ranker", stdin=longer.read_text())
    assert config("get", "ranker").output == longer.read_text()


def test_history_shows_who_how_and_why_newest_first(
    config: Run, starter: Path, longer: Path
) -> None:
    config("push", starter / "configs/ranker.yaml", "--author", "ann")
    config("push", longer, "--author", "ben", "--expect", 1)
    config("rollback", "ranker", "--author", "cy", "--expect", 2)
    versions = json.loads(config("history", "ranker", "--json").output)["versions"]
    assert [each["author"] for each in versions] == ["cy", "ben", "ann"]
    assert [each["origin"] for each in versions] == ["rollback", "push", "push"]
    text = config("history", "ranker").output
    assert "back to version 1" in text


def test_diff_compares_versions_and_what_is_written_now(
    config: Run, starter: Path, longer: Path
) -> None:
    config("push", starter / "configs/ranker.yaml")
    assert "say the same" in config("diff", "ranker").output
    config("push", longer)
    assert "\n+      - book:facts:rating\n" in config("diff", "ranker", 1).output
    assert "\n-      - book:facts:rating\n" in config("diff", "ranker", 2, 1).output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["get", "rankr"], "no model config 'rankr'; did you mean 'ranker'?"),
        (["get", "ranker", "7"], "no version of config 'ranker' '7'"),
        (["history", "rankr"], "no model config 'rankr'"),
        (["diff", "ranker"], "has no versions yet"),
        (["rollback", "ranker"], "no other version"),
        (["push", "nowhere.yaml"], "cannot be read"),
    ],
)
def test_what_is_not_there_is_said(config: Run, arguments: list[str], message: str) -> None:
    assert message in config(*arguments, code=1).stderr


def test_a_push_that_fails_a_check_fails_with_the_reason(
    config: Run, starter: Path, longer: Path
) -> None:
    config("push", starter / "configs/ranker.yaml")
    assert "expected version 7" in config("push", longer, "--expect", 7, code=1).stderr
    request = starter / "requests/ranker.json"
    request.write_text(request.read_text().replace("0.7251195", "0.9"))
    assert "expected 0.9, got" in config("push", longer, code=1).stderr
    forced = json.loads(config("push", longer, "--force", "--json").output)
    assert forced["version"]["checks"] == "forced"
    longer.write_text(longer.read_text().replace("facts:rating", "facts:ratings"))
    assert "closest: 'book:facts:rating'" in config("push", longer, "--force", code=1).stderr
