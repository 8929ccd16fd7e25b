"""Golden requests: every `requests/*.json` scored and compared with what it expects.

Nothing is written into the project, which may be read-only: features are loaded into memory.

A request with `expect` passes when each named column has exactly these values, `null` standing
for no value. Numbers may differ by `tolerance` times the larger of 1 and the expected number;
text, whole numbers and booleans may not differ at all. A request without `expect` passes when
it is scored and no target, pair or slate carries an error.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from inferflow.app.flow import Flow
from inferflow.app.loading import Progress
from inferflow.app.project import read_project
from inferflow.app.wiring import open_embedded
from inferflow.engine.asking import Asking
from inferflow.engine.request import request_from
from inferflow.errors import InferflowError, InvalidRequest
from inferflow.plan.document import read_document
from inferflow.plan.problems import closest_hint
from inferflow.scores import ScoreColumn, Scores

DEFAULT_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class Expectation:
    columns: Mapping[str, Sequence[Any]]
    tolerance: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one golden request went."""

    request: str
    config_id: str
    outcome: Literal["passed", "failed"]
    rows: int = 0
    columns: tuple[str, ...] = ()
    """What was compared; empty when the request expects nothing in particular."""
    worst: float = 0.0
    """The largest difference, relative to max(1, |expected|)."""
    mismatches: int = 0
    """Values that differ by more than the tolerance."""
    why: str = ""
    """The first mismatch, or why the request could not be scored."""

    @property
    def passed(self) -> bool:
        return self.outcome == "passed"

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        more = f"; {self.mismatches} values differ" if self.mismatches > 1 else ""
        return f"{self.outcome}: {self.request}: {self.why}{more}".rstrip(": ")


def run_golden(root: Path, *, progress: Progress | None = None) -> list[Outcome]:
    """Run every golden request of a project, by file name."""
    files = read_project(root).requests()
    if not files:
        return []
    with Flow(open_embedded(root, {"feature_backend": "memory"}, progress=progress)) as flow:
        return run_requests(flow, files)


def run_requests(flow: Asking[Scores], files: Sequence[tuple[str, Path]]) -> list[Outcome]:
    """Score requests, given by name and file, and compare each with what it expects."""
    return [_run(flow, name, path) for name, path in files]


def _run(flow: Asking[Scores], name: str, path: Path) -> Outcome:
    config_id = ""
    try:
        document = read_document(path)
        request = request_from(document)
        config_id = request.config_id
        expected = expectation_from(document)
        scores = flow.answer(request)
        if expected is None:
            return _unmarked(name, scores)
        return _compared(name, scores, expected)
    except InferflowError as refused:
        return Outcome(name, config_id, "failed", why=str(refused))


def expectation_from(document: Mapping[str, Any]) -> Expectation | None:
    """What a request's JSON form expects; None when it says nothing."""
    tolerance = document.get("tolerance", DEFAULT_TOLERANCE)
    is_number = isinstance(tolerance, int | float) and not isinstance(tolerance, bool)
    if not is_number or not 0 <= tolerance < math.inf:
        raise InvalidRequest("tolerance", f"a number of 0 or more is wanted, not {tolerance!r}")
    if "expect" not in document:
        return None
    columns = document["expect"]
    if not isinstance(columns, Mapping) or not columns:
        raise InvalidRequest("expect", "an object of columns and their values is wanted")
    for name, values in columns.items():
        if not isinstance(values, list):
            raise InvalidRequest(f"expect[{name!r}]", "a list of values is wanted")
    return Expectation(columns, float(tolerance))


def _unmarked(name: str, scores: Scores) -> Outcome:
    tables = [scores.targets, *([scores.groups] if scores.groups else [])]
    marked = [error for table in tables for error in table.errors if error]
    if not marked:
        return Outcome(name, scores.config_id, "passed", rows=len(scores))
    return Outcome(
        name,
        scores.config_id,
        "failed",
        rows=len(scores),
        mismatches=len(marked),
        why=f"{len(marked)} row(s) have an error: {marked[0]}",
    )


def _compared(name: str, scores: Scores, expected: Expectation) -> Outcome:
    worst, mismatches, why = 0.0, 0, ""
    for column, wanted in expected.columns.items():
        got = _answered(scores, column).to_list()
        if len(got) != len(wanted):
            raise InvalidRequest(
                f"expect[{column!r}]", f"has {len(wanted)} value(s), the answer has {len(got)}"
            )
        for row, (one, other) in enumerate(zip(got, wanted, strict=True)):
            for difference, exact in _differences(one, other):
                if not math.isinf(difference):
                    worst = max(worst, difference)
                if difference > (0.0 if exact else expected.tolerance):
                    mismatches += 1
                    why = why or f"{column}[{row}]: expected {other!r}, got {one!r}"
    return Outcome(
        name,
        scores.config_id,
        "failed" if mismatches else "passed",
        rows=len(scores),
        columns=tuple(expected.columns),
        worst=worst,
        mismatches=mismatches,
        why=why,
    )


def _answered(scores: Scores, name: str) -> ScoreColumn:
    columns = {**scores.targets.columns, **(scores.groups.columns if scores.groups else {})}
    found = columns.get(name)
    if found is None:
        raise InvalidRequest(
            f"expect[{name!r}]", "the answer has no such column", closest_hint(name, columns)
        )
    return found


def _differences(got: Any, wanted: Any) -> Iterator[tuple[float, bool]]:
    """How far apart two values are, element by element; infinite when they cannot be compared.
    The second part says that nothing but equality will do."""
    if isinstance(got, list) and isinstance(wanted, list) and len(got) == len(wanted):
        for one, other in zip(got, wanted, strict=True):
            yield from _differences(one, other)
    elif isinstance(got, float) and _is_number(wanted):
        if got == wanted:
            yield 0.0, False
        else:
            apart = abs(got - wanted) / max(1.0, abs(wanted))
            yield (math.inf if math.isnan(apart) else apart), False
    else:
        same = got == wanted and isinstance(got, bool) == isinstance(wanted, bool)
        yield (0.0 if same else math.inf), True


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
