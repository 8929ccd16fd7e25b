"""What a robustness test found out, said aloud: a fault, what must hold, and the measured value.

A test asks for a `scenario` with the id of a fault and its name in words, and states each criterion
through it. Every statement is kept with the test's report before it is checked, so that one that
does not hold is in the summary as well; the summary is printed at the end of a run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from inferflow.tabular import table

PROPERTY = "scenario"
"""The name of the report's property; its values are `Statement.parts`."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One criterion of one fault."""

    id: str
    fault: str
    criterion: str
    measured: str
    holds: bool

    def parts(self) -> list[str]:
        return [
            self.id,
            self.fault,
            self.criterion,
            self.measured,
            "ok" if self.holds else "NOT OK",
        ]


class Scenario:
    """A fault while it is being tried."""

    def __init__(self, id: str, fault: str, keep: Callable[[Statement], None]) -> None:
        self._id = id
        self._fault = fault
        self._keep = keep

    def at_most(self, what: str, measured: float, limit: float, unit: str = "") -> None:
        self.holds(f"{what} ≤ {limit:g}{unit}", f"{measured:.4g}{unit}", measured <= limit)

    def at_least(self, what: str, measured: float, limit: float, unit: str = "") -> None:
        self.holds(f"{what} ≥ {limit:g}{unit}", f"{measured:.4g}{unit}", measured >= limit)

    def none(self, what: str, found: Iterable[object]) -> None:
        """That there are no such things; the first is told."""
        listed = [str(each) for each in found]
        told = f"{len(listed)}: {listed[0]}" if listed else "0"
        self.holds(f"no {what}", told[:200], not listed)

    def holds(self, criterion: str, measured: object, holds: bool) -> None:
        """Keep the statement, and fail the test unless it holds."""
        statement = Statement(self._id, self._fault, criterion, str(measured), holds)
        self._keep(statement)
        assert holds, f"{self._id} {self._fault}: {criterion}; measured {measured}"


StartScenario = Callable[[str, str], Scenario]


def summary(statements: Iterable[list[str]]) -> list[str]:
    """Lines of all statements, by id."""
    rows = sorted(statements, key=lambda parts: parts[0])
    return table(("id", "fault", "criterion", "measured", ""), rows)
