"""Faults that take their time: `make robustness` runs them, `make test` does not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ..servers.etcd import etcd, fragile_etcd  # noqa: F401
from .scenario import PROPERTY, Scenario, StartScenario, summary

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.robustness)


@pytest.fixture
def scenario(record_property: Callable[[str, object], None]) -> StartScenario:
    """Begins a scenario: `scenario("D1", "the feature store is slow")`."""
    return lambda id, fault: Scenario(
        id, fault, lambda statement: record_property(PROPERTY, statement.parts())
    )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [
        report
        for outcome in ("passed", "failed")
        for report in terminalreporter.stats.get(outcome, [])
        if report.when == "call"
    ]
    stated = [value for each in reports for name, value in each.user_properties if name == PROPERTY]
    if stated:
        terminalreporter.section("robustness")
        for line in summary(stated):
            terminalreporter.line(line)
