"""Files that are whole or not there, even when the power goes."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

_SUFFIX = ".new"


def write_whole(path: Path, text: str) -> None:
    """Replace a file's content in one step: written beside it, made durable, moved over it."""
    handle, beside = tempfile.mkstemp(prefix=_prefix(path), suffix=_SUFFIX, dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode("utf-8"))
            file.flush()
            os.fchmod(file.fileno(), _mode(path))
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise
    make_durable(path.parent)


def clear_leftovers(path: Path) -> None:
    """Delete what a writer of this file left beside it when it was killed."""
    for each in path.parent.iterdir():
        if each.name.startswith(_prefix(path)) and each.name.endswith(_SUFFIX):
            each.unlink(missing_ok=True)


def _prefix(path: Path) -> str:
    return f".{path.name}."


def make_durable(folder: Path) -> None:
    """Names in a folder are as durable as the folder."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _mode(path: Path) -> int:
    """The file keeps its permissions; a new one gets what people expect of a text file."""
    try:
        return path.stat().st_mode & 0o777
    except FileNotFoundError:
        return 0o644
