"""`inferflow explain`: what a config will do, and what a request did."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from inferflow.cli.output import AsJson, say, say_json
from inferflow.cli.projects import HERE, ProjectDir, opened_flow, project_root
from inferflow.cli.requesting import ContextValues, EntityIds, RequestFile, is_given, request_of

if TYPE_CHECKING:
    from inferflow.app.explain import Explanation


def explain(
    config_id: Annotated[str, typer.Argument(metavar="ID", help="The model config to explain.")],
    request: RequestFile = None,
    entity: EntityIds = None,
    context: ContextValues = None,
    item: Annotated[
        str | None, typer.Option("--item", "-i", metavar="ID", help="Every column of one target.")
    ] = None,
    directory: ProjectDir = HERE,
    as_json: AsJson = False,
) -> None:
    """Without a request: the compiled plan. With one: what happened, step by step.

    With --item, every column of that target: its value, where it came from, and whether it was
    real, a default, missing or expired. Exits with 1 when the request fails, and shows how far it
    came.
    """
    if is_given(request, entity, context):
        with opened_flow(directory) as flow:
            found = flow.explain(config_id, request_of(config_id, request, entity, context))
    elif item is not None:
        raise typer.BadParameter("--item needs a request: give --request or --entity too")
    else:
        found = _planned(directory, config_id)
    one = None if item is None else found.item(item)
    if as_json:
        say_json((one or found).to_dict())
    elif one is None:
        say(str(found))
    else:
        say(str(found), "", str(one))
    if found.failure:
        raise typer.Exit(1)


def _planned(directory: Path, config_id: str) -> Explanation:
    """The plan alone: no feature data is loaded for it."""
    from inferflow.app.explain import explain_plan
    from inferflow.app.project import read_project
    from inferflow.app.settings import read_settings
    from inferflow.app.wiring import compile_project, open_models
    from inferflow.plan.book import PlanBook

    root = project_root(directory)
    project, settings = read_project(root), read_settings(root)
    models = open_models(project, settings)
    try:
        status = compile_project(project, settings, models)
    finally:
        models.close()
    plans = {name: tried.plan for name, tried in status.items() if tried.plan is not None}
    return explain_plan(PlanBook(plans, status).get(config_id))
