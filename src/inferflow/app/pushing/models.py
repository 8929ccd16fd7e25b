"""A project's models, registered with a fleet's manager: each version once, by what is in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from inferflow.app.pushing.outcome import Outcome
from inferflow.errors import InferflowError
from inferflow.serving.runtime import ModelRepository

if TYPE_CHECKING:
    from inferflow.app.loading import Progress
    from inferflow.client.manager.admin import FleetAdmin
    from inferflow.serving.runtime.repository import ModelFile


def push_models(
    repository: ModelRepository,
    admin: FleetAdmin,
    *,
    stage: str,
    dry_run: bool,
    progress: Progress | None = None,
) -> Iterator[Outcome]:
    """Raises what a manager raises that cannot be asked."""
    there = {
        (version["model"], version["digest"]): version["version"]
        for model in admin.models()
        for version in model["versions"]
    }
    for name in repository.names():
        for version in repository.versions(name):
            try:
                file = repository.find(name, version)
                known = there.get((file.model, file.digest))
                if known:
                    yield _known(file, known)
                elif dry_run:
                    yield Outcome("models", file.label, "differs", "not registered")
                else:
                    yield _registered(admin, file, stage, progress)
            except InferflowError as refused:
                yield Outcome("models", f"{name}@{version}", "refused", str(refused))


def _known(file: ModelFile, version: str) -> Outcome:
    same = "" if version == file.version else f" as version {version}"
    return Outcome("models", file.label, "unchanged", f"there already{same}")


def _registered(
    admin: FleetAdmin, file: ModelFile, stage: str, progress: Progress | None
) -> Outcome:
    from inferflow.client.manager.uploading import files_at

    made = admin.upload(
        file.model,
        files_at(file.path.parent),
        version=file.version,
        stage=stage,
        progress=progress,
    )
    return Outcome("models", file.label, "pushed", f"registered, in {made['stage']}")
