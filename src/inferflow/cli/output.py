"""What commands print: text for people, JSON for programs."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]


def say(*lines: str) -> None:
    typer.echo("\n".join(lines))


def say_table(lines: list[str]) -> None:
    """A table whose first line is its header."""
    say(typer.style(lines[0], bold=True), *lines[1:])


def say_json(value: Any) -> None:
    typer.echo(json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False))


def _plain(value: Any) -> Any:
    """JSON has no NaN and no infinity; they are written as the texts people know them by."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [_plain(each) for each in value]
    return value
