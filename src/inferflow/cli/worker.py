"""`inferflow worker`: serve models over the Open Inference Protocol."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from inferflow.cli.listening import Bind, HttpPort, Port, say_where, with_options
from inferflow.cli.output import say
from inferflow.cli.projects import HERE
from inferflow.errors import MissingExtra

if TYPE_CHECKING:
    from inferflow.app.settings import Settings
    from inferflow.app.worker import Worker

Directory = Annotated[
    Path, typer.Argument(metavar="DIR", help="Folder with inferflow.toml, if there is one.")
]
Models = Annotated[
    Path | None,
    typer.Option("--models", "-m", help="The models, DIR/models unless given."),
]
Prefetch = Annotated[
    list[str] | None,
    typer.Option("--prefetch", metavar="MODEL", help="Load at the start; may be repeated."),
]
Managers = Annotated[
    str | None,
    typer.Option("--manager", metavar="HOST:PORT", help="Join a fleet; several with commas."),
]
Key = Annotated[str | None, typer.Option("--key", metavar="KEY", help="API key to join it with.")]
Memory = Annotated[
    float | None, typer.Option("--memory-mb", min=1, help="Most memory all models may take.")
]


def worker(
    directory: Directory = HERE,
    models: Models = None,
    port: Port = None,
    http_port: HttpPort = None,
    bind: Bind = None,
    prefetch: Prefetch = None,
    memory_mb: Memory = None,
    manager: Managers = None,
    key: Key = None,
) -> None:
    """Serve ONNX models over the Open Inference Protocol (KServe v2, Triton) until asked to end.

    With --manager, or INFERFLOW_MANAGER, the models are those of a fleet's registry and callers
    show a session token; otherwise they are those of a folder.

    Ctrl-C or SIGTERM lets calls under way finish first; a second one ends at once.
    """
    try:
        from inferflow.app import worker as role
        from inferflow.app.lifetime import run
    except (ModuleNotFoundError, MissingExtra) as missing:  # gRPC says so itself
        raise MissingExtra("worker", for_what="`inferflow worker`") from missing
    from inferflow.app.operating import operating
    from inferflow.app.settings import read_settings

    settings = read_settings(directory)
    table = with_options(
        settings.worker,
        models_dir=None if models is None else str(models.resolve()),
        port=port,
        http_port=http_port,
        bind=bind,
        prefetch=tuple(prefetch) if prefetch else None,
        memory_mb=memory_mb,
    )
    settings = settings.model_copy(update={"worker": table})
    managers = fleet_managers(settings, manager, has_folder=models is not None)
    member = None
    if managers:
        from inferflow.app.member import FleetMember
        from inferflow.app.places import data_dir
        from inferflow.app.tls import channel_tls

        secret = key or settings.fleet.api_key.get_secret_value()
        cache = data_dir(directory, settings) / "worker" / "fleet"
        tls = channel_tls(settings.tls, plain_text=settings.fleet.plain_text)
        member = FleetMember(managers, secret, settings.worker, cache, tls=tls)
    with operating(settings, "worker"):
        run(role.work(directory, settings, started=_announce, fleet=member))


def fleet_managers(settings: Settings, given: str | None, *, has_folder: bool) -> tuple[str, ...]:
    """The managers to join; none for a worker with a folder of its own."""
    from inferflow.errors import InvalidInput

    if given is not None and has_folder:
        raise InvalidInput("--models and --manager: models come from a folder or from a fleet")
    if given is not None:
        return tuple(part.strip() for part in given.split(",") if part.strip())
    return () if has_folder else settings.fleet.manager


def _announce(worker: Worker) -> None:
    names = sorted({each.model for each in worker.host.residents()})
    say_where(worker.settings.bind, worker.grpc.port, worker.http)
    say(
        f"ready, {len(names)} model(s): {', '.join(names) or 'none yet'}",
    )
