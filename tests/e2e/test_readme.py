"""The first screen of the README is true: what it shows is what its commands print."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from inferflow.cli.root import app

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("readme")
    (folder / "demo.txt").write_text(
        _run(["-c", "from inferflow.cli import main; main()", "demo", "--once"], folder)
    )
    return folder


def _run(arguments: list[str], folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_ranking_it_shows_is_the_one_the_demo_prints(shop: Path) -> None:
    printed = (shop / "demo.txt").read_text(encoding="utf-8")
    table = [line for line in printed.splitlines() if re.match(r"\s*(rank|\d+)  ", line)]
    assert len(table) == 13
    for line in table:
        assert line.rstrip() in README


def test_its_ten_lines_of_python_run_as_they_are(shop: Path) -> None:
    snippet = re.search(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert snippet is not None
    assert "blend" in _run(["-c", snippet[1]], shop)


def test_every_command_it_lists_exists() -> None:
    listed = set(re.findall(r"^\| `inferflow (\w+)", README, re.MULTILINE))
    commands = get_command(app).commands  # type: ignore[attr-defined]  # a click group
    assert listed
    assert listed <= set(commands)


def test_every_file_it_links_to_is_there() -> None:
    for link in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (Path(__file__).parents[2] / link).exists(), link


def test_the_quickstart_prints_a_ranking(shop: Path) -> None:
    script = Path(__file__).parents[2] / "examples" / "quickstart.py"
    first, best, *_ = _run([str(script)], shop).splitlines()
    assert first.split()[:2] == ["rank", "id"]
    assert best.split()[:2] == ["1", "2"]
