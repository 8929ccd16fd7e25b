"""Pages of an inference log, newest first, as people look through it.

A record is what was logged of one request. Files are looked into from the one that was written
to last; which can hold what is asked for is seen from their footers, so that a page of a long log
costs no more than one of a short one. A page looks into so many files and no more: where nothing
was found, the next page goes on.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from inferflow.errors import InvalidInput
from inferflow.inferlog.arrow import compute, parquet, pyarrow
from inferflow.inferlog.consuming import LogTopic
from inferflow.inferlog.folder import LogFolder, read_file

MOST_FILES = 64
"""Files one page looks into."""
MOST_MESSAGES = 2_000
"""Messages of each partition that a page looks at: a topic is browsed at its end."""

log = logging.getLogger(__name__)

_READING = "reading inference logs"
_LONGEST_CURSOR = 40
_MOST_US = 2**63 - 1
"""No column holds a later moment."""

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which records; empty texts and 0 mean any."""

    config_id: str = ""
    tracking_id: str = ""
    user: str = ""
    since_us: int = 0
    limit: int = 100


@dataclass(frozen=True, slots=True)
class Record:
    """What was logged of one request, or as much of it as is of one kind."""

    at_us: int
    config_id: str
    config_version: str
    tracking_id: str
    user: str
    kind: str
    rows: list[Row]


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far somebody has looked: below this moment, and past so many records at it."""

    at_us: int
    skip: int = 0

    def __str__(self) -> str:
        return f"{self.at_us}-{self.skip}"

    @classmethod
    def read(cls, text: str) -> Cursor | None:
        """None for the beginning. Raises InvalidInput for what was never handed out."""
        if not text:
            return None
        at_us, dash, skip = text.partition("-")
        is_number = at_us.isdecimal() and skip.isdecimal() and len(text) < _LONGEST_CURSOR
        if not (dash and is_number and max(int(at_us), int(skip)) <= _MOST_US):
            raise InvalidInput(f"cursor: {text[:40]!r} is not one that a page ended with")
        return cls(int(at_us), int(skip))


def file_page(
    folder: LogFolder, wanted: Wanted, cursor: Cursor | None = None
) -> tuple[list[Record], Cursor | None]:
    """Records of a log in files, and where to go on; None when there is nothing more."""
    found: list[Record] = []
    room = wanted.limit + (0 if cursor is None else cursor.skip)
    files = sorted(_reaches(folder, wanted, cursor), key=lambda each: each[0], reverse=True)
    for number, (last_us, path) in enumerate(files):
        # What is older than all there is room for cannot push anything out.
        if len(found) > room and last_us < found[room].at_us:
            break
        if number == MOST_FILES:
            newer = [each for each in found if each.at_us > last_us]
            page, rest = _cut(newer, wanted.limit, cursor)
            return page, rest or Cursor(last_us)
        found += _records(_rows(path, wanted, cursor, room), wanted, cursor)
        found.sort(key=lambda each: each.at_us, reverse=True)
    return _cut(found, wanted.limit, cursor)


def topic_page(topic: LogTopic, wanted: Wanted) -> list[Record]:
    """The newest records of a topic."""
    found: list[Record] = []
    for part in topic.rows(last=MOST_MESSAGES):
        if not wanted.config_id or part.config_id == wanted.config_id:
            found += _records(part.to_dicts(), wanted, None)
    found.sort(key=lambda each: each.at_us, reverse=True)
    return found[: wanted.limit]


def _reaches(
    folder: LogFolder, wanted: Wanted, cursor: Cursor | None
) -> Iterator[tuple[int, Path]]:
    """The last moment in each file that may hold something; its footer tells."""
    for path in folder.files(wanted.config_id):
        span = _span(path)
        if span is None:
            continue
        first, last = span
        if last >= wanted.since_us and (cursor is None or first <= cursor.at_us):
            yield last, path


def _span(path: Path) -> tuple[int, int] | None:
    """The first and the last moment in a file; None for one that cannot be read, which keeps
    nobody from the others."""
    try:
        footer = parquet(_READING).ParquetFile(path).metadata
        column = footer.schema.names.index("_at")
    except OSError:  # it made room for newer ones just now
        return None
    except ValueError as damaged:  # as Arrow's own errors are
        log.warning("log_file_unreadable", extra={"file": str(path), "why": str(damaged)})
        return None
    spans = [footer.row_group(n).column(column).statistics for n in range(footer.num_row_groups)]
    first = min((_us(each.min) for each in spans if each is not None), default=0)
    last = max((_us(each.max) for each in spans if each is not None), default=0)
    return first, last


def _rows(path: Path, wanted: Wanted, cursor: Cursor | None, room: int) -> list[Row]:
    """Rows that may be of a page, chosen by whole columns: a file may hold very many."""
    pa, pc, table = pyarrow(_READING), compute(_READING), read_file(path)
    for name, value in (("_tracking_id", wanted.tracking_id), ("_user_id", wanted.user)):
        if value:
            table = table.filter(pc.equal(table.column(name), value))
    at_us = pc.cast(table.column("_at"), pa.int64())
    is_asked = pc.greater_equal(at_us, wanted.since_us)
    if cursor is not None:
        is_asked = pc.and_(is_asked, pc.less_equal(at_us, cursor.at_us))
    table, at_us = table.filter(is_asked), at_us.filter(is_asked)
    moments = sorted(pc.unique(at_us).to_pylist(), reverse=True)
    if len(moments) > room + 1:
        table = table.filter(pc.greater_equal(at_us, moments[room]))
    rows: list[Row] = table.to_pylist()
    return rows


def _records(rows: Iterable[Row], wanted: Wanted, cursor: Cursor | None) -> list[Record]:
    """Rows of one request together, in the order they were logged."""
    found: dict[tuple[Any, ...], Record] = {}
    for row in rows:
        at_us = _us(row["_at"])
        if at_us < wanted.since_us or (cursor is not None and at_us > cursor.at_us):
            continue
        if wanted.tracking_id and row["_tracking_id"] != wanted.tracking_id:
            continue
        if wanted.user and row["_user_id"] != wanted.user:
            continue
        key = (at_us, row["_config_id"], row["_tracking_id"], row["_user_id"], row["_rows"])
        record = found.get(key)
        if record is None:
            record = found[key] = Record(
                at_us,
                row["_config_id"],
                row["_config_version"] or "",
                row["_tracking_id"] or "",
                row["_user_id"] or "",
                row["_rows"],
                [],
            )
        record.rows.append(_row(row))
    return list(found.values())


def _row(row: Row) -> Row:
    told: Row = {"id": row["_id"]}
    if row.get("_members"):
        told["members"] = row["_members"]
    if row.get("_error"):
        told["error"] = row["_error"]
    return told | {name: value for name, value in row.items() if not name.startswith("_")}


def _cut(
    found: list[Record], limit: int, cursor: Cursor | None
) -> tuple[list[Record], Cursor | None]:
    if cursor is not None:
        found = found[min(cursor.skip, sum(each.at_us == cursor.at_us for each in found)) :]
    page = found[:limit]
    if len(found) <= limit:
        return page, None
    last = page[-1].at_us
    skip = sum(each.at_us == last for each in page)
    if cursor is not None and cursor.at_us == last:
        skip += cursor.skip
    return page, Cursor(last, skip)


def _us(moment: Any) -> int:
    """Microseconds since the epoch, of a time or of seconds."""
    if isinstance(moment, datetime):
        whole = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return round(whole.timestamp() * 1_000_000)
    return int((moment or 0) * 1_000_000)
