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
    from inferflow.app.processes.parent import Parent
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


Processes = Annotated[
    int | None,
    typer.Option("--processes", min=1, help="Processes that answer on the port."),
]


def serve(
    directory: Directory = HERE,
    port: Port = None,
    http_port: HttpPort = None,
    bind: Bind = None,
    processes: Processes = None,
) -> None:
    """Answer gRPC calls with the project's configs until asked to end.

    Ctrl-C or SIGTERM lets calls under way finish first; a second one ends at once.
    """
    try:
        from inferflow.app import serving
        from inferflow.app.processes.parent import check_processes, serve_processes
        from inferflow.app.role import open_role
    except ModuleNotFoundError as missing:
        raise MissingExtra("serve", for_what="`inferflow serve`") from missing
    from inferflow.app.settings import read_settings
    from inferflow.cli.progress import LoadingBar

    root = project_root(directory)
    chosen = {"port": port, "http_port": http_port, "bind": bind, "processes": processes}
    given = {name: value for name, value in chosen.items() if value is not None}
    settings = read_settings(root)
    overrides = {"serve": settings.serve.model_copy(update=given)}
    settings = settings.model_copy(update=overrides)
    is_alone = settings.serve.processes == 1
    if not is_alone:
        check_processes(settings)
    with ExitStack() as held:
        with LoadingBar() as bar:
            role = held.enter_context(open_role(root, overrides, progress=bar, answers=is_alone))
        if not is_alone:
            serve_processes(role, started=_announce_all)
            return
        serving.run(
            serving.serve(
                role.embedded,
                started=_announce,
                observer=role.telemetry.observer,
                metrics=role.telemetry.render,
                records=role.records,
                on_reload=role.on_reload,
            )
        )


def up(
    directory: Directory = HERE,
    port: Port = None,
    http_port: HttpPort = None,
    bind: Bind = None,
    processes: Processes = None,
) -> None:
    """Run the whole project until asked to end."""
    serve(directory, port, http_port, bind, processes)


def _announce(serving: Serving) -> None:
    _say_where(serving.settings.bind, serving.grpc.port, serving.http.port)
    say(serving.not_ready() or "ready")


def _announce_all(parent: Parent) -> None:
    _say_where(parent.settings.bind, parent.port, parent.http.port)
    say(parent.not_ready() or f"ready, {parent.settings.processes} processes")


def _say_where(bind: str, grpc_port: int, http_port: int) -> None:
    host = f"[{bind}]" if ":" in bind else bind
    say(
        f"gRPC  {host}:{grpc_port}",
        f"HTTP  http://{host}:{http_port}/health/ready and /metrics",
    )
