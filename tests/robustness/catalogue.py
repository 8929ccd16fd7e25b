"""The page of robustness promises, and the tests that show them.

The page is the catalogue: one row per id. Tests name ids in two ways. Those of this folder begin a
`scenario("B1", …)` and state what they measured; any other test is marked
`@pytest.mark.scenario("A1")` and speaks by passing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "operate" / "robustness.md"

MEASURED, TESTED, NOT_HERE = "measured", "tested", "not here: "

_ROW = re.compile(r"\| ([A-Z]\d+) \| (.+?) \| (.+?) \| (.+?) \|")


@dataclass(frozen=True, slots=True)
class Entry:
    """One row."""

    id: str
    fault: str
    promise: str
    shown: str


def entries(text: str) -> dict[str, Entry]:
    """The rows by id. An id that is there twice is a mistake."""
    rows = [Entry(*found.groups()) for found in map(_ROW.fullmatch, text.splitlines()) if found]
    listed = {entry.id: entry for entry in rows}
    assert len(listed) == len(rows), "an id is there twice"
    return listed


def in_order(id: str) -> tuple[str, int]:
    """So that A2 comes before A10."""
    return id[0], int(id[1:])


def named(file: Path) -> Iterator[tuple[str, str]]:
    """(how, id) for every id a file of tests names."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called == "scenario":
                yield MEASURED, ast.literal_eval(node.args[0])
            elif called == "pytest.mark.scenario":
                yield from ((TESTED, ast.literal_eval(each)) for each in node.args)


def shown_by_tests() -> dict[str, set[str]]:
    """How each id is shown, as the tests themselves say."""
    found: dict[str, set[str]] = {}
    for file in sorted(TESTS.rglob("test_*.py")):
        text = file.read_text(encoding="utf-8")
        if "mark.scenario(" in text or "StartScenario" in text:
            for how, id in named(file):
                found.setdefault(id, set()).add(how)
    return found
