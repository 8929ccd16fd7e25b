"""A copy of a registry kept in SQLite, made while managers use it.

SQLite copies pages inside one reading transaction, so the copy is the registry of one moment. The
model files it refers to are written once and never changed, so they may be read afterwards.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from inferflow.errors import RegistryFailed
from inferflow.serving.manager.files import file_name

_PATIENCE_S = 10.0


def copy_registry(database: Path, copy: Path) -> None:
    """Raises RegistryFailed when the database cannot be read."""
    try:
        with (
            closing(sqlite3.connect(database, timeout=_PATIENCE_S)) as source,
            closing(sqlite3.connect(copy)) as target,
        ):
            source.backup(target)
    except sqlite3.Error as failed:
        raise RegistryFailed(f"the database {database} cannot be copied: {failed}") from failed


def objects_of(database: Path) -> list[str]:
    """Names of the model files a registry refers to: of versions, and of uploads under way."""
    try:
        with closing(sqlite3.connect(database)) as connection:
            published = [
                file_name(folder, place)
                for folder, files in connection.execute("SELECT folder, files FROM versions")
                for place in range(len(json.loads(files)))
            ]
            parts = [name for (name,) in connection.execute("SELECT object_name FROM upload_parts")]
    except sqlite3.Error as failed:
        raise RegistryFailed(f"the database {database} cannot be read: {failed}") from failed
    return sorted([*published, *parts])
