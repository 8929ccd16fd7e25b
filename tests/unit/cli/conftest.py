"""The command, run inside the test's own process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from inferflow.app.scaffold import write_starter
from inferflow.cli.root import app

Run = Callable[..., Result]


@pytest.fixture
def starter(tmp_path: Path) -> Path:
    write_starter(tmp_path / "starter")
    return tmp_path / "starter"


@pytest.fixture
def run() -> Run:
    """Runs `inferflow` with these arguments and expects this exit code."""

    def invoke(*arguments: Any, code: int = 0, stdin: str | None = None) -> Result:
        result = CliRunner().invoke(app, [str(each) for each in arguments], input=stdin)
        assert result.exit_code == code, (result.output, result.exception)
        return result

    return invoke
