"""The web pages' own checks: types, lint, and a test for each face of each page."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

UI = Path(__file__).parents[2] / "ui"
NPX = shutil.which("npx")

pytestmark = pytest.mark.skipif(
    NPX is None or not (UI / "node_modules").exists(),
    reason="needs Node and what `make ui` installs",
)


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(NPX), *command], cwd=UI, capture_output=True, text=True, check=False)


def test_types_of_the_gateways_answers_are_those_of_its_openapi_document(tmp_path: Path) -> None:
    made = _run("openapi-typescript", "openapi.json", "-o", str(tmp_path / "schema.d.ts"))
    assert made.returncode == 0, made.stderr
    kept = (UI / "src" / "api" / "schema.d.ts").read_text("utf-8")
    told = "ui/src/api/schema.d.ts is old: run `npm run types` in ui"
    assert (tmp_path / "schema.d.ts").read_text("utf-8") == kept, told


@pytest.mark.parametrize(
    "tool", [("tsc", "--noEmit"), ("eslint", "."), ("prettier", "--check", ".")]
)
def test_the_sources_are_typed_linted_and_formatted(tool: tuple[str, ...]) -> None:
    found = _run(*tool)
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.timeout(600)
def test_every_page_has_its_faces() -> None:
    tested = _run("vitest", "run", "--pool=threads", "--maxWorkers=1", "--reporter=dot")
    assert tested.returncode == 0, tested.stdout + tested.stderr
