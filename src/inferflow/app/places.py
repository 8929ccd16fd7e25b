"""Where embedded state lives: beside the project when it may be written, else in a state folder.

A project that is read-only (shared, packaged, mounted) is never written to.
"""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

from inferflow.app.settings import Settings


def data_dir(root: Path, settings: Settings) -> Path:
    if settings.data_dir:
        return Path(settings.data_dir)
    if _is_writable(root):
        return root / ".inferflow"
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    name = hashlib.blake2b(str(root.resolve()).encode(), digest_size=8).hexdigest()
    return Path(state) / "inferflow" / name


def feature_dir(root: Path, settings: Settings) -> Path:
    return data_dir(root, settings) / "features"


def config_dir(root: Path, settings: Settings) -> Path:
    """Where the history of configs is kept; the configs themselves are in the project."""
    return data_dir(root, settings) / "configs"


def _is_writable(folder: Path) -> bool:
    # Root may write anywhere, so a folder that is marked read-only is taken at its word.
    return bool(folder.stat().st_mode & stat.S_IWUSR) and os.access(folder, os.W_OK)
