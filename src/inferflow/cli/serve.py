"""`inferflow serve` and `inferflow up`: answer calls over the network."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from inferflow.cli.output import say
from inferflow.cli.projects import HERE, project_root
from inferflow.errors import MissingExtra

if TYPE_CHECKING:
    from inferflow.app.serving import Serving

Directory = Annotated[Path, typer.Argument(metavar="DIR", help="The project's folder.")]
Port = Annotated[
    int | None,
    typer.Option("--port", "-p", min=0, max=65535, help="gRPC port; 0 takes any free one."),
]
HttpPort = Annotated[
    int | None,
    typer.Option("--http-port", min=0, max=65535, help="Port for health and metrics."),
]
Bind = Annotated[
    str | None, typer.Option("--bind", metavar="ADDRESS", help="Address to listen on.")
]


def serve(
    directory: Directory = HERE, port: Port = None, http_port: HttpPort = None, bind: Bind = None
) -> None:
    """Answer gRPC calls with the project's configs until asked to end.

    Ctrl-C or SIGTERM lets calls under way finish first; a second one ends at once.
    """
    try:
        from inferflow.app import serving
        from inferflow.app.role import open_role
    except ModuleNotFoundError as missing:
        raise MissingExtra("serve", for_what="`inferflow serve`") from missing
    from inferflow.app.settings import read_settings
    from inferflow.cli.progress import LoadingBar

    root = project_root(directory)
    chosen = {"port": port, "http_port": http_port, "bind": bind}
    given = {name: value for name, value in chosen.items() if value is not None}
    settings = read_settings(root).serve.model_copy(update=given)
    with ExitStack() as held:
        with LoadingBar() as bar:
            role = held.enter_context(open_role(root, {"serve": settings}, progress=bar))
        serving.run(
            serving.serve(
                role.embedded,
                started=_announce,
                observer=role.telemetry.observer,
                metrics=role.telemetry.render,
                on_reload=role.on_reload,
            )
        )


def up(
    directory: Directory = HERE, port: Port = None, http_port: HttpPort = None, bind: Bind = None
) -> None:
    """Run the whole project in one process until asked to end."""
    serve(directory, port, http_port, bind)


def _announce(serving: Serving) -> None:
    bind = serving.settings.bind
    host = f"[{bind}]" if ":" in bind else bind
    say(
        f"gRPC  {host}:{serving.grpc.port}",
        f"HTTP  http://{host}:{serving.http.port}/health/ready and /metrics",
        serving.not_ready() or "ready",
    )
