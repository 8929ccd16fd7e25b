"""Lets every test state what it measured, and prints the table after `make robustness`.

`tests/conftest.py` hands these to pytest, so that a statement stands in the test that shows it,
wherever that is.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .catalogue import PAGE, entries, ids_of
from .scenario import PROPERTY, Kept, Scenario, StartScenario, Statement
from .summary import Ended, summary

HERE = Path(__file__).parent
NAMED = "scenario id"
"""The name of a report's property; its values are the ids its test names."""
KEPT = pytest.StashKey[Kept]()


def is_asked_for(config: pytest.Config) -> bool:
    """Whether this is `make robustness`, which runs one test at a time."""
    chosen: str = config.option.markexpr
    return chosen.startswith("robustness")


# Before marks are chosen by.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.robustness)
        if "scenario" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.scenario)
        if is_asked_for(config) and item.get_closest_marker("scenario"):
            item.user_properties += [(NAMED, id) for id in ids_of(item)]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """What a test states goes into its own report, even if it fails."""
    kept = item.config.stash[KEPT] = Kept()
    try:
        return (yield)
    finally:
        item.user_properties += [(PROPERTY, statement.parts()) for statement in kept]


# For the session, so that a test of random cases may state something about each of them.
@pytest.fixture(scope="session")
def scenario(pytestconfig: pytest.Config) -> StartScenario:
    """Begins a scenario: `scenario("D1", "the feature store is slow")`."""

    def keep(statement: Statement) -> None:
        pytestconfig.stash[KEPT].add(statement)

    return lambda id, fault: Scenario(id, fault, keep, times_count=is_asked_for(pytestconfig))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if is_asked_for(terminalreporter.config):
        terminalreporter.section("robustness")
        listed = entries(PAGE.read_text(encoding="utf-8"))
        for line in summary(_ended(terminalreporter.stats), listed):
            terminalreporter.line(line)


def _ended(stats: dict[str, list[Any]]) -> Iterator[Ended]:
    for outcome in ("passed", "failed", "error", "skipped"):
        for report in stats.get(outcome, []):
            known = getattr(report, "user_properties", ())
            ids = tuple(value for name, value in known if name == NAMED)
            stated = tuple(Statement(*value) for name, value in known if name == PROPERTY)
            if ids or stated:
                yield Ended(outcome, ids, stated if report.when == "call" else (), _reason(report))


def _reason(report: pytest.TestReport) -> str:
    if report.outcome == "skipped" and isinstance(report.longrepr, tuple):
        return report.longrepr[2].removeprefix("Skipped: ")
    return ""
