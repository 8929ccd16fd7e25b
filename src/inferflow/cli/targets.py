"""Asking a server, and not the project."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from inferflow.cli.projects import HERE
from inferflow.client.tls import Tls

if TYPE_CHECKING:
    from inferflow.client.sync import Client

Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        "-t",
        metavar="ADDRESS",
        help="Ask the server at host:port, and not the project; several with commas.",
    ),
]


def own_address(directory: Path) -> str:
    """Where the project's own server listens, by its settings."""
    from inferflow.app.settings import read_settings

    serve = read_settings(directory).serve
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(serve.bind, serve.bind)
    return f"{host}:{serve.port}"


@dataclass(frozen=True, slots=True)
class Shown:
    """Who a command says it is, and whom it trusts."""

    key: str = field(repr=False)
    tls: Tls | None


def showing(directory: Path) -> Shown:
    """The API key and the certificates of the settings."""
    from inferflow.app.settings import read_settings

    settings = read_settings(directory)
    tls = settings.tls
    trusted = Tls(tls.ca, tls.cert, tls.key, tls.server_name) if tls.ca else None
    return Shown(settings.fleet.api_key.get_secret_value(), trusted)


def connected(target: str, directory: Path = HERE) -> Client:
    from inferflow.client.connecting import connect

    shown = showing(directory)
    return connect(target, key=shown.key, tls=shown.tls)
