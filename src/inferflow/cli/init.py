"""`inferflow init`: a small project to start from."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from inferflow.cli.output import say


def init(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A new or empty folder.")],
) -> None:
    """Write a small working project: features, a model, an expression, a config, a request."""
    from inferflow.app.scaffold import CONFIG, REQUEST, write_starter
    from inferflow.cli.program import program

    files = write_starter(directory)
    folder, request = shlex.quote(str(directory)), shlex.quote(str(directory / REQUEST))
    say(
        f"wrote {len(files)} files to {directory}",
        "",
        "try:",
        f"  {program()} validate {folder}",
        f"  {program()} score {CONFIG} --dir {folder} --request {request}",
        f"  {program()} explain {CONFIG} --dir {folder} --request {request} --item 4",
        f"  {program()} test {folder}",
    )
