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
from typing import Any
from urllib.parse import quote

from inferflow.errors import InvalidInput
from inferflow.inferlog.counting import REFUSED, LogCounts
from inferflow.inferlog.frames import Frames
from inferflow.inferlog.taken import Taken

log = logging.getLogger(__name__)

MIB = 1024 * 1024
_CHUNK_ROWS = 2_000
"""Rows that become a table at once: few, for other threads have to wait meanwhile."""
_GROUP_BYTES = 8 * MIB
"""Of tables that are written together, as one row group."""


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
        self._open: dict[tuple[str, str], _LogFile] = {}
        self._number = 0
        _make(rules.folder)

    def write(self, taken: Taken) -> None:
        key = (taken.config_id, taken.log.plan.digest)
        file = self._open.get(key)
        if file is None:
            file = self._open[key] = self._new_file(taken)
        try:
            file.add(taken)
        except OSError as refused:
            self._give_up(key, refused)
            return
        if file.written >= self._rules.rotate_bytes:
            self._finish(key)

    def tick(self) -> None:
        now = self._now()
        for key, file in list(self._open.items()):
            if now - file.began >= self._rules.rotate_s:
                self._finish(key)

    def close(self, until: float) -> None:  # noqa: ARG002  # closing files does not wait for anybody
        for key in list(self._open):
            self._finish(key)

    def _new_file(self, taken: Taken) -> _LogFile:
        self._number += 1
        at = self._now()
        moment = datetime.fromtimestamp(at, UTC)
        name = f"{moment:%H%M%S}-{self._tag}-{self._number:04}.parquet"
        folder = self._rules.folder / folder_name(taken.config_id) / f"{moment:%Y-%m-%d}"
        return _LogFile(folder / name, Frames(taken.log), taken.config_id, at)

    def _finish(self, key: tuple[str, str]) -> None:
        file = self._open[key]
        try:
            file.finish()
        except OSError as refused:
            self._give_up(key, refused)
            return
        del self._open[key]
        self._counts.delivered(file.config_id, file.messages)
        self._make_room()

    def _give_up(self, key: tuple[str, str], refused: OSError) -> None:
        """What cannot be written is lost, and counted; the next request begins a new file."""
        file = self._open.pop(key)
        file.discard()
        log.debug("log_file_not_written", extra={"reason": str(refused)})
        self._counts.lost(file.config_id, REFUSED, file.messages)

    def _make_room(self) -> None:
        sizes = [(path, path.stat().st_size) for path in log_files(self._rules.folder)]
        surplus = sum(size for _, size in sizes) - self._rules.keep_bytes
        for path, size in sizes:
            if surplus <= 0:
                return
            with suppress(FileNotFoundError):  # another process had the same thought
                path.unlink()
            surplus -= size


class _LogFile:
    """One file that is being written. Nothing is on disk before there is enough to write."""

    def __init__(self, path: Path, frames: Frames, config_id: str, began: float) -> None:
        self.config_id = config_id
        self.began = began
        self.messages = 0
        self.written = 0
        self._path = path
        self._part = path.with_name(path.name + ".part")
        self._frames = frames
        self._requests: list[Taken] = []
        self._rows = 0
        self._tables: list[Any] = []
        self._table_bytes = 0
        self._writer: Any = None

    def add(self, taken: Taken) -> None:
        self.messages += taken.log.messages(taken.run)
        self._requests.append(taken)
        self._rows += taken.run.matrix.rows + taken.run.matrix.slates
        if self._rows >= _CHUNK_ROWS:
            self._tabulate()
            if self._table_bytes >= _GROUP_BYTES:
                self._write_group()

    def finish(self) -> None:
        self._tabulate()
        self._write_group()
        self._writer.close()
        self._writer = None
        self._part.replace(self._path)

    def discard(self) -> None:
        with suppress(OSError):  # what is wrong with it was told already
            if self._writer is not None:
                self._writer.close()
        with suppress(OSError):
            self._part.unlink(missing_ok=True)

    def _tabulate(self) -> None:
        if self._requests:
            table = self._frames.table(self._requests)
            self._tables.append(table)
            self._table_bytes += table.nbytes
            self._requests, self._rows = [], 0

    def _write_group(self) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        if self._writer is None:
            self._part.parent.mkdir(parents=True, exist_ok=True)
            self._writer = pq.ParquetWriter(self._part, self._frames.schema, compression="zstd")
        if self._tables:
            table = pa.concat_tables(self._tables)
            self._writer.write_table(table, row_group_size=table.num_rows)
            self.written += self._table_bytes
            self._tables, self._table_bytes = [], 0


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
