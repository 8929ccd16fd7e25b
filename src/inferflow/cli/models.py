"""`inferflow models`: the versions of a fleet's models, and who gets their traffic."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from inferflow.cli.fleets import Key, Manager, administrating, when
from inferflow.cli.output import AsJson, say, say_json, say_table

app = typer.Typer(
    help="The models of a fleet: versions, stages, traffic.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Name = Annotated[str, typer.Argument(metavar="MODEL", help="The model's name.")]
Version = Annotated[str, typer.Argument(metavar="VERSION", help="The version's number.")]


@app.command("upload")
def upload(
    name: Name,
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="An ONNX file, or a folder with model.onnx.")
    ],
    version: Annotated[
        str, typer.Option("--version", metavar="NUMBER", help="Its number.  [default: the next]")
    ] = "",
    stage: Annotated[str, typer.Option("--stage", help="Where it begins.  [default: dev]")] = "",
    description: Annotated[str, typer.Option("--description", help="Kept with it.")] = "",
    options: Annotated[
        str, typer.Option("--options", metavar="JSON", help="How workers load and batch it.")
    ] = "",
    manager: Manager = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Upload a new version of a model; one that was cut off goes on where it ended.

    The manager checks and tries it before anybody can see it.
    """
    from inferflow.cli.progress import LoadingBar
    from inferflow.client.manager.uploading import files_at

    files = files_at(path)
    with administrating(manager, key) as admin, LoadingBar("sending", in_bytes=True) as bar:
        made = admin.upload(
            name,
            files,
            version=version,
            stage=stage,
            options=_options(options),
            description=description,
            progress=bar,
        )
    _say_version(made, as_json=as_json)


@app.command("list")
def list_(manager: Manager = None, key: Key = None, as_json: AsJson = False) -> None:
    """Show every version of every model the key is for."""
    from inferflow.tabular import table

    with administrating(manager, key) as admin:
        models = admin.models()
    if as_json:
        say_json({"models": models})
        return
    rows = [_cells(version, model) for model in models for version in model["versions"]]
    headers = ["model", "version", "stage", "traffic", "size", "loaded on", "created", "problem"]
    say_table(table(headers, rows))


@app.command("show")
def show(name: Name, manager: Manager = None, key: Key = None, as_json: AsJson = False) -> None:
    """Show a model: what its versions take and give, where they stand, and how they came there."""
    with administrating(manager, key) as admin:
        model = admin.model(name)
    if as_json:
        say_json(model)
        return
    for version in model["versions"]:
        say(*_lines(version, model))


@app.command("promote")
def promote(
    name: Name,
    version: Version,
    stage: Annotated[
        str, typer.Argument(metavar="STAGE", help="dev, staging, production or archived.")
    ],
    reason: Annotated[str, typer.Option("--reason", help="Kept in its history.")] = "",
    expect: Annotated[
        str, typer.Option("--expect", metavar="STAGE", help="Only when it is in this stage.")
    ] = "",
    manager: Manager = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Give a version a stage. The one it replaces in production goes to the archive."""
    with administrating(manager, key) as admin:
        changed = admin.promote(name, version, stage, reason=reason, expected=expect)
    _say_version(changed, as_json=as_json)


@app.command("traffic")
def traffic(
    name: Name,
    shares: Annotated[
        list[str] | None,
        typer.Argument(metavar="[VERSION=PERCENT]...", help="Such as 3=90 4=10."),
    ] = None,
    manager: Manager = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Split production traffic between versions; without shares, production gets all of it."""
    with administrating(manager, key) as admin:
        model = admin.set_traffic(name, dict(map(_share, shares or ())))
    if as_json:
        say_json(model)
        return
    given = ", ".join(
        f"{version} gets {share:g} %" for version, share in sorted(model["traffic"].items())
    )
    say(f"{name}: {given or 'production gets all traffic'}")


@app.command("delete")
def delete(name: Name, version: Version, manager: Manager = None, key: Key = None) -> None:
    """Forget a version and its files. Its number is not used again."""
    with administrating(manager, key) as admin:
        admin.delete_version(name, version)
    say(f"{name}@{version} is deleted")


def _options(text: str) -> dict[str, Any]:
    try:
        options = json.loads(text) if text else {}
    except ValueError as failed:
        raise typer.BadParameter(str(failed), param_hint="--options") from failed
    if not isinstance(options, dict):
        raise typer.BadParameter("a JSON object is wanted", param_hint="--options")
    return options


def _share(text: str) -> tuple[str, float]:
    version, _, percent = text.partition("=")
    try:
        return version, float(percent)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not VERSION=PERCENT") from None


def _say_version(version: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        say_json(version)
        return
    note = f"; {version['note']}" if version["note"] else ""
    say(f"{version['model']}@{version['version']} is in {version['stage']}{note}")


def _cells(version: dict[str, Any], model: dict[str, Any]) -> list[Any]:
    return [
        version["model"],
        version["version"],
        version["stage"],
        _traffic(version, model),
        version["size"],
        len(version["loaded_on"]) or None,
        when(version["created_ms"]),
        version["problem"] or None,
    ]


def _traffic(version: dict[str, Any], model: dict[str, Any]) -> str | None:
    shares = model["traffic"]
    if shares:
        return f"{shares[version['version']]:g} %" if version["version"] in shares else None
    return "100 %" if version["stage"] == "production" else None


def _lines(version: dict[str, Any], model: dict[str, Any]) -> list[str]:
    traffic = _traffic(version, model)
    title = f"{version['model']}@{version['version']}  {version['stage']}"
    lines = [
        typer.style(title + (f", {traffic} of the traffic" if traffic else ""), bold=True),
        f"  digest   {version['digest']}",
        *(f"  takes    {_tensor(each)}" for each in version["inputs"]),
        *(f"  gives    {_tensor(each)}" for each in version["outputs"]),
        *(f"  file     {each['path']}, {each['size']} bytes" for each in version["files"]),
    ]
    for label, text in (
        ("about", version["description"]),
        ("options", version["options_json"]),
        ("note", version["note"]),
        ("problem", version["problem"]),
        ("loaded", ", ".join(version["loaded_on"])),
    ):
        lines += [f"  {label:<8} {text}"] if text else []
    return lines + [f"  {_change(each)}" for each in version["history"]]


def _tensor(tensor: dict[str, Any]) -> str:
    shape = ", ".join("any" if size < 0 else str(size) for size in tensor["shape"])
    return f"{tensor['name']} {tensor['datatype']} [{shape}]"


def _change(change: dict[str, Any]) -> str:
    origin = f"{change['from']} → " if change["from"] else ""
    reason = f": {change['reason']}" if change["reason"] else ""
    return f"{when(change['at_ms'])}  {origin}{change['to']} by {change['by']}{reason}"
