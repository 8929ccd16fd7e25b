"""`inferflow validate`: every problem of a project, before anything is live."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from inferflow.cli.output import AsJson, say, say_json

if TYPE_CHECKING:
    from inferflow.app.project import Finding


def validate(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PATH...", help="Projects, or single files of one.  [default: .]"),
    ] = None,
    directory: Annotated[
        Path | None,
        typer.Option(
            "--dir",
            "-d",
            metavar="DIR",
            help="The project to check single files against; the one they are in unless given.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find every problem in configs, schema, expressions, feature files and sample requests.

    Configs are checked against the models' real signatures. Nothing is loaded or changed. Exits
    with 1 when there is an error; notes are no errors.
    """
    found = [_checked(path, directory) for path in paths or [Path(".")]]
    every = [finding for _, findings in found for finding in findings]
    errors = sum(finding.problem.is_error for finding in every)
    notes = len(every) - errors
    if as_json:
        listed = [
            {"project": str(root), **finding.as_dict()}
            for root, findings in found
            for finding in findings
        ]
        say_json({"findings": listed, "errors": errors, "notes": notes})
    else:
        for root, findings in found:
            _say_findings(root, findings)
        say(_summary(errors, notes))
    if errors:
        raise typer.Exit(1)


def _checked(path: Path, directory: Path | None) -> tuple[Path, list[Finding]]:
    """The project a path belongs to, and what is wrong with the path."""
    from inferflow.app.checking import check_file, check_project, project_of
    from inferflow.cli.projects import project_root
    from inferflow.errors import InvalidInput

    if path.is_dir():
        return path, check_project(project_root(path))
    if not path.exists():
        raise InvalidInput(f"{path}: there is no such file or folder")
    root = project_root(directory) if directory else project_of(path)
    return root, check_file(path, root)


def _say_findings(root: Path, findings: list[Finding]) -> None:
    for (_, file), members in groupby(sorted(findings, key=_place), key=_place):
        say(str(root / file))
        # Errors first: notes are for whoever has none.
        for finding in sorted(members, key=lambda each: not each.problem.is_error):
            say(_line(finding))
        say("")


def _place(finding: Finding) -> tuple[int, str]:
    """Causes before what follows from them: a schema that cannot be read makes every config wrong
    that reads from it."""
    first = ("inferflow.toml", "features/schema.yaml", "expressions.yaml", "models", "features/")
    order = [n for n, start in enumerate(first) if finding.file.startswith(start)]
    return (order[0] if order else len(first)), finding.file


def _line(finding: Finding) -> str:
    problem = finding.problem
    hint = f" — {problem.hint}" if problem.hint else ""
    where = f"{finding.config_id}: {problem.where}" if finding.config_id else problem.where
    line = f"  {problem.severity:5}  {where}: {problem.what}{hint}"
    if not problem.is_error:
        return typer.style(line, dim=True)
    return line.replace("error", typer.style("error", fg="red", bold=True), 1)


def _summary(errors: int, notes: int) -> str:
    from inferflow.tabular import counted

    said = counted(errors, "error") if errors else "no errors"
    return f"{said}, {counted(notes, 'note')}" if notes else said
