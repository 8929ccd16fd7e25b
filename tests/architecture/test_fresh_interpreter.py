"""What an import costs, seen from an interpreter that has imported nothing yet."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = {"lmdb", "onnxruntime", "pyarrow", "pandas"}
LIGHT_TOO = {"numpy", "pydantic", "pydantic_settings", "yaml", "typer", "rich", "asyncio"}

PACKAGES = [
    "inferflow",
    "inferflow.access",
    "inferflow.app.flow",
    "inferflow.cli",
    "inferflow.client.sdk.aio",
    "inferflow.components.assemble",
    "inferflow.compute",
    "inferflow.demo",
    "inferflow.dtypes",
    "inferflow.engine.scorer",
    "inferflow.errors",
    "inferflow.featurestore",
    "inferflow.plan.compiler",
    "inferflow.scores",
    "inferflow.serving.manager.services",
    "inferflow.serving.runtime",
    "inferflow.testing",
]


def loaded_by(statement: str) -> set[str]:
    """Top-level modules an interpreter holds after a statement."""
    program = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return {name.partition(".")[0] for name in json.loads(run.stdout.splitlines()[-1])}


@pytest.mark.parametrize("statement", ["import inferflow", "import inferflow.cli"])
def test_importing_the_package_or_its_command_loads_nothing_of_weight(statement: str) -> None:
    loaded = loaded_by(statement)
    assert loaded.isdisjoint(HEAVY | LIGHT_TOO)


def test_the_command_tree_is_built_without_numpy() -> None:
    """`inferflow --help` has to be there at once."""
    loaded = loaded_by("import inferflow.cli.root")
    assert loaded.isdisjoint(HEAVY | {"numpy", "pydantic", "asyncio"})


def test_every_package_can_be_imported_first() -> None:
    """A cycle shows only from the side nobody else came in by."""
    program = "\n".join(
        [
            "import importlib, sys",
            f"for name in {PACKAGES!r}:",
            "    for known in [n for n in sys.modules if n.partition('.')[0] == 'inferflow']:",
            "        del sys.modules[known]",
            "    importlib.import_module(name)",
            f"    assert {HEAVY!r}.isdisjoint(sys.modules), name",
        ]
    )
    loaded_by(program)


def test_the_public_names_load_what_they_need_when_they_are_used() -> None:
    loaded = loaded_by("import inferflow; inferflow.Scores")
    assert "numpy" in loaded
    assert loaded.isdisjoint(HEAVY)


def test_the_client_of_a_fleet_needs_nothing_of_the_engine() -> None:
    program = (
        "import sys, inferflow.client.sdk.sync\n"
        "ours = {n for n in sys.modules if n.startswith('inferflow.')}\n"
        "assert not {n for n in ours if n.split('.')[1] in ('components', 'compute', 'serving')}\n"
        "assert 'inferflow.engine.executor' not in ours"
    )
    assert loaded_by(program).isdisjoint(HEAVY | {"pydantic", "yaml", "typer", "rich"})
