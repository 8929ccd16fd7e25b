"""`inferflow logs`: what was inferred, read back from where it was logged."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from inferflow.cli.output import AsJson, say, say_json, say_table
from inferflow.cli.projects import HERE, ProjectDir, project_root
from inferflow.cli.targets import showing
from inferflow.errors import InvalidInput, Unreachable
from inferflow.explanation.json_text import json_text
from inferflow.tabular import table

if TYPE_CHECKING:
    from inferflow.inferlog.consuming import LogTopic
    from inferflow.inferlog.decoding import FindSchema
    from inferflow.inferlog.folder import LogFolder
    from inferflow.inferlog.stats import LogStats

app = typer.Typer(help="Inference logs.", no_args_is_help=True, rich_markup_mode=None)

Config = Annotated[str, typer.Option("--config", "-c", metavar="ID", help="Only of this config.")]

_LOOK_S = 1.0
_ABOUT = ("_at", "_config_id", "_user_id", "_tracking_id", "_rows", "_id", "_members", "_error")
"""What people are shown of a row beside its values."""


@app.command("tail")
def tail(
    config: Config = "",
    rows: Annotated[int, typer.Option("--rows", "-n", min=1, help="So many rows.")] = 10,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with what is logged from now on.")
    ] = False,
    directory: ProjectDir = HERE,
    as_json: AsJson = False,
) -> None:
    """Show the newest rows. With --json, one object per line, with everything that was logged."""
    source = _source(directory)
    shown = _newest(source, rows, config)
    _show(shown, as_json)
    if not shown and not as_json:
        say(
            "nothing is logged yet; `inferflow settings` says where logs go, and each config's "
            "logging_perc how much of them"
        )
    if follow:
        for more in _coming(source, config):
            _show(more, as_json)


@app.command("stats")
def stats(config: Config = "", directory: ProjectDir = HERE, as_json: AsJson = False) -> None:
    """Count what is there, per config: requests, rows, versions, sizes."""
    found = [each for each in _source(directory).stats() if not config or each.config_id == config]
    if as_json:
        say_json([each.to_dict() for each in found])
    elif not found:
        say("nothing is logged")
    else:
        say_table(table(_STATS, [_stats_row(each) for each in found]))


@app.command("decode")
def decode(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A log file, or one message; - for stdin.")
    ],
    schema: Annotated[
        str,
        typer.Option(
            "--schema",
            metavar="FILE|URL",
            help="Where a message's columns are told; the project's own unless given.",
        ),
    ] = "",
    directory: ProjectDir = HERE,
) -> None:
    """Print the rows of a log file, or of one message, as JSON: one object per line."""
    content = sys.stdin.buffer.read() if str(file) == "-" else _content(file)
    for row in _decoded(file, content, schema, directory):
        say(json_text(_plain(row)))


# --- where logs are -------------------------------------------------------------------------


def _source(directory: Path) -> LogFolder | LogTopic:
    """What the project's settings say; files, where they say nothing."""
    from inferflow.app.inference_log import log_source
    from inferflow.app.settings import read_settings

    root = project_root(directory)
    return log_source(root, read_settings(root))


def _newest(source: LogFolder | LogTopic, rows: int, config: str) -> list[dict[str, Any]]:
    from inferflow.inferlog.folder import LogFolder

    if isinstance(source, LogFolder):
        return source.tail(rows, config)
    # A message has at least one row; of one config there may be less than its share.
    found = source.rows(last=None if config else rows)
    mine = [part for part in found if not config or part.config_id == config]
    mine.sort(key=lambda part: part.at or 0)
    return [row for part in mine for row in part.to_dicts()][-rows:]


def _coming(source: LogFolder | LogTopic, config: str) -> Iterator[list[dict[str, Any]]]:
    from inferflow.inferlog.folder import LogFolder, read_file

    if not isinstance(source, LogFolder):
        for part in source.rows(last=0, follow=True):
            if not config or part.config_id == config:
                yield part.to_dicts()
        return
    seen = set(source.files(config))
    while True:
        time.sleep(_LOOK_S)
        for path in source.files(config):
            if path not in seen:
                seen.add(path)
                yield read_file(path).to_pylist()


# --- one file or message --------------------------------------------------------------------


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as refused:
        raise InvalidInput(f"{file}: {refused.strerror}") from refused


def _decoded(file: Path, content: bytes, schema: str, directory: Path) -> list[dict[str, Any]]:
    if content.startswith(b"PAR1"):
        from inferflow.inferlog.folder import read_file

        rows: list[dict[str, Any]] = read_file(file).to_pylist()
        return rows
    from inferflow.inferlog.decoding import decode_message

    return decode_message(content, _schemas(schema, directory)).to_dicts()


def _schemas(given: str, directory: Path) -> FindSchema:
    from inferflow.inferlog.schema import schema_from

    if not given:
        from inferflow.app.inference_log import open_schemas
        from inferflow.app.settings import read_settings

        root = project_root(directory)
        return open_schemas(root, read_settings(root)).find
    is_page = given.startswith(("http://", "https://"))
    text = _fetched(given, directory) if is_page else _content(Path(given))
    try:
        document = json.loads(text)
    except ValueError as broken:
        raise InvalidInput(f"{given}: is no JSON: {broken}") from broken
    found = schema_from(document)
    return lambda *_: found


def _fetched(url: str, directory: Path) -> bytes:
    from inferflow.client.fetching import fetched

    shown = showing(directory)
    try:
        return fetched(url, key=shown.key, tls=shown.tls)
    except Unreachable as failed:
        raise InvalidInput(f"{url}: {failed.why}") from failed


# --- showing --------------------------------------------------------------------------------


def _show(rows: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        for row in rows:
            say(json_text(_plain(row)))
        return
    names = list(dict.fromkeys(name for row in rows for name in row))
    shown = [name for name in _ABOUT if name in names]
    shown += [name for name in names if not name.startswith("_")]
    if rows:
        plain = [_plain(row) for row in rows]
        say_table(table(shown, [[row.get(name) for name in shown] for row in plain]))


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    from datetime import datetime

    from inferflow.inferlog.stats import moment

    at = row.get("_at")
    if isinstance(at, datetime):
        at = at.isoformat()
    elif at is not None:
        at = moment(at)
    return {**row, "_at": at} if "_at" in row else row


_STATS = ("config", "requests", "targets", "pairs", "slates", "failed", "versions", "MiB", "last")


def _stats_row(stats: LogStats) -> list[Any]:
    from inferflow.inferlog.stats import moment

    return [
        stats.config_id,
        stats.requests,
        *(stats.rows[kind] for kind in ("targets", "pairs", "slates")),
        stats.failed_rows,
        len(stats.config_versions),
        round(stats.size_bytes / 1024 / 1024, 2),
        moment(stats.last),
    ]
