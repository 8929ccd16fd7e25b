"""Loads a project's feature files into its store, each once until it (or the schema) changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from inferflow.app.loaded_files import LoadedFiles
from inferflow.app.project import Project
from inferflow.featurestore import FeatureSchema, FeatureStore
from inferflow.featurestore.importer import import_file

DataFile = tuple[str, str, Path]
"""Entity, group and file, as `Project.data_files` lists them."""
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
    return sum(
        load_file(file, store, loaded=loaded, progress=progress)
        for file in project.data_files()
        if not is_loaded(file, store.schema, loaded)
    )


def is_loaded(file: DataFile, schema: FeatureSchema, loaded: LoadedFiles | None) -> bool:
    """Whether the store has this file already, under the schema it has now."""
    path = file[2]
    return loaded is not None and loaded.read().get(path.name) == _mark(path, schema, loaded)


def load_file(
    file: DataFile,
    store: FeatureStore,
    *,
    loaded: LoadedFiles | None,
    progress: Progress | None = None,
) -> int:
    """Import one file, and return how many rows it has."""
    entity, group, path = file
    mark = "" if loaded is None else _mark(path, store.schema, loaded)
    told = None if progress is None else _about(path.name, progress)
    rows = import_file(store, path, entity=entity, group=group or None, progress=told)
    if loaded is not None:
        loaded.add(path.name, mark)
    return rows


def _mark(path: Path, schema: FeatureSchema, loaded: LoadedFiles) -> str:
    return f"{loaded.mark(path)}:{schema.digest}"


def _about(name: str, progress: Progress) -> Callable[[int, int], None]:
    return lambda done, total: progress(name, done, total)
