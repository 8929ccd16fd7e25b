"""What `make robustness` prints says what was found, whatever that was."""

from __future__ import annotations

import pytest

from ..robustness.catalogue import NOT_HERE, Entry
from ..robustness.scenario import Kept, Scenario, Statement
from ..robustness.summary import Ended, summary

LISTED = {
    id: Entry(id, f"fault {id}", f"promise {id}", shown)
    for id, shown in (
        ("A1", "measured"),
        ("A2", "measured"),
        ("A10", "tested"),
        ("B1", "measured"),
        ("G5", f"{NOT_HERE}no such thing"),
    )
}


def stated(*kept: Statement, outcome: str = "passed") -> Ended:
    return Ended(outcome, tuple({each.id: None for each in kept}), kept)


def rows(*ended: Ended) -> list[list[str]]:
    """Cells of the table, without its heading."""
    table = summary(ended, LISTED)[1:-2]
    return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in table]


def scenario_into(kept: Kept, *, times_count: bool = True) -> Scenario:
    return Scenario("A1", "a kill", kept.add, times_count=times_count)


def test_a_statement_is_a_line_with_its_criterion_value_and_verdict() -> None:
    kept = Kept()
    scenario_into(kept).none("call fails", [], of=900)
    assert rows(stated(*kept)) == [["A1", "a kill", "no call fails", "0 of 900", "ok"]]


def test_a_statement_that_does_not_hold_fails_its_test_and_is_shown() -> None:
    kept = Kept()
    with pytest.raises(AssertionError, match="marked answers ≤ 0; measured 3"):
        scenario_into(kept).at_most("marked answers", 3, 0)
    found = rows(stated(*kept, outcome="failed"))
    assert found[0] == ["A1", "a kill", "marked answers ≤ 0", "3", "NOT OK"]
    assert summary([stated(*kept, outcome="failed")], LISTED)[-1].startswith(
        "1 of 4 scenarios run, 0 passed, NOT OK: A1, 0 skipped"
    )


def test_of_many_cases_the_worst_is_shown_and_how_many_there_were() -> None:
    kept, more = Kept(), Kept()
    for seconds in (0.02, 0.04, 0.01):
        scenario_into(kept).within("told", seconds, 0.05)
    scenario_into(more).within("told", 0.03, 0.05)
    found = rows(stated(*kept), stated(*more))
    assert found == [["A1", "a kill", "told ≤ 50 ms", "40 ms, worst of 4", "ok"]]


def test_the_least_is_the_worst_where_more_is_better() -> None:
    kept = Kept()
    for share in (0.9, 0.7, 0.8):
        scenario_into(kept).at_least("goodput", share, 0.5)
    assert rows(stated(*kept))[0][3] == "0.7, worst of 3"


def test_a_time_is_noted_but_fails_nobody_where_other_tests_run() -> None:
    kept = Kept()
    scenario_into(kept, times_count=False).within("told", 2, 0.05)
    assert rows(stated(*kept)) == [["A1", "a kill", "told ≤ 50 ms", "2 s", "ok"]]


def test_tests_that_state_nothing_are_counted() -> None:
    ended = [Ended("passed", ("A10",)), Ended("passed", ("A10",)), Ended("failed", ("A10",))]
    told = "tests: 2 passed, 1 failed"
    assert rows(*ended) == [["A10", "fault A10", "promise A10", told, "NOT OK"]]


def test_the_last_line_says_what_ran_what_was_skipped_and_why() -> None:
    kept = Kept()
    scenario_into(kept).holds("it lives", "running", True)
    skipped = Ended("skipped", ("B1",), reason="a network of its own needs root")
    last = summary([stated(*kept), skipped, Ended("passed", ("A2",))], LISTED)[-1]
    assert last == (
        "2 of 4 scenarios run, 2 passed, "
        "1 skipped (B1: a network of its own needs root), not in this run: A10"
    )


def test_a_statement_survives_the_way_through_a_report() -> None:
    statement = Statement("A1", "a kill", "told ≤ 50 ms", "40 ms", True, 0.04, 4)
    assert Statement(*statement.parts()) == statement
