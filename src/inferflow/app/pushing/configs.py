"""A project's configs, brought to etcd: each compiled, tried on its golden requests, then stored.

One that is refused keeps no other from being pushed. Splits come last, for their arms have to be
there. What others have changed in etcd since this began is never overwritten.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

from inferflow.app.config_stores import open_configs
from inferflow.app.project import Project, WrittenConfig
from inferflow.app.publish import check
from inferflow.app.pushing.outcome import Outcome
from inferflow.app.settings import Settings
from inferflow.configstore import Document, Folder, Version
from inferflow.configstore.folder import read_folder
from inferflow.errors import ConfigStoreFailed, InferflowError
from inferflow.plan.split import is_split


def push_configs(
    project: Project, settings: Settings, *, author: str, dry_run: bool, alone: bool = False
) -> Iterator[Outcome]:
    """Raises what a config store raises that cannot be read. `alone`: configs that are in etcd
    only will go, so none of the folder may need one."""
    overrides = _nearby(settings, dry_run=dry_run)
    folder = read_folder(project.root / "configs")
    for broken in folder.unreadable:
        yield Outcome("configs", broken.id, "refused", f"{broken.file}: {broken.what}")
    with closing(open_configs(project.root, settings)) as store:
        there = store.current()
        newest = {each.id: each for each in store.versions()}
        beside = _together(project, Folder({}) if alone else there)
        for document in _in_order(folder):
            found = there.documents.get(document.id)
            if found is not None and found.text == document.text:
                yield Outcome("configs", document.id, "unchanged", "there already")
                continue
            try:
                checked = check(beside, document, author=author, overrides=overrides)
                if dry_run:
                    yield Outcome("configs", document.id, "differs", _what(found is None))
                    continue
                version = store.push(checked.draft, expected=_expected(document, newest))
            except ConfigStoreFailed:
                raise
            except InferflowError as refused:
                yield Outcome("configs", document.id, "refused", str(refused))
                if found is None:  # a split must not name what will not be there
                    del beside.configs[document.id]
            else:
                yield Outcome(
                    "configs", document.id, "pushed", f"{version.label}, {version.checks}"
                )


def _nearby(settings: Settings, *, dry_run: bool) -> dict[str, Any]:
    """What golden requests are run with. Expressions are computed here, for a service may not have
    taken up yet what was pushed just now. When nothing is to be changed, rows are the folder's own:
    those elsewhere may be old, and opening a store of many would fill it."""
    here: dict[str, Any] = {"numerix": settings.numerix.model_copy(update={"host": ""})}
    if dry_run:
        here["feature_backend"] = "memory"
        here["onfs"] = settings.onfs.model_copy(update={"host": ""})
    return here


def _together(project: Project, there: Folder) -> Project:
    """The folder's configs, and those beside them that are in etcd alone."""
    others = {each.id: WrittenConfig.of(each) for each in there.documents.values()}
    return Project(
        project.root,
        project.schema,
        project.expressions,
        {**others, **project.configs},
        project.findings,
    )


def _in_order(folder: Folder) -> list[Document]:
    return sorted(folder.documents.values(), key=lambda each: (is_split(each.content), each.id))


def _expected(document: Document, newest: Mapping[str, Version]) -> int:
    version = newest.get(document.id)
    return 0 if version is None else version.number


def _what(is_new: bool) -> str:
    return "new" if is_new else "changed"
