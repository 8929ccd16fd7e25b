"""The history of all configs of a store: one line per version, only ever appended to.

A line is written whole, or is the last one and has no end: such a line never happened, and the
next writer cuts it off. So the journal can be read at any time, without a lock.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from inferflow.configstore.atomic import make_durable
from inferflow.configstore.versions import Version
from inferflow.errors import ConfigStoreFailed


class Journal:
    """Reads as far as it has not read yet; appending is for whoever holds the store's lock."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._guard = threading.Lock()
        self._forget()

    def of(self, config_id: str) -> Sequence[Version]:
        """Every version of one config, oldest first."""
        with self._guard:
            self._catch_up()
            return tuple(self._versions.get(config_id, ()))

    def latest(self) -> Mapping[str, Version]:
        """The newest version of every config."""
        with self._guard:
            self._catch_up()
            return {config_id: versions[-1] for config_id, versions in self._versions.items()}

    def append(self, version: Version) -> None:
        line = json.dumps(asdict(version), ensure_ascii=False) + "\n"
        is_new = not self._path.exists()
        with self._guard, open(self._path, "ab+") as file:
            _cut_torn_end(file)
            file.write(line.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        if is_new:
            make_durable(self._path.parent)

    def _forget(self) -> None:
        self._versions: dict[str, list[Version]] = {}
        self._read_to = 0
        self._lines = 0
        self._inode = -1

    def _catch_up(self) -> None:
        try:
            with open(self._path, "rb") as file:
                facts = os.fstat(file.fileno())
                if facts.st_ino != self._inode or facts.st_size < self._read_to:
                    self._forget()  # another file was put in its place
                    self._inode = facts.st_ino
                file.seek(self._read_to)
                fresh = file.read()
        except FileNotFoundError:
            self._forget()
            return
        whole = fresh[: fresh.rfind(b"\n") + 1]
        for line in whole.splitlines():
            self._lines += 1
            version = self._version(line)
            self._versions.setdefault(version.id, []).append(version)
        self._read_to += len(whole)

    def _version(self, line: bytes) -> Version:
        try:
            fields: dict[str, Any] = json.loads(line)
            return Version(**fields)
        except (ValueError, TypeError) as broken:
            raise ConfigStoreFailed(
                f"{self._path.name}, line {self._lines}: not a version: {broken}"
            ) from broken


def _cut_torn_end(file: Any) -> None:
    size = file.seek(0, os.SEEK_END)
    if size == 0:
        return
    file.seek(size - 1)
    if file.read(1) == b"\n":
        return
    file.seek(0)
    file.truncate(file.read().rfind(b"\n") + 1)
