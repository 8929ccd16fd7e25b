"""`inferflow score`: a ranked table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from inferflow.cli.output import AsJson, say, say_json, say_table
from inferflow.cli.projects import HERE, ProjectDir, opened_flow
from inferflow.cli.requesting import ContextValues, EntityIds, RequestFile, is_given, request_of

if TYPE_CHECKING:
    from inferflow.scores import Scores, Table


def score(
    config_id: Annotated[str, typer.Argument(metavar="ID", help="The model config to score with.")],
    request: RequestFile = None,
    entity: EntityIds = None,
    context: ContextValues = None,
    directory: ProjectDir = HERE,
    top: Annotated[
        int | None, typer.Option("--top", "-n", min=1, help="Show only the best so many.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Score a request and print its targets from best to worst.

    Targets are ranked by the last column that is a number; pairs and slates follow in a table of
    their own. Exits with 1 when nothing could be scored.
    """
    if not is_given(request, entity, context):
        raise typer.BadParameter("give --request FILE, or --entity NAME=ID[,ID...]")
    with opened_flow(directory) as flow:
        scores = flow.answer(request_of(config_id, request, entity, context))
    if as_json:
        say_json({**scores.to_dict(), "ranking": scores.ranked()[:top]})
    else:
        say_scores(scores, top)
    if all_failed(scores):
        raise typer.Exit(1)


def all_failed(scores: Scores) -> bool:
    """Whether no target, and no pair or slate, came out without an error."""
    tables = [scores.targets, *([scores.groups] if scores.groups else [])]
    return all(error for table in tables for error in table.errors)


def say_scores(scores: Scores, top: int | None = None) -> None:
    """Targets and, where asked for, pairs or slates, each from best to worst."""
    if scores.targets.columns:
        ids = [[each] for each in scores.ids]
        say_table(_ranked(scores.targets, ids, ["id"], top))
    if scores.groups is not None:
        members = [[", ".join(scores.ids[row] for row in rows)] for rows in scores.members]
        say(*([""] if scores.targets.columns else []))
        say_table(_ranked(scores.groups, members, [str(scores.grouping)], top))


def _ranked(table: Table, names: list[list[str]], headers: list[str], top: int | None) -> list[str]:
    from inferflow.app.tabular import table as lines
    from inferflow.scores import Scores

    order = Scores("", [name for (name,) in names], table).ranked()[:top]
    columns = [column.to_list() for column in table.columns.values()]
    rows: list[list[Any]] = [
        [rank, *names[row], *(column[row] for column in columns), table.errors[row]]
        for rank, row in enumerate(order, start=1)
    ]
    return lines(["rank", *headers, *table.columns, "error"], rows)
