"""The table at the end of a run: what was measured for each id, and how many ids are kept.

Statements of one criterion of one fault are one line, with the worst of them. Tests that are only
marked with an id have a line for all of them, with how many passed. An id is kept if something ran
for it and nothing failed; one for which everything was skipped is told with the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from inferflow.tabular import table

from .catalogue import NOT_HERE, Entry, in_order
from .scenario import Statement, worst

WIDEST = 72
COLUMNS = ("id", "fault", "criterion", "measured", "verdict")


@dataclass(frozen=True, slots=True)
class Ended:
    """How one test ended, and what it is about."""

    outcome: str
    """As pytest calls it: `passed`, `failed`, `error`, `skipped`."""
    ids: tuple[str, ...]
    """Those it names, whether it came to a statement or not."""
    statements: tuple[Statement, ...] = ()
    reason: str = ""
    """Of one that was skipped."""


@dataclass(slots=True)
class _Tried:
    """What is known about one id."""

    stated: list[Statement] = field(default_factory=list)
    unstated: Counter[str] = field(default_factory=Counter)
    """How tests ended that stated nothing about it."""
    reason: str = ""

    @property
    def has_failed(self) -> bool:
        told = any(not each.holds for each in self.stated)
        return told or bool(self.unstated["failed"] or self.unstated["error"])

    @property
    def was_skipped(self) -> bool:
        return not self.stated and set(self.unstated) == {"skipped"}


def summary(ended: Iterable[Ended], listed: Mapping[str, Entry]) -> list[str]:
    """The lines: a table by id, and a last one that counts."""
    tried = _by_id(ended)
    rows = [
        row
        for id in sorted(tried, key=in_order)
        for row in (*_stated_rows(tried[id].stated), *_unstated_rows(listed[id], tried[id]))
    ]
    return [*table(COLUMNS, rows), "", _counted(tried, listed)]


def _by_id(ended: Iterable[Ended]) -> dict[str, _Tried]:
    tried: dict[str, _Tried] = {}
    for test in ended:
        about = {each.id for each in test.statements}
        for each in test.statements:
            tried.setdefault(each.id, _Tried()).stated.append(each)
        for id in test.ids:
            known = tried.setdefault(id, _Tried())
            known.reason = known.reason or test.reason
            if id not in about or test.outcome != "passed":
                known.unstated[test.outcome] += 1
    return tried


def _stated_rows(stated: list[Statement]) -> list[list[str]]:
    alike: dict[tuple[str, ...], list[Statement]] = {}
    for each in stated:
        alike.setdefault(each.subject, []).append(each)
    return [_row(worst(each)) for each in alike.values()]


def _row(found: Statement) -> list[str]:
    verdict = "ok" if found.holds else "NOT OK"
    return [found.id, found.fault, found.criterion, _measured(found), verdict]


def _measured(found: Statement) -> str:
    if found.cases == 1:
        return found.measured
    if found.badness is not None:
        return f"{found.measured}, worst of {found.cases}"
    return f"{found.measured}, {found.cases} cases"


def _unstated_rows(entry: Entry, tried: _Tried) -> list[list[str]]:
    """At most one, in the words of the catalogue."""
    if not tried.unstated:
        return []
    counts = tried.unstated
    told = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
    failed = counts["failed"] or counts["error"]
    verdict = "NOT OK" if failed else "ok" if counts["passed"] else "-"
    reason = f": {tried.reason}" if counts["skipped"] and tried.reason else ""
    return [[entry.id, entry.fault, _cut(entry.promise), f"tests: {told}{reason}", verdict]]


def _cut(text: str) -> str:
    """The page has the whole."""
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"


def _counted(tried: Mapping[str, _Tried], listed: Mapping[str, Entry]) -> str:
    skipped = [id for id in tried if tried[id].was_skipped]
    failed = [id for id in tried if tried[id].has_failed]
    ran = len(tried) - len(skipped)
    meant = [id for id in listed if not listed[id].shown.startswith(NOT_HERE)]
    left = [id for id in meant if id not in tried]
    told = [f"{ran} of {len(meant)} scenarios run", f"{ran - len(failed)} passed"]
    if failed:
        told.append("NOT OK: " + " ".join(sorted(failed, key=in_order)))
    told.append(f"{len(skipped)} skipped" + _reasons(skipped, tried))
    if left:
        told.append("not in this run: " + " ".join(sorted(left, key=in_order)))
    return ", ".join(told)


def _reasons(skipped: list[str], tried: Mapping[str, _Tried]) -> str:
    told = [f"{id}: {tried[id].reason}" for id in sorted(skipped, key=in_order)]
    return f" ({'; '.join(told)})" if told else ""
