"""Rows of a project's feature files, brought to where a deployment reads them.

To a feature service through its persist call, else to Redis itself. Every file is typed and
checked as a whole before a row of it is sent. A file that does not fit is refused with the row,
and keeps no other from being pushed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from inferflow.app.loading import Progress, is_loaded, load_file
from inferflow.app.project import Project
from inferflow.app.project_features import open_feature_line
from inferflow.app.pushing.outcome import Outcome
from inferflow.app.settings import Settings
from inferflow.app.wiring import loaded_files, open_backend
from inferflow.dtypes import Array
from inferflow.errors import InferflowError, StoreFailed, StoreUnreachable
from inferflow.featurestore import FeatureStore
from inferflow.featurestore.batch import Batch, batch_of_table
from inferflow.featurestore.tables import read_table

if TYPE_CHECKING:
    from inferflow.client.features.writer import FeatureWriter

_PAUSE_S = 0.25
_PAUSES = 60
"""So often a service is asked again that does not know a schema which was pushed just now."""

Wait = Callable[[float], Awaitable[object]]


def has_store(settings: Settings) -> bool:
    """Whether rows are kept where others read them too."""
    return bool(settings.onfs.address) or settings.feature_backend == "redis"


def push_rows(
    project: Project,
    settings: Settings,
    *,
    dry_run: bool,
    is_schema_new: bool = False,
    progress: Progress | None = None,
) -> Iterator[Outcome]:
    """Raises what a store raises that cannot be used at all. `is_schema_new`: the schema has just
    been pushed, or would be; so a service that does not know it is asked again for a while."""
    if settings.onfs.address:
        return _to_service(
            project,
            settings,
            dry_run=dry_run,
            is_schema_new=is_schema_new,
            progress=progress,
        )
    return _to_redis(project, settings, dry_run=dry_run, progress=progress)


# --- a service ------------------------------------------------------------------------------


def _to_service(
    project: Project,
    settings: Settings,
    *,
    dry_run: bool,
    is_schema_new: bool,
    progress: Progress | None,
) -> Iterator[Outcome]:
    from inferflow.client.features.writer import FeatureWriter

    pauses = _PAUSES if is_schema_new and not dry_run else 0
    with asyncio.Runner() as loop, closing(open_feature_line(settings)) as line:
        writer = FeatureWriter(line, project.require_schema())
        for entity, group, path in project.data_files():
            try:
                info = project.schema.entity(entity)
                batch = batch_of_table(info, group or None, read_table(path), source=path.name)
            except InferflowError as refused:
                yield _refused(path, refused)
                continue
            try:
                changed = loop.run(_changed(writer, entity, batch, pauses))
                if dry_run or not len(changed):
                    yield _outcome(path, len(changed), len(batch), dry_run=dry_run)
                    continue
                told = _about(path.name, len(changed), progress)
                loop.run(writer.write(entity, batch, changed, done=told))
            except StoreUnreachable:
                raise
            except StoreFailed as refused:
                if dry_run and is_schema_new:  # it cannot know yet what it will be told
                    text = f"up to {len(batch):,} row(s), once the schema is there"
                    yield Outcome("features", path.name, "differs", text)
                else:
                    yield _refused(path, refused)
                continue
            yield _outcome(path, len(changed), len(batch), dry_run=dry_run)


async def _changed(
    writer: FeatureWriter, entity: str, batch: Batch, pauses: int, wait: Wait = asyncio.sleep
) -> Array:
    for _ in range(pauses):
        try:
            return await writer.changed(entity, batch)
        except StoreUnreachable:
            raise
        except StoreFailed:  # it may not have seen the schema yet
            await wait(_PAUSE_S)
    return await writer.changed(entity, batch)


def _about(name: str, rows: int, progress: Progress | None) -> Callable[[int], None]:
    return lambda done: None if progress is None else progress(name, done, rows)


# --- Redis ----------------------------------------------------------------------------------


def _to_redis(
    project: Project, settings: Settings, *, dry_run: bool, progress: Progress | None
) -> Iterator[Outcome]:
    """The store itself remembers which files it has, by what is in them."""
    schema = project.require_schema()
    with closing(open_backend(project.root, settings)) as backend:
        # Opening a store notes its schema in it, which is more than trying may do.
        store = None if dry_run else FeatureStore(schema, backend)
        loaded = loaded_files(project.root, settings, backend)
        for file in project.data_files():
            path = file[2]
            if is_loaded(file, schema, loaded):
                yield Outcome("features", path.name, "unchanged", "there already")
                continue
            if store is None:
                yield Outcome("features", path.name, "differs", "new or changed")
                continue
            try:
                rows = load_file(file, store, loaded=loaded, progress=progress)
            except StoreUnreachable:
                raise
            except InferflowError as refused:
                yield _refused(path, refused)
            else:
                yield Outcome("features", path.name, "pushed", f"{rows:,} row(s)")


# --- what became of a file ------------------------------------------------------------------


def _refused(path: Path, refused: InferflowError) -> Outcome:
    text = str(refused).removeprefix(f"{path.name}: ")
    return Outcome("features", path.name, "refused", text)


def _outcome(path: Path, changed: int, rows: int, *, dry_run: bool) -> Outcome:
    if not changed:
        return Outcome("features", path.name, "unchanged", f"{rows:,} row(s) there already")
    text = f"{changed:,} of {rows:,} row(s)"
    return Outcome("features", path.name, "differs" if dry_run else "pushed", text)
