"""What commands print: text for people, JSON for programs."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from inferflow.explanation.json_text import json_text

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]


def say(*lines: str) -> None:
    typer.echo("\n".join(lines))


def say_table(lines: list[str]) -> None:
    """A table whose first line is its header."""
    say(typer.style(lines[0], bold=True), *lines[1:])


def warn(*lines: str) -> None:
    """On stderr, where it spoils nobody's output."""
    for line in lines:
        typer.echo(f"warning: {line}", err=True)


def say_json(value: Any) -> None:
    typer.echo(json_text(value, indent=2))
