"""What `pip install inferflow` alone brings: a project opened, scored, explained and tested.

Everything that only an extra installs is hidden from one interpreter, which then runs the commands
one after another, as a person would.
"""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys

import pytest
from packaging.requirements import Requirement

PROGRAM = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
from inferflow.cli.root import app

for command in COMMANDS:
    print("$", command, flush=True)
    try:
        code = app(command.split(), standalone_mode=False)
    except SystemExit as ended:
        code = ended.code
    if code:
        sys.exit(code)
"""
COMMANDS = [
    "demo --once --dir shop",
    "init books",
    "validate books",
    "score ranker --dir books --request books/requests/ranker.json",
    "explain ranker --dir books --request books/requests/ranker.json --item 4",
    "test books",
    "features put book 4 price=3 --dir books",
    "features import books/features/book.facts.csv --dir books",
    "config push books/configs/ranker.yaml --dir books",
    "config history ranker --dir books",
    "compute eval a+1 a=2",
    "settings books",
    "backup books.tar.gz --dir books",
    "demo --dir shop",  # goes on to serve it, which takes more than the base
]


def base() -> set[str]:
    """Distributions that are installed without any extra."""
    found: set[str] = set()
    waiting = ["inferflow"]
    while waiting:
        name = waiting.pop().lower().replace("_", "-")
        if name in found:
            continue
        found.add(name)
        for text in importlib.metadata.requires(name) or ():
            needed = Requirement(text)
            if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                waiting.append(needed.name)
    return found


def hidden() -> list[str]:
    """Modules that are installed here, and would not be by the base alone."""
    known = base()
    return sorted(
        module
        for module, distributions in importlib.metadata.packages_distributions().items()
        if not any(each.lower().replace("_", "-") in known for each in distributions)
    )


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    program = f"HIDDEN = {set(hidden())!r}\nCOMMANDS = {COMMANDS!r}\n{PROGRAM}"
    return subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path_factory.mktemp("base"),
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_base_alone_runs_a_project_from_beginning_to_end(
    done: subprocess.CompletedProcess[str],
) -> None:
    assert {"grpc", "prometheus_client", "redis"} <= set(hidden())
    assert f"$ {COMMANDS[-1]}" in done.stdout, done.stdout[-2000:] + done.stderr[-2000:]


def test_what_needs_more_does_what_it_can_and_says_which_command_installs_it(
    done: subprocess.CompletedProcess[str],
) -> None:
    assert "using the shop in shop" in done.stdout
    assert "pip install 'inferflow[all]'" in done.stderr
    assert done.returncode == 1
