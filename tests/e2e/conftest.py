"""The real command, as a person runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from .triton_client import python_with_triton

SCRIPTS = Path(sys.executable).parent

Shell = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """Runs a command line in an empty folder, with `inferflow` and `python` on the path."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("INFERFLOW_")},
        "PATH": os.pathsep.join([str(SCRIPTS), os.environ.get("PATH", "")]),
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }
    folder = tmp_path / "work"
    folder.mkdir()

    def run(command: str, *, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            command,
            shell=True,
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == code, (command, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        return done

    return run


@pytest.fixture(scope="session")
def triton_python() -> Path:
    """An interpreter with the public Triton client."""
    return python_with_triton()
