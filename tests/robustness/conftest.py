"""Faults that take their time: `make robustness` runs them, `make test` does not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ..servers.etcd import etcd, fragile_etcd  # noqa: F401
from .catalogue import PAGE, entries
from .scenario import PROPERTY, Outcomes, Scenario, StartScenario, summary

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.robustness)
        for mark in item.iter_markers("scenario"):
            item.user_properties += [(Outcomes.PROPERTY, id) for id in mark.args]


@pytest.fixture
def scenario(record_property: Callable[[str, object], None]) -> StartScenario:
    """Begins a scenario: `scenario("D1", "the feature store is slow")`."""
    return lambda id, fault: Scenario(
        id, fault, lambda statement: record_property(PROPERTY, statement.parts())
    )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    stated: list[list[str]] = []
    outcomes = Outcomes()
    for outcome in ("passed", "failed", "error", "skipped"):
        for report in terminalreporter.stats.get(outcome, []):
            for name, value in getattr(report, "user_properties", ()):
                if name == PROPERTY and report.when == "call":
                    stated.append(value)
                elif name == Outcomes.PROPERTY:
                    outcomes.note(value, outcome)
    # `make test` runs marked tests too, and shows no table.
    if terminalreporter.config.option.markexpr.startswith("robustness"):
        terminalreporter.section("robustness")
        listed = entries(PAGE.read_text(encoding="utf-8"))
        for line in summary([*stated, *outcomes.parts(listed)]):
            terminalreporter.line(line)
