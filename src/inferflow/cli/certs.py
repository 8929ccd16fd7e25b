"""`inferflow certs`: certificates for trying out TLS on one's own machine."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from inferflow.cli.output import say

if TYPE_CHECKING:
    from inferflow.access.dev_certificates import Issued

app = typer.Typer(help="Certificates for TLS.", no_args_is_help=True, rich_markup_mode=None)

_LOCAL = ("localhost", "127.0.0.1", "::1")


@app.command("dev")
def dev(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Where they are written.")],
    host: Annotated[
        list[str] | None,
        typer.Option("--host", help="A further name or address of servers; may be repeated."),
    ] = None,
    client: Annotated[
        str, typer.Option("--client", metavar="NAME", help="Whose certificate the client's is.")
    ] = "client",
    uri: Annotated[
        str, typer.Option("--uri", help="A URI for the client, such as spiffe://shop/web.")
    ] = "",
    days: Annotated[float, typer.Option("--days", min=0, help="How long they are good for.")] = 90,
) -> None:
    """Write a new authority, and a certificate for servers and one for clients that it has signed.

    For development only: whoever has `ca-key.pem` can be anybody.
    """
    from datetime import UTC, datetime

    from inferflow.access.dev_certificates import Authority

    authority = Authority("inferflow dev authority", now=datetime.now(UTC), days=days)
    hosts = list(dict.fromkeys((*_LOCAL, socket.gethostname(), *(host or ()))))
    directory.mkdir(parents=True, exist_ok=True)
    _write(directory, "ca", authority.issued)
    _write(directory, "server", authority.issue("server", hosts=hosts))
    _write(directory, "client", authority.issue(client, uri=uri))
    say(
        f"wrote ca.pem, server.pem and client.pem, and their keys, to {directory}",
        f"for servers at {', '.join(hosts)}:",
        f"  export INFERFLOW_TLS_CERT={directory / 'server.pem'}",
        f"  export INFERFLOW_TLS_KEY={directory / 'server-key.pem'}",
        f"  export INFERFLOW_TLS_CA={directory / 'ca.pem'}",
    )


def _write(directory: Path, name: str, issued: Issued) -> None:
    """The key is nobody else's to read, at no moment. Each file is replaced whole, the key first:
    who takes up the pair in between finds that it does not fit, and waits."""
    _replace(directory / f"{name}-key.pem", issued.key, 0o600)
    _replace(directory / f"{name}.pem", issued.cert, 0o644)


def _replace(path: Path, content: bytes, mode: int) -> None:
    fresh = path.with_name(f".{path.name}.new")
    fresh.unlink(missing_ok=True)
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    os.replace(fresh, path)
