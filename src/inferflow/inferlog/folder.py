"""Inference logs in files, read back. Any reader of Parquet can do the same; this one knows where
they are and which config they belong to."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from inferflow.errors import InvalidInput, NotFound
from inferflow.inferlog.arrow import parquet, pyarrow
from inferflow.inferlog.files import folder_name, log_files
from inferflow.inferlog.stats import LogStats

_READING = "reading inference logs"


class LogFolder:
    """Reads what is there at the moment of each call; files that are being written are not yet."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def files(self, config_id: str = "") -> list[Path]:
        """The oldest first, of one config or of all."""
        wanted = folder_name(config_id) if config_id else ""
        found = log_files(self.folder)
        return [path for path in found if not wanted or path.parent.parent.name == wanted]

    def table(self, config_id: str) -> Any:
        """Everything logged of a config as one Arrow table; columns that some versions lack are
        null there."""
        pa = pyarrow(_READING)
        files = self.files(config_id)
        if not files:
            raise NotFound("inference log", config_id)
        return pa.concat_tables([read_file(path) for path in files], promote_options="permissive")

    def tail(self, rows: int, config_id: str = "") -> list[dict[str, Any]]:
        """The newest so many rows, the oldest of them first."""
        newest: list[dict[str, Any]] = []
        for path in reversed(self.files(config_id)):
            if len(newest) >= rows:
                break
            table = read_file(path)
            newest = table.slice(max(0, table.num_rows - rows)).to_pylist() + newest
        newest.sort(key=lambda row: row["_at"])
        return newest[-rows:] if rows else []

    def stats(self, config_id: str = "", unreadable: list[str] | None = None) -> list[LogStats]:
        """What there is of each config. Raises InvalidInput for a file that cannot be read,
        unless there is a list for the names of such."""
        found: dict[str, LogStats] = {}
        for path in self.files(config_id):
            try:
                table = read_file(path)
            except InvalidInput:
                if unreadable is None:
                    raise
                unreadable.append(path.relative_to(self.folder).as_posix())
                continue
            if table.num_rows:
                config = table.column("_config_id")[0].as_py()
                stats = found.setdefault(config, LogStats(config))
                stats.parts += 1
                stats.size_bytes += path.stat().st_size
                _count(stats, table)
        return [found[config] for config in sorted(found)]


def read_file(path: Path) -> Any:
    """One file as an Arrow table. Raises InvalidInput when it is none of the log's."""
    pa, pq = pyarrow(_READING), parquet(_READING)
    try:
        table = pq.ParquetFile(path).read()
    except (OSError, pa.ArrowException) as broken:
        raise InvalidInput(f"{path}: cannot be read as a log file: {broken}") from broken
    if "_config_id" not in table.column_names:
        raise InvalidInput(f"{path}: is no inference log")
    return table


def _count(stats: LogStats, table: Any) -> None:
    stats.saw(*(at.timestamp() for at in _ends(table.column("_at"))))
    stats.rows.update(_counted(table.column("_rows")))
    stats.config_versions.update(_counted(table.column("_config_version")))
    stats.failed_rows += table.num_rows - table.column("_error").null_count
    # A request is told from the next by its moment, which has microseconds.
    stats.requests += len(
        table.select(["_at", "_tracking_id"]).group_by(["_at", "_tracking_id"]).aggregate([])
    )
    for name in table.column_names:
        if name.startswith("_model_version:"):
            step = name.removeprefix("_model_version:")
            stats.models.update(
                {
                    f"{step}@{version}": rows
                    for version, rows in _counted(table.column(name)).items()
                }
            )


def _ends(column: Any) -> tuple[datetime, datetime]:
    moments = column.unique().to_pylist()
    return min(moments), max(moments)


def _counted(column: Any) -> dict[str, int]:
    return {each["values"]: each["counts"] for each in column.value_counts().to_pylist()}
