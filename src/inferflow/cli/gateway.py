"""`inferflow gateway`: answer HTTP, and show the web pages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from inferflow.cli.listening import Bind, with_options
from inferflow.cli.output import say
from inferflow.cli.projects import HERE
from inferflow.errors import MissingExtra

if TYPE_CHECKING:
    from inferflow.app.gateway import Gateway

Directory = Annotated[
    Path, typer.Argument(metavar="DIR", help="Folder with inferflow.toml; a project's, mostly.")
]
Port = Annotated[
    int | None,
    typer.Option("--port", "-p", min=0, max=65535, help="HTTP port; 0 takes any free one."),
]
Target = Annotated[
    str | None,
    typer.Option("--target", metavar="HOST:PORT", help="The orchestrator that scores."),
]
Models = Annotated[
    str | None,
    typer.Option(
        "--models", metavar="ADDRESS", help="A worker, host:port, or a fleet, manager://host:port."
    ),
]


def gateway(
    directory: Directory = HERE,
    port: Port = None,
    bind: Bind = None,
    target: Target = None,
    models: Models = None,
) -> None:
    """Answer HTTP for servers that speak gRPC, and show the web pages, until asked to end.

    Ctrl-C or SIGTERM lets requests under way finish first; a second one ends at once.
    """
    try:
        from inferflow.app.gateway import serve_gateway
        from inferflow.app.lifetime import run
    except ModuleNotFoundError as missing:
        raise MissingExtra("gateway", for_what="`inferflow gateway`") from missing
    from inferflow.app.operating import operating
    from inferflow.app.settings import read_settings

    settings = read_settings(directory)
    table = with_options(settings.gateway, port=port, bind=bind, target=target, models=models)
    settings = settings.model_copy(update={"gateway": table})
    with operating(settings, "gateway"):
        run(serve_gateway(directory, settings, started=announce))


def announce(gateway: Gateway) -> None:
    say(f"HTTP  {gateway.url}", f"asks  {gateway.settings.target}", "ready")
