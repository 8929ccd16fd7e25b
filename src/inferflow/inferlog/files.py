"""The inference log as Parquet files, which are closed and put in place when they are large or old.

A file holds one version of one config: `<folder>/<config>/<day>/<time>-<process>-<number>.parquet`.
While it is written its name ends in `.part`; a Parquet file can be read only once it is closed, so
that is when its messages count as delivered. The oldest files make room when all of them together
take more than they may.
"""

from __future__ import annotations

import logging
import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from inferflow.errors import InvalidInput
from inferflow.inferlog.counting import REFUSED, UNWRITABLE, LogCounts
from inferflow.inferlog.frames import Frames
from inferflow.inferlog.logfile import PART, LogFile
from inferflow.inferlog.message import Format
from inferflow.inferlog.taken import Taken

log = logging.getLogger(__name__)

MIB = 1024 * 1024
_GRACE_S = 60.0
"""On top of the age at which files are closed: what is older was left behind."""


@dataclass(frozen=True, slots=True)
class FileRules:
    folder: Path
    rotate_s: float = 60.0
    rotate_bytes: int = 128 * MIB
    keep_bytes: int = 4096 * MIB


class FileSink:
    def __init__(
        self,
        rules: FileRules,
        counts: LogCounts,
        *,
        tag: str = "",
        now: Callable[[], float] = time.time,
    ) -> None:
        self._rules = rules
        self._counts = counts
        self._tag = f"{tag}{os.getpid()}-{secrets.token_hex(2)}"
        self._now = now
        self._open: dict[tuple[str, str], LogFile] = {}
        self._number = 0
        self._looked = now()
        _make(rules.folder)
        self._clear_leftovers()

    def write_as(self, format: Format, *, compressed: bool) -> None:
        """Files are Parquet, whatever messages are."""

    def write(self, taken: Taken) -> None:
        key = (taken.config_id, taken.log.plan.digest)
        file = self._open.get(key)
        if file is None:
            file = self._open[key] = self._new_file(taken)
        if self._does(key, lambda: file.add(taken)) and file.written >= self._rules.rotate_bytes:
            self._finish(key)

    def tick(self) -> None:
        now = self._now()
        for key, file in list(self._open.items()):
            if self._is_due(file.began, now):
                self._finish(key)
        if self._is_due(self._looked, now):
            self._looked = now
            self._make_room()

    def _is_due(self, began: float, now: float) -> bool:
        """Far in the past or in the future: a clock that was set back must not keep files open."""
        return abs(now - began) >= self._rules.rotate_s

    def close(self, until: float) -> None:  # noqa: ARG002  # closing files waits for nobody
        for key in list(self._open):
            self._finish(key)
        self._make_room()

    def _new_file(self, taken: Taken) -> LogFile:
        self._number += 1
        at = self._now()
        moment = datetime.fromtimestamp(at, UTC)
        name = f"{moment:%H%M%S}-{self._tag}-{self._number:04}.parquet"
        folder = self._rules.folder / folder_name(taken.config_id) / f"{moment:%Y-%m-%d}"
        return LogFile(folder / name, Frames(taken.log), at)

    def _finish(self, key: tuple[str, str]) -> None:
        file = self._open[key]
        if self._does(key, file.finish):
            del self._open[key]
            self._counts.delivered(key[0], file.messages)

    def _does(self, key: tuple[str, str], act: Callable[[], object]) -> bool:
        """Do something to a file. When that fails, what is in it is lost, and counted; the next
        request begins a new one."""
        try:
            act()
        except Exception as failed:  # full disks, folders that are gone, values no file can hold
            file = self._open.pop(key)
            file.discard()
            if not isinstance(failed, OSError):
                log.exception("log_file_not_written", extra={"config_id": key[0]})
            why = REFUSED if isinstance(failed, OSError) else UNWRITABLE
            self._counts.lost(key[0], why, file.messages)
            return False
        return True

    def _make_room(self) -> None:
        with suppress(OSError):  # another process makes room as well; there is a next time
            sizes = [(path, path.stat().st_size) for path in log_files(self._rules.folder)]
            surplus = sum(size for _, size in sizes) - self._rules.keep_bytes
            for path, size in sizes:
                if surplus <= 0:
                    return
                path.unlink(missing_ok=True)
                surplus -= size

    def _clear_leftovers(self) -> None:
        """Files that a killed process did not finish, which nobody can read."""
        oldest = self._now() - 2 * self._rules.rotate_s - _GRACE_S
        for path in self._rules.folder.glob(f"*/*/*{PART}"):
            with suppress(OSError):
                if path.stat().st_mtime < oldest:
                    path.unlink()
                    log.warning("log_file_unfinished", extra={"file": path.name})


def folder_name(config_id: str) -> str:
    """A config's folder: its id, with what a file system may not like written as %XX."""
    name = quote(config_id, safe="")
    return name.replace(".", "%2E", 1) if name.startswith(".") else name


def log_files(folder: Path) -> Iterator[Path]:
    """Those that can be read, the oldest first."""
    found = [path for path in folder.glob("*/*/*.parquet") if path.is_file()]
    yield from sorted(found, key=lambda path: (path.parent.name, path.name))


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as refused:
        raise InvalidInput(
            f"{folder}: inference logs cannot be written there: {refused.strerror}"
        ) from refused
