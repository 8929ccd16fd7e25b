"""What every command that starts a server shares: where it listens, and saying so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from inferflow.cli.output import say

if TYPE_CHECKING:
    from pydantic import BaseModel

    from inferflow.api.http import HttpServer

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

Table = TypeVar("Table", bound="BaseModel")


def with_options(table: Table, **options: object) -> Table:
    """Settings in which the options that were given count."""
    given = {name: value for name, value in options.items() if value is not None}
    return table.model_copy(update=given)


def say_where(bind: str, grpc_port: int, http: HttpServer) -> None:
    host = f"[{bind}]" if ":" in bind else bind
    say(
        f"gRPC  {host}:{grpc_port}",
        f"HTTP  {http.scheme}://{host}:{http.port}/health/ready and /metrics",
    )
