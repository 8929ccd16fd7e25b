"""`inferflow config status`: how the configs of a server stand."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import typer

from inferflow.cli.output import AsJson, say, say_json, say_table
from inferflow.cli.projects import HERE, ProjectDir
from inferflow.cli.targets import Target, connected, own_address


def status(target: Target = None, directory: ProjectDir = HERE, as_json: AsJson = False) -> None:
    """Show what a server serves of every config, since when, and what is wrong with others.

    Asks the server the project's settings name, unless another is given. Exits with 1 when a
    config is not served as it is written.
    """
    from inferflow.tabular import table

    with connected(target or own_address(directory), directory) as client:
        configs = client.configs()
    if as_json:
        say_json(configs)
    else:
        headers = ["id", "state", "version", "since", "origin", "author", "stands for", "file"]
        say_table(table(headers, [_cells(config) for config in configs]))
        say(*[line for config in configs for line in _problems(config)])
    if any(config["state"] != "serving" for config in configs):
        raise typer.Exit(1)


def _cells(config: dict[str, Any]) -> list[Any]:
    shares = config["split"] or {}
    since = datetime.fromtimestamp(config["accepted_ms"] / 1000, UTC)
    return [
        config["id"],
        config["state"],
        config["version"] or None,
        since.strftime("%Y-%m-%d %H:%M:%SZ") if config["version"] else None,
        config["origin"],
        config["author"],
        ", ".join(f"{arm} {share:g} %" for arm, share in shares.items()),
        config["file"],
    ]


def _problems(config: dict[str, Any]) -> Iterator[str]:
    """Errors only: notes say nothing that an operator would have to act on."""
    errors = [each for each in config.get("problems", ()) if each["severity"] == "error"]
    if errors or config["errors"]:
        yield ""
        yield typer.style(f"{config['id']}: {config['errors']} error(s)", fg="red")
    for each in errors:
        yield f"  {each['where']}: {each['what']}" + (f" ({each['hint']})" if each["hint"] else "")
