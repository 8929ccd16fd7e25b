"""`inferflow push`: a project's models to a fleet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from inferflow.cli.fleets import Key, Manager, administrating
from inferflow.cli.output import AsJson, say, say_json
from inferflow.cli.projects import HERE

if TYPE_CHECKING:
    from inferflow.client.manager.admin import FleetAdmin
    from inferflow.serving.runtime.repository import ModelFile


def push(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The project's folder.")] = HERE,
    stage: Annotated[
        str, typer.Option("--stage", help="Where new versions begin.  [default: dev]")
    ] = "",
    manager: Manager = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Register the project's models with a fleet's manager, each version once.

    Versions whose files the registry has already are left out. Exits with 1 when one is refused;
    the others are registered all the same.
    """
    from inferflow.app.settings import read_settings
    from inferflow.errors import InferflowError, InvalidInput
    from inferflow.serving.runtime import ModelRepository

    folder = directory / read_settings(directory).worker.models_dir
    repository = ModelRepository(folder)
    found = [
        repository.find(name, version)
        for name in repository.names()
        for version in repository.versions(name)
    ]
    if not found:
        raise InvalidInput(f"{folder}: there are no models, <model>/<version>/model.onnx")
    outcomes: list[dict[str, Any]] = []
    with administrating(manager, key) as admin:
        there = {
            (version["model"], version["digest"]): version["version"]
            for model in admin.models()
            for version in model["versions"]
        }
        for file in found:
            known = there.get((file.model, file.digest))
            try:
                outcomes.append(_known(file, known) if known else _pushed(admin, file, stage))
            except InferflowError as refused:
                outcomes.append(_outcome(file, "refused", str(refused)))
    if as_json:
        say_json({"versions": outcomes})
    else:
        say(*(f"{each['model']}@{each['version']}: {each['text']}" for each in outcomes))
    if any(each["outcome"] == "refused" for each in outcomes):
        raise typer.Exit(1)


def _known(file: ModelFile, version: str) -> dict[str, Any]:
    same = "" if version == file.version else f" as version {version}"
    return _outcome(file, "known", f"there already{same}")


def _pushed(admin: FleetAdmin, file: ModelFile, stage: str) -> dict[str, Any]:
    from inferflow.cli.progress import LoadingBar
    from inferflow.client.manager.uploading import files_at

    with LoadingBar(f"sending {file.label}", in_bytes=True) as bar:
        made = admin.upload(
            file.model,
            files_at(file.path.parent),
            version=file.version,
            stage=stage,
            progress=bar,
        )
    return _outcome(file, "registered", f"registered, in {made['stage']}")


def _outcome(file: ModelFile, outcome: str, text: str) -> dict[str, Any]:
    return {
        "model": file.model,
        "version": file.version,
        "digest": file.digest,
        "outcome": outcome,
        "text": text,
    }
