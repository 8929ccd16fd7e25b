"""Pushing through the gate: compiled, tried on golden requests, stored."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inferflow.app.config_stores import open_configs
from inferflow.app.publish import Published, push, roll_back
from inferflow.app.settings import read_settings
from inferflow.configstore import Version
from inferflow.errors import (
    GoldenFailed,
    InvalidInput,
    NotFound,
    PlanRejected,
    VersionConflict,
)

Ask = Callable[..., Path]


def written(root: Path) -> str:
    return (root / "configs/echo.json").read_text()


def versions(root: Path) -> list[Version]:
    return list(open_configs(root, read_settings(root)).history("echo"))


def pushed(root: Path, text: str, **more: Any) -> Published:
    return push(root, text, "json", author="ann", config_id="echo", **more)


def shifted(root: Path) -> str:
    """The echo config, one too high."""
    (root / "expressions.yaml").write_text("echo: 1 / (1 / x)\nhigh: x + 1\n")
    return written(root).replace('"compute_id": "echo"', '"compute_id": "high"')


def test_a_push_without_golden_requests_is_compiled_and_says_so(echo: Path) -> None:
    before = written(echo)
    done = pushed(echo, before + "\n")
    assert (done.version.checks, done.outcomes) == ("compiled", ())
    assert written(echo) == before + "\n"
    # What was there and nobody had looked at is a version too.
    assert [each.checks for each in versions(echo)] == ["none", "compiled"]


def test_a_push_that_answers_as_expected_is_accepted(echo: Path, ask: Ask) -> None:
    ask([1.0, 2.0], expect={"echo:score": [1.0, 2.0]})
    ask([1.0], name="of_another", model_config_id="another", expect={"a": [1]})
    ask([1.0], name="expects_nothing")
    done = pushed(echo, written(echo))
    assert done.version.checks == "golden"
    assert [outcome.request for outcome in done.outcomes] == ["request"]


def test_a_push_that_answers_otherwise_changes_nothing_and_shows_the_difference(
    echo: Path, ask: Ask
) -> None:
    ask([1.0, 2.0], expect={"echo:score": [1.0, 2.0]})
    before = written(echo)
    with pytest.raises(GoldenFailed) as refused:
        pushed(echo, shifted(echo))
    assert "request: echo:score[0]: expected 1.0, got 2.0; 2 values differ" in str(refused.value)
    assert written(echo) == before
    assert versions(echo) == []


def test_a_forced_push_is_accepted_and_remembered_as_such(echo: Path, ask: Ask) -> None:
    ask([1.0], expect={"echo:score": [1.0]})
    pushed(echo, written(echo))
    done = pushed(echo, shifted(echo), force=True, note="we know")
    assert done.version.checks == "forced"
    assert done.version.note == "we know; forced past request"
    assert not done.outcomes[0].passed


def test_force_is_not_needed_and_not_recorded_when_everything_passes(echo: Path, ask: Ask) -> None:
    ask([1.0], expect={"echo:score": [1.0]})
    assert pushed(echo, written(echo), force=True).version.checks == "golden"


def test_what_does_not_compile_cannot_be_forced(echo: Path) -> None:
    bad = written(echo).replace('"compute_id": "echo"', '"compute_id": "nobody"')
    with pytest.raises(PlanRejected, match="nobody"):
        pushed(echo, bad, force=True)
    assert versions(echo) == []


def test_a_push_for_another_version_is_refused_after_it_was_checked(echo: Path) -> None:
    pushed(echo, written(echo))
    pushed(echo, written(echo) + "\n", expected=1)
    with pytest.raises(VersionConflict):
        pushed(echo, written(echo) + "\n\n", expected=1)


def test_a_new_config_is_pushed_under_the_id_in_it_or_the_name_of_its_file(echo: Path) -> None:
    inner = json.loads(written(echo))
    push(echo, json.dumps({"second": inner}), "json", author="ann", stem="any")
    push(echo, json.dumps(inner), "json", author="ann", stem="third")
    assert (echo / "configs/second.json").exists()
    assert (echo / "configs/third.json").exists()
    with pytest.raises(InvalidInput, match="'fourth', not 'third'"):
        push(echo, json.dumps({"fourth": inner}), "json", author="ann", config_id="third")
    with pytest.raises(InvalidInput, match="one by one"):
        push(echo, json.dumps({"a": inner, "b": inner}), "json", author="ann", stem="c")


def test_a_broken_config_beside_it_keeps_no_config_from_being_pushed(echo: Path) -> None:
    (echo / "configs/other.json").write_text("{")
    assert pushed(echo, written(echo)).version.number == 1


def test_a_split_is_pushed_through_its_arms_requests_and_all(echo: Path, ask: Ask) -> None:
    ask([3.0], model_config_id="home", expect={"echo:score": [3.0]})
    done = push(echo, '{"ab": {"echo": 100}}', "json", author="ann", stem="home")
    assert done.version.checks == "golden"
    with pytest.raises(PlanRejected, match="there is no such config"):
        push(echo, '{"ab": {"ecko": 100}}', "json", author="ann", stem="home")


def test_a_rollback_is_a_new_version_with_the_old_text(echo: Path, ask: Ask) -> None:
    first = written(echo)
    ask([1.0], expect={"echo:score": [1.0]})
    pushed(echo, first)
    pushed(echo, shifted(echo), force=True)
    done = roll_back(echo, "echo", author="ben")
    assert (done.version.number, done.version.origin) == (3, "rollback")
    assert (done.version.checks, done.version.note) == ("compiled", "back to version 1")
    assert written(echo) == first
    roll_back(echo, "echo", 2, author="ben")  # although its golden request fails
    assert written(echo) == shifted(echo)
    with pytest.raises(NotFound):
        roll_back(echo, "echo", 9, author="ben")


def test_a_rollback_leaves_a_broken_or_deleted_file_for_the_newest_version(echo: Path) -> None:
    first = written(echo)
    pushed(echo, first)
    (echo / "configs/echo.json").write_text("{")
    roll_back(echo, "echo", author="ben")
    assert written(echo) == first
    (echo / "configs/echo.json").unlink()
    roll_back(echo, "echo", author="ben")
    assert written(echo) == first


def test_there_is_nothing_to_roll_back_to_before_the_second_version(echo: Path) -> None:
    pushed(echo, written(echo))
    with pytest.raises(InvalidInput, match="no other version"):
        roll_back(echo, "echo", author="ben")


def test_a_config_that_never_was_cannot_be_rolled_back(echo: Path) -> None:
    with pytest.raises(NotFound, match="ech0"):
        roll_back(echo, "ech0", author="ben")


def test_a_version_that_no_longer_compiles_is_not_rolled_back_to(echo: Path) -> None:
    pushed(echo, written(echo))
    pushed(echo, shifted(echo))
    (echo / "expressions.yaml").write_text("high: x + 1\n")
    before = written(echo)
    with pytest.raises(PlanRejected):
        roll_back(echo, "echo", author="ben")
    assert written(echo) == before
