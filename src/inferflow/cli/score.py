"""`inferflow score`: a ranked table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from inferflow.cli.output import AsJson, say, say_json, say_table
from inferflow.cli.projects import HERE, ProjectDir, opened_flow
from inferflow.cli.requesting import ContextValues, EntityIds, RequestFile, is_given, request_of
from inferflow.cli.targets import Target, connected

if TYPE_CHECKING:
    from inferflow.scores import Scores


def score(
    config_id: Annotated[str, typer.Argument(metavar="ID", help="The model config to score with.")],
    request: RequestFile = None,
    entity: EntityIds = None,
    context: ContextValues = None,
    directory: ProjectDir = HERE,
    top: Annotated[
        int | None, typer.Option("--top", "-n", min=1, help="Show only the best so many.")
    ] = None,
    target: Target = None,
    as_json: AsJson = False,
) -> None:
    """Score a request and print its targets from best to worst.

    Targets are ranked by the last column that is a number; pairs and slates follow in a table of
    their own. Exits with 1 when nothing could be scored.
    """
    if not is_given(request, entity, context):
        raise typer.BadParameter("give --request FILE, or --entity NAME=ID[,ID...]")
    asked = request_of(config_id, request, entity, context)
    with opened_flow(directory) if target is None else connected(target, directory) as answerer:
        scores = answerer.answer(asked)
    if as_json:
        say_json({**scores.to_dict(), "ranking": scores.ranked()[:top]})
    else:
        if scores.arm:
            say(f"answered by {scores.arm}")
        say_table(scores.lines(top))
    if all_failed(scores):
        raise typer.Exit(1)


def all_failed(scores: Scores) -> bool:
    """Whether no target, and no pair or slate, came out without an error."""
    tables = [scores.targets, *([scores.groups] if scores.groups else [])]
    return all(error for table in tables for error in table.errors)
