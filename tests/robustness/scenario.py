"""What a robustness test found out, said aloud: a fault, what must hold, and the measured value.

A test asks for a `scenario` with the id of a fault and its name in words, and states each criterion
through it. Every statement is kept with the test's report before it is checked, so that one that
does not hold is in the summary as well; `summary.py` prints them at the end of a run. A criterion
may be stated as often as there are cases of it: the worst is kept, and how many there were.

Times are judged where nothing else runs, which is `make robustness`. Under `make test` several
tests share a processor, so a time that is too long says something about the machine: it is kept,
and fails nobody.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, replace
from typing import Any

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
    badness: float | None = None
    """How bad the value is beside others of the same criterion, where it is a number."""
    cases: int = 1
    """How many this is the worst of."""

    @property
    def subject(self) -> tuple[str, str, str]:
        return self.id, self.fault, self.criterion

    def parts(self) -> list[Any]:
        """What a report can carry from one process to another."""
        return list(astuple(self))


def worst(alike: Sequence[Statement]) -> Statement:
    """One for all statements of one subject."""
    failed = [each for each in alike if not each.holds]
    found = max(failed or alike, key=lambda each: each.badness or 0)
    return replace(found, cases=sum(each.cases for each in alike))


class Kept:
    """The statements of one test."""

    def __init__(self) -> None:
        self._by_subject: dict[tuple[str, str, str], Statement] = {}

    def add(self, statement: Statement) -> None:
        known = self._by_subject.get(statement.subject)
        self._by_subject[statement.subject] = worst([known, statement] if known else [statement])

    def __iter__(self) -> Iterator[Statement]:
        return iter(self._by_subject.values())


class Scenario:
    """A fault while it is being tried."""

    def __init__(
        self, id: str, fault: str, keep: Callable[[Statement], None], *, times_count: bool = True
    ) -> None:
        self._id = id
        self._fault = fault
        self._keep = keep
        self._times_count = times_count

    def at_most(self, what: str, measured: float, limit: float, unit: str = "") -> None:
        stated = f"{what} ≤ {limit:g}{unit}"
        self._state(stated, f"{measured:.4g}{unit}", measured <= limit, measured)

    def at_least(self, what: str, measured: float, limit: float, unit: str = "") -> None:
        stated = f"{what} ≥ {limit:g}{unit}"
        self._state(stated, f"{measured:.4g}{unit}", measured >= limit, -measured)

    def within(self, what: str, took_s: float, limit_s: float) -> None:
        """That something took no longer."""
        holds = took_s <= limit_s or not self._times_count
        self._state(f"{what} ≤ {_time(limit_s)}", _time(took_s), holds, took_s)

    @contextmanager
    def timed(self, what: str, limit_s: float) -> Iterator[None]:
        """That the block takes no longer."""
        began = time.monotonic()
        yield
        self.within(what, time.monotonic() - began, limit_s)

    @contextmanager
    def soon_over(self, what: str, limit_s: float) -> Iterator[None]:
        """That processes which the block starts and waits for need no more of a processor. How
        long they wait for one is the machine's affair, within reason."""
        began, before = time.monotonic(), _children_s()
        yield
        self.within(f"processor time until {what}", _children_s() - before, limit_s)
        self.within(f"time until {what}", time.monotonic() - began, 5 * limit_s)

    def none(self, what: str, found: Iterable[object], of: int | None = None) -> None:
        """That there are no such things, among so many; the first is told."""
        listed = [str(each) for each in found]
        count = f"{len(listed)}" if of is None else f"{len(listed)} of {of}"
        told = f"{count}: {listed[0]}" if listed else count
        self._state(f"no {what}", told[:200], not listed)

    def shown(self, criterion: str, measured: object) -> None:
        """Keep a statement that assertions before this have checked."""
        self.holds(criterion, measured, True)

    def holds(self, criterion: str, measured: object, holds: bool) -> None:
        self._state(criterion, str(measured), holds)

    def _state(
        self, criterion: str, measured: str, holds: bool, badness: float | None = None
    ) -> None:
        """Keep the statement, and fail the test unless it holds."""
        self._keep(Statement(self._id, self._fault, criterion, measured, holds, badness))
        assert holds, f"{self._id} {self._fault}: {criterion}; measured {measured}"


def _children_s() -> float:
    """Processor time of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _time(seconds: float) -> str:
    return f"{seconds * 1000:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


StartScenario = Callable[[str, str], Scenario]
