"""`inferflow serve` and `inferflow up`: answer calls over the network."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from inferflow.cli.listening import Bind, HttpPort, Port, say_where, with_options
from inferflow.cli.output import say
from inferflow.cli.projects import HERE, project_root
from inferflow.errors import MissingExtra

if TYPE_CHECKING:
    from inferflow.api.http import HttpServer
    from inferflow.app.local_fleet import LocalFleet
    from inferflow.app.processes.parent import Parent
    from inferflow.app.role import Role
    from inferflow.app.serving import Serving
    from inferflow.app.settings import Settings

Directory = Annotated[Path, typer.Argument(metavar="DIR", help="The project's folder.")]


Processes = Annotated[
    int | None,
    typer.Option("--processes", min=1, help="Processes that answer on the port."),
]


GatewayPort = Annotated[
    int | None,
    typer.Option("--gateway-port", min=0, max=65535, help="HTTP port of the gateway."),
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
    root = project_root(directory)
    settings = _read_settings(root)
    table = with_options(
        settings.serve, port=port, http_port=http_port, bind=bind, processes=processes
    )
    _serve(root, settings.model_copy(update={"serve": table}), {"serve": table})


def _read_settings(root: Path) -> Settings:
    from inferflow.app.settings import read_settings

    return read_settings(root)


def _serve(
    root: Path, settings: Settings, overrides: dict[str, Any], *, has_gateway: bool = False
) -> None:
    try:
        from inferflow.app import lifetime, serving
        from inferflow.app.gateway_before import gateway_before
        from inferflow.app.processes.parent import check_processes, serve_processes
        from inferflow.app.role import open_role
        from inferflow.app.security import check_gateway, check_security
        from inferflow.app.waiting import open_patiently
    except ModuleNotFoundError as missing:
        raise MissingExtra("serve", for_what="`inferflow serve`") from missing
    from inferflow.cli.progress import LoadingBar

    is_alone = settings.serve.processes == 1
    check_security(settings, settings.serve)
    if has_gateway and settings.gateway.enabled:
        check_gateway(settings)
    if not is_alone:
        check_processes(settings)
    with ExitStack() as held:
        with LoadingBar() as bar:

            def opening() -> Role:
                opened = open_role(root, overrides, progress=bar, answers=is_alone)
                return held.enter_context(opened)

            role = open_patiently(opening, settings, told=_announce_waiting)
        if role is None:
            return
        beside = partial(gateway_before, role, told=_announce_gateway) if has_gateway else None
        if not is_alone:
            serve_processes(role, started=_announce_all, beside=beside)
            return
        lifetime.run(serving.serve_role(role, started=_announce, beside=beside))


def up(
    directory: Directory = HERE,
    port: Port = None,
    http_port: HttpPort = None,
    gateway_port: GatewayPort = None,
    bind: Bind = None,
    processes: Processes = None,
) -> None:
    """Run the whole project until asked to end, with a gateway that answers HTTP and shows the web
    pages.

    With `enabled = true` in the `[fleet]` table of inferflow.toml, that is also a manager and a
    worker that serve its models.
    """
    root = project_root(directory)
    settings = _read_settings(root)
    overrides = {
        "serve": with_options(
            settings.serve, port=port, http_port=http_port, bind=bind, processes=processes
        ),
        "gateway": with_options(settings.gateway, port=gateway_port, bind=bind),
    }
    settings = settings.model_copy(update=overrides)
    if not settings.fleet.enabled:
        _serve(root, settings, overrides, has_gateway=True)
        return
    try:
        from inferflow.app import lifetime
        from inferflow.app.up import serve_with_fleet
    except (MissingExtra, ModuleNotFoundError) as missing:
        extras = "gateway,manager,worker"
        raise MissingExtra(extras, for_what="`inferflow up` with a fleet") from missing
    from inferflow.cli.progress import LoadingBar

    with LoadingBar() as bar:
        lifetime.run(
            serve_with_fleet(
                root,
                settings,
                overrides,
                progress=bar,
                begun=_announce_fleet,
                started=_announce,
                told=_announce_gateway,
            )
        )


def _announce_fleet(fleet: LocalFleet) -> None:
    say(f"manager  {fleet.address}", f"worker   {fleet.worker_address}")
    if fleet.first_key:
        say(f"key   {fleet.first_key} (administrator; shown this once)")


def _announce_gateway(url: str, why_none: str) -> None:
    say(f"gateway  {url}" if url else f"no gateway: {why_none}")


def _announce_waiting(http: HttpServer, why: str) -> None:
    say(f"HTTP  {http.scheme}://127.0.0.1:{http.port}/health/ready", f"waiting: {why}")


def _announce(serving: Serving) -> None:
    say_where(serving.settings.bind, serving.grpc.port, serving.http)
    say(serving.not_ready() or "ready")


def _announce_all(parent: Parent) -> None:
    say_where(parent.settings.bind, parent.port, parent.http)
    say(parent.not_ready() or f"ready, {parent.settings.processes} processes")
