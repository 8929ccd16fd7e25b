"""`inferflow serve` and `inferflow up`: answer calls over the network."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from inferflow.cli.listening import Bind, HttpPort, Port, say_where, with_options
from inferflow.cli.output import say
from inferflow.cli.projects import HERE, project_root
from inferflow.errors import MissingExtra

if TYPE_CHECKING:
    from inferflow.app.local_fleet import LocalFleet
    from inferflow.app.processes.parent import Parent
    from inferflow.app.serving import Serving

Directory = Annotated[Path, typer.Argument(metavar="DIR", help="The project's folder.")]


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
    settings = read_settings(root)
    overrides = {
        "serve": with_options(
            settings.serve, port=port, http_port=http_port, bind=bind, processes=processes
        )
    }
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
        serving.run(serving.serve_role(role, started=_announce))


def up(
    directory: Directory = HERE,
    port: Port = None,
    http_port: HttpPort = None,
    bind: Bind = None,
    processes: Processes = None,
) -> None:
    """Run the whole project until asked to end.

    With `enabled = true` in the `[fleet]` table of inferflow.toml, that is also a manager and a
    worker that serve its models.
    """
    from inferflow.app.settings import read_settings

    root = project_root(directory)
    settings = read_settings(root)
    if not settings.fleet.enabled:
        serve(directory, port, http_port, bind, processes)
        return
    try:
        from inferflow.app import serving
        from inferflow.app.up import serve_with_fleet
    except ModuleNotFoundError as missing:
        raise MissingExtra("manager,worker", for_what="`inferflow up` with a fleet") from missing
    from inferflow.cli.progress import LoadingBar

    overrides = {
        "serve": with_options(
            settings.serve, port=port, http_port=http_port, bind=bind, processes=processes
        )
    }
    with LoadingBar() as bar:
        serving.run(
            serve_with_fleet(
                root,
                settings.model_copy(update=overrides),
                overrides,
                progress=bar,
                begun=_announce_fleet,
                started=_announce,
            )
        )


def _announce_fleet(fleet: LocalFleet) -> None:
    say(f"manager  {fleet.address}", f"worker   {fleet.worker_address}")
    if fleet.first_key:
        say(f"key   {fleet.first_key} (administrator; shown this once)")


def _announce(serving: Serving) -> None:
    say_where(serving.settings.bind, serving.grpc.port, serving.http.port)
    say(serving.not_ready() or "ready")


def _announce_all(parent: Parent) -> None:
    say_where(parent.settings.bind, parent.port, parent.http.port)
    say(parent.not_ready() or f"ready, {parent.settings.processes} processes")
