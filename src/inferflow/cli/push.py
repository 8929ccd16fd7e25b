"""`inferflow push`: a project to where a deployment reads it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from inferflow.cli.config import Author, author_of
from inferflow.cli.fleets import Key, Manager, administrating
from inferflow.cli.output import AsJson, say, say_json
from inferflow.cli.projects import HERE

if TYPE_CHECKING:
    from inferflow.app.pushing.outcome import Outcome
    from inferflow.cli.progress import LoadingBar


def push(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The project's folder.")] = HERE,
    configs: Annotated[bool, typer.Option("--configs", help="Configs, to etcd.")] = False,
    expressions: Annotated[
        bool, typer.Option("--expressions", help="Expressions, to etcd.")
    ] = False,
    features: Annotated[
        bool,
        typer.Option("--features", help="The schema to etcd, rows to the feature store."),
    ] = False,
    models: Annotated[bool, typer.Option("--models", help="Models, to a manager.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check, and say what would be changed.")
    ] = False,
    prune: Annotated[
        bool,
        typer.Option("--prune", help="Delete configs and expressions that are in etcd alone."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Delete them without asking.")] = False,
    stage: Annotated[
        str, typer.Option("--stage", help="Where new versions of models begin.  [default: dev]")
    ] = "",
    author: Author = None,
    manager: Manager = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Bring a project to where a deployment reads it: etcd, the feature store, the manager.

    Everything there is a place for, unless parts are named. What is there already is left alone,
    and what is only there too, unless it is to be pruned.
    Exits with 1 when something was not pushed, and says what was and what was not.
    """
    from inferflow.app.pushing.outcome import PARTS
    from inferflow.app.pushing.project import Order, push_project
    from inferflow.app.settings import read_settings
    from inferflow.cli.progress import LoadingBar
    from inferflow.errors import InvalidInput

    if not directory.is_dir():
        raise InvalidInput(f"{directory}: there is no such folder")
    chosen = dict(zip(PARTS, (features, expressions, models, configs), strict=True))
    fleet = read_settings(directory).fleet
    managers = ",".join(fleet.manager) if manager is None else manager
    secret = fleet.api_key.get_secret_value() if key is None else key
    with LoadingBar("sending") as bar:
        order = Order(
            parts=[part for part, is_chosen in chosen.items() if is_chosen],
            author=author_of(author),
            stage=stage,
            dry_run=dry_run,
            admin=(lambda: administrating(managers, secret)) if managers else None,
            progress=bar,
            prune=partial(_may_delete, bar, yes=yes) if prune else None,
        )
        outcomes = push_project(directory, order, (lambda _: None) if as_json else _say)
    if as_json:
        say_json({"dry_run": dry_run, "outcomes": [each.as_dict() for each in outcomes]})
    else:
        say(_summary(outcomes))
    if any(each.has_failed for each in outcomes):
        raise typer.Exit(1)


def _may_delete(bar: LoadingBar, spare: Sequence[Outcome], *, yes: bool) -> bool:
    """Shows what would go, and asks; where nobody can answer, nothing goes."""
    if yes:
        return True
    bar.stop()
    for each in spare:
        typer.echo(str(each), err=True)
    if not sys.stdin.isatty():
        typer.echo("--yes deletes them", err=True)
        return False
    return typer.confirm(f"Delete {len(spare)} from etcd?", err=True)


def _say(outcome: Outcome) -> None:
    say(typer.style(str(outcome), fg="red") if outcome.has_failed else str(outcome))


def _summary(outcomes: list[Outcome]) -> str:
    counts = Counter[str](each.state for each in outcomes)
    words = {
        "pushed": "pushed",
        "deleted": "deleted",
        "differs": "would be changed",
        "refused": "not pushed",
    }
    said = [f"{counts[state]} {word}" for state, word in words.items() if counts[state]]
    return ", ".join(said) or "nothing changed"
