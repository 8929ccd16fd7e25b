"""`inferflow test`: a project's golden requests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from inferflow.cli.output import AsJson, say, say_json

if TYPE_CHECKING:
    from inferflow.app.golden import Outcome


def run_tests(
    directory: Annotated[
        Path, typer.Argument(metavar="[DIR]", help="The project's folder.")
    ] = Path("."),
    as_json: AsJson = False,
) -> None:
    """Score every request in requests/ and compare it with what it expects.

    A request without `expect` passes when it is scored and no row carries an error. Features are
    loaded into memory; nothing is written to the project. Exits with 1 when a request fails or
    there is none.
    """
    from inferflow.app.golden import run_golden
    from inferflow.cli.progress import LoadingBar
    from inferflow.cli.projects import project_root
    from inferflow.errors import InvalidInput

    root = project_root(directory)
    with LoadingBar() as bar:
        outcomes = run_golden(root, progress=bar)
    if not outcomes:
        raise InvalidInput(f"{directory / 'requests'}: there is no request to test")
    failed = sum(not outcome.passed for outcome in outcomes)
    passed = len(outcomes) - failed
    if as_json:
        listed = [outcome.as_dict() for outcome in outcomes]
        say_json({"requests": listed, "passed": passed, "failed": failed})
    else:
        _say_outcomes(outcomes)
        say(f"{passed} passed, {failed} failed" if failed else f"{passed} passed")
    if failed:
        raise typer.Exit(1)


def _say_outcomes(outcomes: list[Outcome]) -> None:
    from inferflow.tabular import table

    rows = [[each.outcome, each.request, each.config_id, _remark(each)] for each in outcomes]
    for outcome, line in zip(outcomes, table([""] * 4, rows)[1:], strict=True):
        say(line if outcome.passed else typer.style(line, fg="red"))


def _remark(outcome: Outcome) -> str:
    from inferflow.tabular import counted

    if not outcome.passed:
        more = f"; {outcome.mismatches} values differ" if outcome.mismatches > 1 else ""
        return f"{outcome.why}{more}"
    rows = counted(outcome.rows, "row")
    if not outcome.columns:
        return f"{rows} scored; nothing in particular is expected"
    columns = counted(len(outcome.columns), "column")
    apart = f"at most {outcome.worst:.1e} apart" if outcome.worst else "exactly"
    return f"{rows}, {columns} as expected, {apart}"
