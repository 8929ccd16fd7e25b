"""`inferflow explain`: what a config will do, and what a request did."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from inferflow.cli.output import AsJson, say, say_json
from inferflow.cli.projects import HERE, ProjectDir, opened_flow, project_root
from inferflow.cli.requesting import ContextValues, EntityIds, RequestFile, is_given, request_of
from inferflow.cli.targets import Target, connected, own_address

if TYPE_CHECKING:
    from inferflow.engine.request import ScoreRequest
    from inferflow.explanation import Explanation


def explain(
    config_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="The model config to explain.")
    ] = None,
    request: RequestFile = None,
    entity: EntityIds = None,
    context: ContextValues = None,
    item: Annotated[
        str | None, typer.Option("--item", "-i", metavar="ID", help="Every column of one target.")
    ] = None,
    target: Target = None,
    last: Annotated[
        bool,
        typer.Option("--last", help="List requests a server kept: slow, failed or asked for."),
    ] = False,
    top: Annotated[
        int, typer.Option("--top", "-n", min=1, help="With --last: so many at most.")
    ] = 20,
    recording: Annotated[
        str | None,
        typer.Option("--recording", metavar="ID", help="A request that a server kept."),
    ] = None,
    directory: ProjectDir = HERE,
    as_json: AsJson = False,
) -> None:
    """Without a request: the compiled plan. With one: what happened, step by step.

    With --item, every column of that target: its value, where it came from, and whether it was
    real, a default, missing or expired. Exits with 1 when the request fails, and shows how far it
    came. With --target a server is asked; --last and --recording ask the one the project's
    settings name, unless another is given.
    """
    if last:
        _refuse_beside("--last", config_id, recording, request, item)
        _list_kept(target or own_address(directory), directory, top, as_json)
        return
    if recording is not None:
        _refuse_beside("--recording", config_id, request)
        with connected(target or own_address(directory), directory) as client:
            _show(client.explanation(recording), item, as_json)
        return
    if config_id is None:
        raise typer.BadParameter("name a config, or give --last or --recording")
    if is_given(request, entity, context):
        _explain_request(
            request_of(config_id, request, entity, context), item, target, directory, as_json
        )
    elif item is not None or target is not None:
        option = "--item" if item is not None else "--target"
        raise typer.BadParameter(f"{option} needs a request: give --request or --entity too")
    else:
        _show(_planned(directory, config_id), None, as_json)


def _explain_request(
    asked: ScoreRequest, item: str | None, target: str | None, directory: Path, as_json: bool
) -> None:
    with opened_flow(directory) if target is None else connected(target, directory) as answerer:
        found = answerer.explain(asked.config_id, asked)
        _show(found, item, as_json)
    if found.failure:
        raise typer.Exit(1)


def _show(found: Explanation, item: str | None, as_json: bool) -> None:
    one = None if item is None else found.item(item)
    if as_json:
        say_json((one or found).to_dict())
    elif one is None:
        say(str(found))
    else:
        say(str(found), "", str(one))


def _list_kept(target: str, directory: Path, most: int, as_json: bool) -> None:
    from inferflow.explanation import kept_text

    with connected(target, directory) as client:
        kept = client.recordings(most)
    if as_json:
        say_json(kept)
    else:
        say(kept_text(kept))


def _refuse_beside(option: str, *others: str | None) -> None:
    if any(other is not None for other in others):
        raise typer.BadParameter(f"{option} needs no config and no request")


def _planned(directory: Path, config_id: str) -> Explanation:
    """The plan alone: no feature data is loaded for it."""
    from inferflow.app.explain import explain_plan
    from inferflow.app.inputs import find_project
    from inferflow.app.settings import read_settings
    from inferflow.app.wiring import compile_project, open_models
    from inferflow.plan.book import PlanBook

    root = project_root(directory)
    settings = read_settings(root)
    project = find_project(root, settings)
    models = open_models(project, settings)
    try:
        status = compile_project(project, settings, models)
    finally:
        models.close()
    plans = {name: tried.plan for name, tried in status.items() if tried.plan is not None}
    return explain_plan(PlanBook(plans, status).get(config_id))
