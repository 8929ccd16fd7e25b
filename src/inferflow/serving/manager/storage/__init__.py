"""What the manager keeps: one port, and its implementation for SQLite and PostgreSQL.

- `records`: what is kept, as plain values
- `port`: the promises
- `database`: engines, transactions and what their failures mean; `open_storage` is the way in
- `migrating`, `migrations`: the schema and how it came about
- `sql`: the queries, one module per kind of record

Importing this package imports neither SQLAlchemy nor a driver.
"""

from __future__ import annotations

from pathlib import Path

from inferflow.errors import MissingExtra
from inferflow.serving.manager.storage.port import Storage, Transaction

__all__ = ["Storage", "Transaction", "open_storage"]


async def open_storage(where: str | Path) -> Storage:
    """The storage of a database, with its schema brought up to date.

    `where` is a file for SQLite, or a URL: `sqlite:///…`, `postgresql://user@host/name`. Raises
    RegistryFailed when the database cannot be used, RegistryBusy when it does not answer.
    """
    try:
        from inferflow.serving.manager.storage.database import Database
    except ModuleNotFoundError as missing:
        raise MissingExtra("manager", for_what="the model registry") from missing
    database = Database.at(where)
    try:
        await database.migrate()
    except BaseException:
        await database.close()
        raise
    return database
