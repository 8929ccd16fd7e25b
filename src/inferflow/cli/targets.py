"""Asking a server, and not the project."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

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


def connected(target: str) -> Client:
    from inferflow.client.connecting import connect

    return connect(target)
