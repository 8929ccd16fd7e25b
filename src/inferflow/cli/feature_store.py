"""`inferflow feature-store`: serve features to other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from inferflow.cli.listening import Bind, HttpPort, Port, say_where, with_options
from inferflow.cli.output import say
from inferflow.cli.projects import HERE
from inferflow.errors import MissingExtra

if TYPE_CHECKING:
    from inferflow.app.feature_store import FeatureStoreServer

Directory = Annotated[
    Path, typer.Argument(metavar="DIR", help="Folder with features/ and inferflow.toml.")
]


def feature_store(
    directory: Directory = HERE, port: Port = None, http_port: HttpPort = None, bind: Bind = None
) -> None:
    """Serve a project's features to other programs, on the wire of the original feature store,
    until asked to end.

    A changed schema is taken up while it runs. Ctrl-C or SIGTERM lets calls under way finish
    first; a second one ends at once.
    """
    try:
        from inferflow.app import feature_store as role
        from inferflow.app.lifetime import run
    except ModuleNotFoundError as missing:
        raise MissingExtra("serve", for_what="`inferflow feature-store`") from missing
    from inferflow.app.operating import operating
    from inferflow.app.settings import read_settings

    settings = read_settings(directory)
    table = with_options(
        settings.feature_store,
        port=port,
        http_port=http_port,
        bind=bind,
    )
    settings = settings.model_copy(update={"feature_store": table})
    with operating(settings, "feature-store"):
        run(role.serve_features(directory, settings, started=_announce))


def _announce(server: FeatureStoreServer) -> None:
    say_where(server.settings.bind, server.grpc.port, server.http)
    why_not = server.not_ready()
    if why_not:
        say(f"not ready, {why_not}")
        return
    names = server.store.find().schema.entities
    say(f"ready, {len(names)} entities: {', '.join(names) or 'none yet'}")
