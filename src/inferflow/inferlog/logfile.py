"""One Parquet file that is being written. Nothing is on disk before there is enough to write."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from inferflow.inferlog.arrow import parquet, pyarrow
from inferflow.inferlog.frames import IN_FILES, Frames
from inferflow.inferlog.taken import Taken

PART = ".part"
"""How the name ends of a file that cannot be read yet."""
_CHUNK_ROWS = 8_000
"""Rows that become a table at once. A column costs about the same whatever the number of its rows,
so there should be many; but requests are kept whole until then."""
_CHUNK_BYTES = 16 * 1024 * 1024
"""The same for requests with large rows."""
_SOUGHT = ("_at", "_user_id", "_tracking_id", "_rows", "_id")
"""Columns by which rows are looked for: readers may skip groups by what is known of these."""
_GROUP_BYTES = 8 * 1024 * 1024
"""Of tables that are written together, as one row group."""


class LogFile:
    """Requests of one version of one config."""

    def __init__(self, path: Path, frames: Frames, began: float) -> None:
        self.began = began
        self.messages = 0
        """In it, or on their way into it."""
        self.written = 0
        """Bytes, before compression."""
        self._path = path
        self._part = path.with_name(path.name + PART)
        self._frames = frames
        self._requests: list[Taken] = []
        self._rows = 0
        self._bytes = 0
        self._tables: list[Any] = []
        self._table_bytes = 0
        self._writer: Any = None

    def add(self, taken: Taken) -> None:
        self.messages += taken.log.messages(taken.run)
        self._requests.append(taken)
        self._rows += taken.run.matrix.rows + taken.run.matrix.slates
        self._bytes += taken.size
        if self._rows >= _CHUNK_ROWS or self._bytes >= _CHUNK_BYTES:
            self._tabulate()
            if self._table_bytes >= _GROUP_BYTES:
                self._write_group()

    def finish(self) -> None:
        """Put it in place, to be read."""
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
            self._requests, self._rows, self._bytes = [], 0, 0

    def _write_group(self) -> None:
        pa, pq = pyarrow(IN_FILES), parquet(IN_FILES)
        if self._writer is None:
            self._part.parent.mkdir(parents=True, exist_ok=True)
            schema = self._frames.schema
            # Numbers rarely repeat; looking for the few that do would double the work. A better
            # compression than LZ4 would cost a third more for a tenth less.
            texts = [each.name for each in schema if pa.types.is_string(each.type)]
            self._writer = pq.ParquetWriter(
                self._part,
                schema,
                compression="lz4",
                use_dictionary=texts,
                write_statistics=list(_SOUGHT),
            )
        if self._tables:
            table = pa.concat_tables(self._tables)
            self._writer.write_table(table, row_group_size=table.num_rows)
            self.written += self._table_bytes
            self._tables, self._table_bytes = [], 0
