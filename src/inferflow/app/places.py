"""Where embedded state lives: beside the project when it may be written, else in a state folder.

A project that is read-only (shared, packaged, mounted) is never written to. Where there is no
other place, as in a container whose file system is read-only, the folder for temporary files has
to do.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from pathlib import Path

from inferflow.app.settings import Settings
from inferflow.errors import InvalidInput


def data_dir(root: Path, settings: Settings) -> Path:
    """Raises InvalidInput when there is none that could be written."""
    if settings.data_dir:
        return Path(settings.data_dir)
    if _is_writable(root):
        return root / ".inferflow"
    name = hashlib.blake2b(str(root.resolve()).encode(), digest_size=8).hexdigest()
    home = _state_home()
    if home is not None and _may_be_made(home / "inferflow" / name):
        return home / "inferflow" / name
    return _temporary(name)


def feature_dir(root: Path, settings: Settings) -> Path:
    return data_dir(root, settings) / "features"


def config_dir(root: Path, settings: Settings) -> Path:
    """Where the history of configs is kept; the configs themselves are in the project. With etcd,
    where it is remembered what was served: of each application on its own."""
    home = data_dir(root, settings)
    return (
        home / "etcd" / settings.telemetry.app_name if settings.etcd.endpoints else home / "configs"
    )


def _is_writable(folder: Path) -> bool:
    # Root may write anywhere, so a folder that is marked read-only is taken at its word.
    return bool(folder.stat().st_mode & stat.S_IWUSR) and os.access(folder, os.W_OK)


def _state_home() -> Path | None:
    chosen = os.environ.get("XDG_STATE_HOME")
    if chosen:
        return Path(chosen)
    try:
        home = Path.home()
    except RuntimeError:
        return None
    # A user may be without a home, as in some containers: then none is made.
    return home / ".local" / "state" if home.is_dir() else None


def _may_be_made(folder: Path) -> bool:
    """Whether a folder is there and may be written, or the nearest above it that is."""
    nearest = next(each for each in (folder, *folder.parents) if each.exists())
    return nearest.is_dir() and _is_writable(nearest)


def _temporary(name: str) -> Path:
    """A folder of this user's own among temporary files, where others might make one too."""
    try:
        folder = Path(tempfile.gettempdir()) / f"inferflow-{os.getuid()}-{name}"
        folder.mkdir(mode=0o700, exist_ok=True)
        facts = folder.lstat()
    except OSError as refused:
        raise InvalidInput(
            f"there is nowhere to keep state: {refused}; set INFERFLOW_DATA_DIR"
        ) from refused
    if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.getuid():
        raise InvalidInput(f"{folder}: belongs to somebody else; set INFERFLOW_DATA_DIR")
    return folder
