"""What a served project is made of, seen at one moment: texts, which model files there are, and
what is known of models elsewhere.

Cheap to take, and equal when nothing changed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from inferflow.app.project import Finding, FolderInputs, Inputs
from inferflow.app.project_models import RemoteMark
from inferflow.configstore import ConfigStore, Folder

ModelMark = tuple[tuple[str, int, int, int], ...]
"""Path, size, inode and time of change of every model file."""


@dataclass(frozen=True, slots=True)
class Sources:
    configs: Folder
    schema: str | None
    """features/schema.yaml; None when there is none."""
    expressions: str | None
    models: ModelMark
    findings: tuple[Finding, ...] = ()
    """Files that are there and cannot be read."""
    remote: RemoteMark = ()


def look(
    root: Path, configs: ConfigStore, remote: RemoteMark = (), *, inputs: Inputs | None = None
) -> Sources:
    """`inputs` is where schema and expressions are from; the folder when not given."""
    inputs = inputs or FolderInputs(root)
    findings: list[Finding] = []
    return Sources(
        configs.current(),
        inputs.schema(findings),
        inputs.expressions(findings),
        _models(root / "models"),
        tuple(findings),
        remote,
    )


def _models(folder: Path) -> ModelMark:
    found: list[tuple[str, int, int, int]] = []
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            try:
                facts = os.stat(path)
            except FileNotFoundError:  # gone between the listing and the look
                continue
            found.append((path, facts.st_size, facts.st_ino, facts.st_mtime_ns))
    return tuple(sorted(found))
