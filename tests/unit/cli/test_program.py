"""Hints name a command that works where it is typed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from inferflow.cli.program import interpreter, program


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    script = tmp_path / "bin" / "inferflow"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    return script


def test_a_program_on_the_path_goes_by_its_name(
    installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(installed.parent))
    monkeypatch.setattr(sys, "argv", [str(installed)])
    assert (program(), interpreter()) == ("inferflow", "python")


def test_any_other_goes_by_the_path_it_was_started_with(
    installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.chdir(installed.parents[1])
    monkeypatch.setattr(sys, "argv", ["bin/inferflow"])
    assert (program(), interpreter()) == ("bin/inferflow", "bin/python")


def test_another_program_of_that_name_on_the_path_is_not_meant(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other" / "inferflow"
    other.parent.mkdir()
    other.write_bytes(installed.read_bytes())
    other.chmod(0o755)
    monkeypatch.setenv("PATH", str(other.parent))
    monkeypatch.setattr(sys, "argv", [str(installed)])
    assert program() == str(installed)
