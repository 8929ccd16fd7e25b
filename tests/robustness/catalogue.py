"""The page of robustness promises, and the tests that show them.

The page is the catalogue: one row per id. Tests name ids in two ways: they begin a
`scenario("B1", …)` and state what they measured, or they are marked `@pytest.mark.scenario("A1")`
and speak by passing.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from textwrap import dedent
from typing import Any

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


def ids_of(item: Any) -> set[str]:
    """The ids one collected test names, those of its module's mark included."""
    marked = {id for mark in item.iter_markers("scenario") for id in mark.args}
    return marked | _stated_in(item.function)


@cache
def _stated_in(function: Any) -> set[str]:
    return {id for how, id in named(dedent(inspect.getsource(function))) if how == MEASURED}


def named(text: str) -> Iterator[tuple[str, str]]:
    """(how, id) for every id that the source of tests names."""
    for node in ast.walk(ast.parse(text)):
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
            for how, id in named(text):
                found.setdefault(id, set()).add(how)
    return found
