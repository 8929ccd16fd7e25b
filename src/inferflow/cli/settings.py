"""`inferflow settings`: what is set, where, and what it means."""

from __future__ import annotations

import os
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from inferflow.cli.output import AsJson, say, say_json, warn
from inferflow.cli.projects import HERE

if TYPE_CHECKING:
    from inferflow.app.settings_report import SettingValue


def settings(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The project's folder.")] = HERE,
    as_json: AsJson = False,
    changed: Annotated[
        bool, typer.Option("--changed", help="Leave out settings that have their default.")
    ] = False,
) -> None:
    """Show every setting with its value, where that comes from, and what it means.

    The environment wins over inferflow.toml, and that over defaults. Secrets are shown as stars.
    """
    from inferflow.app.settings_report import odd_variables, settings_report
    from inferflow.errors import InvalidInput

    if not directory.is_dir():
        raise InvalidInput(f"{directory}: there is no such folder")
    report = [
        each
        for each in settings_report(directory, os.environ)
        if not changed or each.source != "default"
    ]
    odd = list(odd_variables(os.environ))
    if as_json:
        warnings = [problem.as_dict() for problem in odd]
        say_json({"settings": [each.as_dict() for each in report], "warnings": warnings})
        return
    for table, group in groupby(report, key=lambda each: each.name.rpartition(".")[0]):
        say(typer.style(f"[{table}]" if table else "top of inferflow.toml", bold=True))
        for each in group:
            say(*_lines(each))
        say("")
    warn(*(str(problem).removeprefix("note: ") for problem in odd))


def _lines(each: SettingValue) -> tuple[str, str]:
    key = each.name.rpartition(".")[2]
    origin = each.source if each.source != "default" else _names(each)
    about = each.meaning + (f" Not used: {each.unused}." if each.unused else "")
    value = typer.style(_text(each.value, each.unit), bold=each.source != "default")
    return f"  {key} = {value}  ({origin})", f"      {about}"


def _names(each: SettingValue) -> str:
    return "default; " + (", ".join(each.variables) or "no variable")


def _text(value: Any, unit: str = "") -> str:
    match value:
        case None | "":
            return "none"
        case bool():
            return str(value).lower()
        case float():
            return f"{value:g} {unit}".rstrip()
        case list():
            return ", ".join(map(_text, value)) or "none"
        case dict():
            return ", ".join(f"{name} → {_text(each)}" for name, each in value.items()) or "none"
    return str(value)
