"""Every command of `inferflow`. Nothing heavy is imported here: help must be instant."""

from __future__ import annotations

from typing import Annotated

import typer

from inferflow._version import __version__
from inferflow.cli import (
    backup,
    bench,
    certs,
    compute,
    config,
    demo,
    explain,
    feature_store,
    features,
    gateway,
    golden,
    init,
    keys,
    logs,
    manager,
    models,
    numerix,
    push,
    score,
    serve,
    settings,
    validate,
    worker,
    workers,
)
from inferflow.cli.failing import Group

app = typer.Typer(
    cls=Group,
    name="inferflow",
    help="Rank, recommend and score from a config.",
    epilog="Begin with `inferflow demo`, or with `inferflow init DIR` for a project of your own.",
    no_args_is_help=True,
    # Plain help starts twice as fast, and an error is one line: see `failing`.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"inferflow {__version__}")
        raise typer.Exit


@app.callback()
def inferflow(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Rank, recommend and score from a config."""


app.command("demo", short_help="Try Inferflow on a made-up shop.")(demo.demo)
app.command("init", short_help="Write a small project to start from.")(init.init)
app.command("validate", short_help="Find every problem of a project.")(validate.validate)
app.command("score", short_help="Score a request, print the ranking.")(score.score)
app.command("explain", short_help="Show a plan, or what a request did.")(explain.explain)
app.command("serve", short_help="Answer gRPC calls with a project.")(serve.serve)
app.command("up", short_help="Run a whole project.")(serve.up)
app.command("worker", short_help="Serve models to other programs.")(worker.worker)
app.command("feature-store", short_help="Serve features to other programs.")(
    feature_store.feature_store
)
app.command("numerix", short_help="Evaluate expressions for other programs.")(numerix.numerix)
app.command("gateway", short_help="Answer HTTP, and show the web pages.")(gateway.gateway)
app.command("manager", short_help="Run a fleet: models, keys, workers.")(manager.manager)
app.command("push", short_help="Bring a project to where others read it.")(push.push)
app.command("audit", short_help="Show who changed what in a fleet.")(keys.audit)
app.command("test", short_help="Run the project's golden requests.")(golden.run_tests)
app.command("bench", short_help="Measure a running server under load.")(bench.bench)
app.command("settings", short_help="Show what is set, where, and what it means.")(settings.settings)
app.command("backup", short_help="Write a project and its state to one file.")(backup.backup)
app.command("restore", short_help="Make a project of a backup.")(backup.restore)
app.add_typer(config.app, name="config")
app.add_typer(features.app, name="features")
app.add_typer(compute.app, name="compute")
app.add_typer(logs.app, name="logs")
app.add_typer(models.app, name="models")
app.add_typer(workers.app, name="workers")
app.add_typer(keys.app, name="keys")
app.add_typer(certs.app, name="certs")
