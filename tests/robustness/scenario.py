"""What a robustness test found out, said aloud: a fault, what must hold, and the measured value.

A test asks for a `scenario` with the id of a fault and its name in words, and states each criterion
through it. Every statement is kept with the test's report before it is checked, so that one that
does not hold is in the summary as well; the summary is printed at the end of a run. Tests that are
only marked with an id are in it with how many of them passed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from inferflow.tabular import table

from .catalogue import Entry, in_order

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


class Outcomes:
    """How the tests ended that are marked with an id."""

    PROPERTY: ClassVar[str] = "marked"
    """The name of the report's property; its values are ids."""

    def __init__(self) -> None:
        self._counts: dict[str, Counter[str]] = {}

    def note(self, id: str, outcome: str) -> None:
        self._counts.setdefault(id, Counter())[outcome] += 1

    def parts(self, listed: Mapping[str, Entry]) -> list[list[str]]:
        """As those of a statement, in the words of the catalogue."""
        return [
            [id, listed[id].fault, listed[id].promise, _told(counts), _verdict(counts)]
            for id, counts in self._counts.items()
        ]


def _told(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {outcome}" for outcome, count in counts.items())


def _verdict(counts: Counter[str]) -> str:
    if counts["failed"] or counts["error"]:
        return "NOT OK"
    return "ok" if counts["passed"] else "-"


StartScenario = Callable[[str, str], Scenario]


def summary(statements: Iterable[list[str]]) -> list[str]:
    """Lines of all statements, by id."""
    rows = sorted(statements, key=lambda parts: in_order(parts[0]))
    return table(("id", "fault", "criterion", "measured", ""), rows)
