"""`inferflow numerix`: evaluate expressions for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from inferflow.cli.listening import Bind, HttpPort, Port, say_where, with_options
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
        from inferflow.app.lifetime import run
    except ModuleNotFoundError as missing:
        raise MissingExtra("serve", for_what="`inferflow numerix`") from missing
    from inferflow.app.operating import operating
    from inferflow.app.settings import read_settings

    settings = read_settings(directory)
    table = with_options(
        settings.compute,
        expressions=None if expressions is None else str(expressions.resolve()),
        port=port,
        http_port=http_port,
        bind=bind,
    )
    settings = settings.model_copy(update={"compute": table})
    with operating(settings, "numerix"):
        run(role.compute(directory, settings, started=_announce))


def _announce(numerix: Numerix) -> None:
    names = numerix.expressions.ids
    say_where(numerix.settings.bind, numerix.grpc.port, numerix.http)
    say(
        f"{'ready' if names else 'not ready'}, {len(names)} expression(s): "
        f"{', '.join(names) or 'none yet'}",
    )
