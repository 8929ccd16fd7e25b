"""The command as a whole: help, version, errors, start-up."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import inferflow
from inferflow.cli import main
from inferflow.cli.failing import DEBUG

from .conftest import Run


def test_help_names_every_command(run: Run) -> None:
    text = run("--help").stdout
    for name in ("demo", "init", "validate", "score", "explain", "test", "features", "compute"):
        assert f"  {name} " in text


def test_version_is_the_packages(run: Run) -> None:
    assert run("--version").stdout == f"inferflow {inferflow.__version__}\n"


def test_an_error_is_one_line_on_stderr(run: Run, starter: Path) -> None:
    failed = run("explain", "rankr", "--dir", starter, code=1)
    assert failed.stdout == ""
    assert failed.stderr == "error: no model config 'rankr'; did you mean 'ranker'?\n"


@pytest.mark.parametrize(
    "arguments",
    [["nothing"], ["score"], ["score", "ranker"], ["explain", "r", "--item", "1"], ["init"]],
)
def test_wrong_usage_ends_with_two(run: Run, arguments: list[str]) -> None:
    assert "Usage: " in run(*arguments, code=2).stderr


def raising(error: BaseException) -> Any:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    return fail


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (KeyboardInterrupt(), "error: interrupted"),
        (OSError(28, "No space left on device", "x.csv"), "error: x.csv: No space left on device"),
        (ZeroDivisionError("oops"), "error: ZeroDivisionError: oops; this is a bug in Inferflow"),
    ],
)
def test_whatever_is_raised_becomes_a_line(
    run: Run, starter: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, line: str
) -> None:
    monkeypatch.delenv(DEBUG, raising=False)
    monkeypatch.setattr("inferflow.app.golden.run_golden", raising(error))
    assert run("test", starter, code=1).stderr.startswith(line)


def test_a_traceback_is_there_for_whoever_asks(
    run: Run, starter: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DEBUG, "1")
    monkeypatch.setattr("inferflow.app.golden.run_golden", raising(ZeroDivisionError("oops")))
    assert isinstance(run("test", starter, code=1).exception, ZeroDivisionError)


def test_a_folder_that_is_no_project_is_not_filled_with_state(run: Run, tmp_path: Path) -> None:
    for arguments in (
        ["score", "ranker", "-e", "user=1"],
        ["features", "get", "user", "1"],
        ["explain", "ranker"],
    ):
        assert "not a project" in run(*arguments, "--dir", tmp_path, code=1).stderr
    assert list(tmp_path.iterdir()) == []


def test_help_imports_nothing_heavy() -> None:
    heavy = ("numpy", "pydantic", "yaml", "rich", "onnxruntime", "lmdb", "pyarrow", "pandas")
    code = (
        "import sys; from inferflow.cli.root import app\n"
        "try: app(['--help'])\n"
        "except SystemExit: pass\n"
        f"print(sorted(set(sys.modules) & set({heavy!r})))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_an_interrupt_before_any_command_has_begun_is_a_line_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("inferflow.cli.root.app", raising(KeyboardInterrupt()))
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    assert capsys.readouterr().err == "error: interrupted\n"
