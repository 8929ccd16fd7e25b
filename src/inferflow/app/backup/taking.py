"""Takes a backup: every file that makes up a project and its embedded state, while it is used.

Stores that change in place are copied first, each as of one moment: feature rows inside a reading
transaction, the registry by SQLite itself. Configs and their history are read under the store's
lock. What remembers a load is read before what was loaded, so a restored project may load a file
again but never believes in a load it does not have. Caches and inference logs are left out.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from inferflow._version import __version__
from inferflow.app.backup.archive import FileChanged, Packing
from inferflow.app.backup.manifest import Manifest
from inferflow.app.backup.registry import Registry, registry_of
from inferflow.app.places import config_dir, data_dir, feature_dir
from inferflow.app.project import EXPRESSIONS_FILE
from inferflow.app.settings import FILE, Settings
from inferflow.configstore.directory import LOCK_TIMEOUT_S
from inferflow.configstore.lock import locked
from inferflow.errors import BackupFailed, InvalidInput

CONFIGS = "configs"
_PARTS = ("features", "models", "requests", EXPRESSIONS_FILE, FILE)
"""Of a project's folder, beside its configs: what Inferflow reads, and nothing else lying there."""
_ATTEMPTS = 3
_LOADED = "loaded.json"


@dataclass(frozen=True, slots=True)
class Taken:
    file: Path
    size: int
    """Of the archive."""
    manifest: Manifest
    warnings: tuple[str, ...]


def take_backup(
    root: Path,
    settings: Settings,
    file: Path,
    *,
    now: Callable[[], float],
    replace: bool = False,
) -> Taken:
    """Write a backup of a project to a file: whole, or not at all.

    Raises InvalidInput when the file is there already and may not be replaced, BackupFailed when
    it cannot be written, or a file of the project is being changed whenever it is read.
    """
    if file.exists() and not replace:
        raise InvalidInput(f"{file}: is there already; --force replaces it")
    for attempt in range(_ATTEMPTS):
        try:
            with tempfile.TemporaryDirectory(prefix=".backup-", dir=file.parent) as work:
                return _Backup(root, settings, Path(work), attempt).write(file, now)
        except FileChanged as changed:
            busy = changed
        except OSError as failed:
            where, why = failed.filename or file, failed.strerror or failed
            raise BackupFailed(f"{where}: {why}; nothing was kept") from failed
    raise BackupFailed(
        f"{busy.path} changes whenever it is read; try again when nobody writes to it"
    ) from busy


class _Backup:
    """One attempt, with a folder for what must be copied first."""

    def __init__(self, root: Path, settings: Settings, work: Path, attempt: int) -> None:
        self._root = root
        self._settings = settings
        self._work = work
        self._is_first = attempt == 0
        self._warnings: list[str] = []

    def write(self, file: Path, now: Callable[[], float]) -> Taken:
        beside = self._work / "archive"
        made_ms = int(now() * 1000)
        # Created for its owner alone: it may hold a manager's secret.
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
            manifest = self._pack(out, made_ms)
            out.flush()
            os.fsync(out.fileno())
            size = out.tell()
        os.replace(beside, file)
        return Taken(file, size, manifest, tuple(self._warnings))

    def _pack(self, out: IO[bytes], made_ms: int) -> Manifest:
        registry = registry_of(self._root, self._settings)
        packing = Packing(out)
        self._pack_rows(packing)
        self._pack_registry(packing, registry)
        self._pack_configs(packing)
        for part in _PARTS:
            _pack_tree(packing, f"project/{part}", self._root / part)
        schemas = data_dir(self._root, self._settings) / "log_schemas"
        _pack_tree(packing, "state/log_schemas", schemas)
        if not packing.files:
            raise InvalidInput(f"{self._root}: there is nothing to back up")
        elsewhere = (*_elsewhere(self._settings), *registry.elsewhere)
        manifest = Manifest(__version__, made_ms, packing.files, elsewhere)
        packing.finish(manifest)
        return manifest

    def _pack_rows(self, packing: Packing) -> None:
        home = feature_dir(self._root, self._settings)
        if self._settings.feature_backend != "lmdb" or not (home / "data.mdb").exists():
            return
        from inferflow.featurestore.lmdb import LmdbBackend

        if (home / _LOADED).exists():
            packing.add(f"state/features/{_LOADED}", home / _LOADED)
        copy = self._work / "features"
        copy.mkdir()
        rows = LmdbBackend(home)
        try:
            rows.copy_to(copy)
        finally:
            rows.close()
        packing.add("state/features/data.mdb", copy / "data.mdb")

    def _pack_registry(self, packing: Packing, registry: Registry) -> None:
        for name, path in registry.files(self._work):
            if path.exists():
                packing.add(f"state/manager/{name}", path)
            elif self._is_first:
                raise FileChanged(path)  # perhaps of a version deleted just now
            else:
                self._warnings.append(f"{path} is missing; its model cannot be served")

    def _pack_configs(self, packing: Packing) -> None:
        history = config_dir(self._root, self._settings)
        with ExitStack() as held:
            if history.exists():
                held.enter_context(locked(history / "lock", timeout_s=LOCK_TIMEOUT_S))
            _pack_tree(packing, f"project/{CONFIGS}", self._root / CONFIGS)
            _pack_tree(packing, f"state/{CONFIGS}", history, leave_out=frozenset({"lock"}))


def _pack_tree(
    packing: Packing, name: str, top: Path, *, leave_out: frozenset[str] = frozenset()
) -> None:
    """A file, or every file below a folder; what is not there is not packed."""
    if top.is_file():
        packing.add(name, top)
    for path in _files_below(top):
        if path.name not in leave_out:
            packing.add(f"{name}/{path.relative_to(top).as_posix()}", path)


def _files_below(top: Path) -> Iterator[Path]:
    """In order, through links, each folder once. Hidden files are somebody's half-written ones."""
    seen: set[tuple[int, int]] = set()
    for folder, folders, names in os.walk(top, followlinks=True):
        facts = os.stat(folder)
        if (facts.st_dev, facts.st_ino) in seen:
            folders.clear()
            continue
        seen.add((facts.st_dev, facts.st_ino))
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        for each in sorted(names):
            path = Path(folder, each)
            if not each.startswith(".") and path.is_file():
                yield path


def _elsewhere(settings: Settings) -> Iterator[str]:
    if settings.etcd.endpoints:
        yield "configs, which are in etcd"
    if settings.onfs.address:
        yield f"features, which the service at {settings.onfs.address} keeps"
    elif settings.feature_backend == "redis":
        yield "features, which are in Redis"
