"""`inferflow manager`: the registry, keys and workers of a fleet."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from inferflow.cli.listening import Bind, HttpPort, Port, say_where, with_options
from inferflow.cli.output import say
from inferflow.cli.projects import HERE
from inferflow.errors import MissingExtra

if TYPE_CHECKING:
    from inferflow.app.manager import Manager

Directory = Annotated[
    Path, typer.Argument(metavar="DIR", help="Folder with inferflow.toml, if there is one.")
]
DatabaseUrl = Annotated[
    str | None,
    typer.Option("--database", metavar="URL", help="A file for SQLite, or postgresql://…"),
]
Files = Annotated[
    str | None,
    typer.Option("--files", metavar="URL", help="Where model files are kept: a folder or a URL."),
]


def manager(
    directory: Directory = HERE,
    port: Port = None,
    http_port: HttpPort = None,
    bind: Bind = None,
    database: DatabaseUrl = None,
    files: Files = None,
) -> None:
    """Keep the models, API keys and workers of a fleet, and send callers to workers, until asked
    to end.

    On a new registry it makes an administrator's key and prints it, once.
    """
    # Uploads are tried in a child process, and gRPC would remark on every fork.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
    try:
        from inferflow.app import manager as role
        from inferflow.app.lifetime import run
    except (ModuleNotFoundError, MissingExtra) as missing:  # gRPC says so itself
        raise MissingExtra("manager", for_what="`inferflow manager`") from missing
    from inferflow.app.operating import operating
    from inferflow.app.settings import read_settings

    settings = read_settings(directory)
    table = with_options(
        settings.manager,
        port=port,
        http_port=http_port,
        bind=bind,
        database=database,
        files=files,
    )
    settings = settings.model_copy(update={"manager": table})
    with operating(settings, "manager"):
        run(role.manage(directory, settings, started=_announce))


def _announce(manager: Manager, first_key: str) -> None:
    say_where(manager.settings.bind, manager.grpc.port, manager.http)
    if first_key:
        say(f"key   {first_key} (administrator; shown this once)")
    models = len(manager.services.live.snapshot.models)
    workers = len(manager.services.roster.fleet.workers)
    say(f"ready, {models} model(s), {workers} worker(s)")
