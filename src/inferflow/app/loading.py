"""Loads a project's feature files into its store, each once until it (or the schema) changes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from inferflow.app.project import Project
from inferflow.errors import InvalidInput
from inferflow.featurestore import FeatureStore
from inferflow.featurestore.importer import import_file

Progress = Callable[[str, int, int], None]
"""Called with a file's name, rows done and rows in all."""


def load_features(
    project: Project,
    store: FeatureStore,
    *,
    state: Path | None,
    progress: Progress | None = None,
) -> int:
    """Import what is new, and return how many rows that was. `state` remembers what was
    imported; without it everything is."""
    seen = _remembered(state)
    rows = 0
    for entity, group, path in project.data_files():
        mark = _mark(path, project.schema.digest)
        if seen.get(path.name) == mark:
            continue
        told = None if progress is None else _about(path.name, progress)
        rows += import_file(store, path, entity=entity, group=group or None, progress=told)
        seen[path.name] = mark
        if state is not None:
            _remember(state, seen)
    return rows


def _about(name: str, progress: Progress) -> Callable[[int, int], None]:
    return lambda done, total: progress(name, done, total)


def _mark(path: Path, schema: str) -> str:
    facts = path.stat()
    return f"{facts.st_size}:{facts.st_mtime_ns}:{schema}"


def _remembered(state: Path | None) -> dict[str, str]:
    if state is None or not state.exists():
        return {}
    try:
        content = json.loads(state.read_text(encoding="utf-8"))
    except (OSError, ValueError) as broken:
        raise InvalidInput(f"{state.name}: {broken}; delete it to load all files again") from broken
    return {str(name): str(mark) for name, mark in content.items()}


def _remember(state: Path, seen: dict[str, str]) -> None:
    """Written beside and moved into place, so that it is whole or not there."""
    fresh = state.with_suffix(".new")
    fresh.write_text(json.dumps(seen, indent=1), encoding="utf-8")
    os.replace(fresh, state)
