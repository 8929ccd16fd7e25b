"""Loads a project's feature files into its store, each once until it (or the schema) changes."""

from __future__ import annotations

from collections.abc import Callable

from inferflow.app.loaded_files import LoadedFiles
from inferflow.app.project import Project
from inferflow.featurestore import FeatureStore
from inferflow.featurestore.importer import import_file

Progress = Callable[[str, int, int], None]
"""Called with a file's name, rows done and rows in all."""


def load_features(
    project: Project,
    store: FeatureStore,
    *,
    loaded: LoadedFiles | None,
    progress: Progress | None = None,
) -> int:
    """Import what is new, and return how many rows that was. `loaded` remembers what was
    imported; without it everything is."""
    seen = {} if loaded is None else loaded.read()
    rows = 0
    for entity, group, path in project.data_files():
        mark = "" if loaded is None else f"{loaded.mark(path)}:{project.schema.digest}"
        if mark and seen.get(path.name) == mark:
            continue
        told = None if progress is None else _about(path.name, progress)
        rows += import_file(store, path, entity=entity, group=group or None, progress=told)
        if loaded is not None:
            loaded.add(path.name, mark)
    return rows


def _about(name: str, progress: Progress) -> Callable[[int, int], None]:
    return lambda done, total: progress(name, done, total)
