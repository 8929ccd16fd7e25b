"""`inferflow numerix`: evaluate expressions for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from inferflow.cli.output import say
from inferflow.cli.projects import HERE
from inferflow.errors import MissingExtra

if TYPE_CHECKING:
    from inferflow.app.numerix import Numerix

Directory = Annotated[
    Path, typer.Argument(metavar="DIR", help="Folder with expressions.yaml and inferflow.toml.")
]
Expressions = Annotated[
    Path | None,
    typer.Option(
        "--expressions",
        "-e",
        metavar="PATH",
        help="A file of expressions, or a folder of them; DIR/expressions.yaml unless given.",
    ),
]
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


def numerix(
    directory: Directory = HERE,
    expressions: Expressions = None,
    port: Port = None,
    http_port: HttpPort = None,
    bind: Bind = None,
) -> None:
    """Evaluate expressions for other programs, on the wire of Numerix, until asked to end.

    Changed expressions are taken up while it runs. Ctrl-C or SIGTERM lets calls under way finish
    first; a second one ends at once.
    """
    try:
        from inferflow.app import numerix as role
        from inferflow.app.serving import run
    except ModuleNotFoundError as missing:
        raise MissingExtra("serve", for_what="`inferflow numerix`") from missing
    from inferflow.app.settings import read_settings
    from inferflow.telemetry import open_logs

    settings = read_settings(directory)
    chosen = {
        "expressions": None if expressions is None else str(expressions.resolve()),
        "port": port,
        "http_port": http_port,
        "bind": bind,
    }
    given = {name: value for name, value in chosen.items() if value is not None}
    table = settings.compute.model_copy(update=given)
    settings = settings.model_copy(update={"compute": table})
    logs = open_logs(settings.telemetry.chosen())
    try:
        run(role.compute(directory, settings, started=_announce))
    finally:
        logs.close()


def _announce(numerix: Numerix) -> None:
    bind = numerix.settings.bind
    host = f"[{bind}]" if ":" in bind else bind
    names = numerix.expressions.ids
    say(
        f"gRPC  {host}:{numerix.grpc.port}",
        f"HTTP  http://{host}:{numerix.http.port}/health/ready and /metrics",
        f"{'ready' if names else 'not ready'}, {len(names)} expression(s): "
        f"{', '.join(names) or 'none yet'}",
    )
