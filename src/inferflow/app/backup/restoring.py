"""Puts a backup back as a project folder with its state in `.inferflow`.

Everything is unpacked and checked beside the folder, which then appears in one step. A folder that
is replaced is moved aside first and deleted last, so at every moment one of the two is whole.
"""

from __future__ import annotations

import os
import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path

from inferflow.app.backup.archive import unpack
from inferflow.app.backup.manifest import Manifest
from inferflow.app.places import data_dir
from inferflow.app.settings import read_settings
from inferflow.configstore.atomic import make_durable
from inferflow.errors import BackupFailed, InvalidInput

STATE = ".inferflow"


@dataclass(frozen=True, slots=True)
class Restored:
    root: Path
    manifest: Manifest
    notes: tuple[str, ...]
    """What its reader has to do before it is as it was."""


def restore_backup(archive: Path, root: Path, *, replace: bool = False) -> Restored:
    """Raises InvalidInput when the archive is not whole or the folder holds something and may not
    be replaced, BackupFailed when the disk does not play along. Then nothing has changed."""
    if not archive.is_file():
        raise InvalidInput(f"{archive}: there is no such file")
    if root.exists() and (not root.is_dir() or any(root.iterdir())) and not replace:
        raise InvalidInput(f"{root}: is there already; --force replaces it, with all it holds")
    root = root.absolute()
    beside = root.parent / f".{root.name}.{secrets.token_hex(4)}.new"
    try:
        beside.mkdir(parents=True)
        manifest = unpack(archive, beside / "unpacked")
        made = _arranged(beside)
        _put_in_place(made, root)
    except OSError as failed:
        where = failed.filename or root
        raise BackupFailed(f"{where}: {failed.strerror or failed}; nothing has changed") from failed
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return Restored(root, manifest, tuple(_notes(root, manifest)))


def _arranged(beside: Path) -> Path:
    """The project's folder, made of what was unpacked."""
    made = beside / "made"
    made.mkdir()
    project, state = beside / "unpacked" / "project", beside / "unpacked" / "state"
    for each in project.iterdir() if project.exists() else ():
        os.rename(each, made / each.name)
    if state.exists():
        os.rename(state, made / STATE)
    return made


def _put_in_place(made: Path, root: Path) -> None:
    old = made.parent / "old"
    if root.exists():
        os.rename(root, old)
    try:
        os.rename(made, root)
    except OSError:
        if old.exists():
            os.rename(old, root)
        raise
    make_durable(root.parent)


def _notes(root: Path, manifest: Manifest) -> list[str]:
    settings = read_settings(root)
    notes = [f"not in the backup: {each}" for each in manifest.elsewhere]
    if data_dir(root, settings) != root / STATE:
        notes.append(
            f"the settings keep state in {data_dir(root, settings)}; what was restored is in "
            f"{root / STATE}: move it there, or set INFERFLOW_DATA_DIR"
        )
    chosen = settings.manager
    if any(name.startswith("state/manager/") for name in manifest.files) and (
        chosen.database or chosen.files
    ):
        notes.append(
            f"the settings name another place for the registry; what was restored is in "
            f"{root / STATE / 'manager'}"
        )
    return notes
