"""Registries as earlier versions left them, in either database, and what is in one.

`kept/<revision>.sql` is a registry as the code of that revision wrote it, `kept/<revision>.tar.gz`
the same as a backup that it took, model files and all. A new migration comes with both, so that
the next can be tested from them.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, MetaData, create_engine, select, text

from inferflow.serving.manager.storage.database import Database
from inferflow.serving.manager.storage.migrating import MIGRATIONS

T = TypeVar("T")
Rows = dict[str, list[dict[str, Any]]]

KEPT = Path(__file__).parent / "kept"
SECRET = bytes(range(32))
NOW_S = 1_750_000_100.0
ADMIN_KEY = "ifk_000100010001_" + "k" * 43


def migrations() -> Config:
    config = Config()
    config.set_main_option("script_location", MIGRATIONS)
    return config


def write_sqlite(file: Path, revision: str) -> None:
    with closing(sqlite3.connect(file)) as database:
        database.executescript((KEPT / f"{revision}.sql").read_text("utf-8"))


def write_kept(url: str, revision: str, scratch: Path) -> None:
    """Fill a database that has nothing in it."""
    if url.startswith("sqlite"):
        write_sqlite(Path(url.removeprefix("sqlite:///")), revision)
        return
    copied_from = scratch / f"kept-{revision}.db"
    write_sqlite(copied_from, revision)
    inside(url, lambda connection: _fill(connection, revision, copied_from))


def rows(url: str) -> Rows:
    """Everything in a database, by table."""
    return inside(url, _rows)


def inside(url: str, work: Callable[[Connection], T]) -> T:
    """Do something in a transaction of one's own, whatever the schema."""

    async def main() -> T:
        database = Database.at(url)
        try:
            async with database._engine.begin() as connection:
                return await connection.run_sync(work)
        finally:
            await database.close()

    return asyncio.run(main())


def _rows(connection: Connection) -> Rows:
    found = MetaData()
    found.reflect(connection)
    return {
        table.name: [
            dict(row)
            for row in connection.execute(select(table).order_by(*table.primary_key)).mappings()
        ]
        for table in found.sorted_tables
    }


def _fill(connection: Connection, revision: str, copied_from: Path) -> None:
    config = migrations()
    config.attributes["connection"] = connection
    command.upgrade(config, revision)
    tables = MetaData()
    tables.reflect(connection)
    engine = create_engine(f"sqlite:///{copied_from}")
    with engine.connect() as source:
        before = _rows(source)
    engine.dispose()
    for table in tables.sorted_tables:
        connection.execute(table.delete())
        if before[table.name]:
            connection.execute(table.insert(), before[table.name])
    for counted in ("audit", "stage_changes"):
        last = f"(SELECT max(id) FROM {counted})"
        connection.execute(text(f"SELECT setval('{counted}_id_seq', {last})"))
