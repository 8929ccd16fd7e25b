"""Which feature files are in the store already: remembered beside it, or in it.

A store of this machine has a file beside it, and goes by a file's size and time of change. A
store that several hosts share remembers for all of them, by what a file holds: copies of one file
have different times.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Protocol

from inferflow.errors import InvalidInput
from inferflow.featurestore.backend import Backend
from inferflow.featurestore.keys import META

_KEY = META + b"loaded"


class LoadedFiles(Protocol):
    def mark(self, path: Path) -> str:
        """Changes when the file does."""
        ...

    def read(self) -> dict[str, str]:
        """Name and mark of every file that was loaded."""
        ...

    def add(self, name: str, mark: str) -> None: ...


class Beside:
    def __init__(self, path: Path) -> None:
        self._path = path

    def mark(self, path: Path) -> str:
        facts = path.stat()
        return f"{facts.st_size}:{facts.st_mtime_ns}"

    def read(self) -> dict[str, str]:
        if not self._path.exists():
            return {}
        try:
            return _parsed(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as broken:
            raise InvalidInput(
                f"{self._path.name}: {broken}; delete it to load all files again"
            ) from broken

    def add(self, name: str, mark: str) -> None:
        """Written beside and moved into place, so that it is whole or not there."""
        fresh = self._path.with_suffix(".new")
        fresh.write_text(json.dumps({**self.read(), name: mark}, indent=1), encoding="utf-8")
        os.replace(fresh, self._path)


class Within:
    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def mark(self, path: Path) -> str:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def read(self) -> dict[str, str]:
        record = self._backend.get_many([_KEY])[0]
        return {} if record is None else _parsed(record)

    def add(self, name: str, mark: str) -> None:
        def change(old: list[bytes | None]) -> list[bytes]:
            known = {} if old[0] is None else _parsed(old[0])
            return [json.dumps({**known, name: mark}).encode()]

        self._backend.update([_KEY], change)


def _parsed(text: str | bytes) -> dict[str, str]:
    return {str(name): str(mark) for name, mark in json.loads(text).items()}
