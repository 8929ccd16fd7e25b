"""A database as storage: its engine, its transactions, and what its failures mean.

One writer at a time is what both databases are held to: SQLite by `BEGIN IMMEDIATE`, PostgreSQL by
an advisory lock that ends with the transaction. Registry writes are few and short; in exchange
nothing that was read can have changed by the time it is acted on.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from sqlalchemy import URL, event, insert, make_url, select, text, update
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from inferflow.errors import InvalidInput, MissingExtra, RegistryBusy, RegistryFailed
from inferflow.serving.manager.storage.migrating import bring_up_to_date
from inferflow.serving.manager.storage.sql import tables as t
from inferflow.serving.manager.storage.sql.journal import SqlAudit, SqlFacts
from inferflow.serving.manager.storage.sql.keys import SqlKeys
from inferflow.serving.manager.storage.sql.models import SqlModels
from inferflow.serving.manager.storage.sql.signing import SqlSigning
from inferflow.serving.manager.storage.sql.uploads import SqlUploads
from inferflow.serving.manager.storage.sql.workers import SqlDuties, SqlWorkers

PATIENCE_S = 5
"""How long a writer waits for another, and a connection for its server."""

_WRITERS_LOCK = 0x1F_F10
_WRITES = "inferflow_writes"

_PRAGMAS = (
    "PRAGMA journal_mode=WAL",
    # A promotion or revocation that was confirmed must survive a power cut.
    "PRAGMA synchronous=FULL",
    f"PRAGMA busy_timeout={PATIENCE_S * 1000}",
    "PRAGMA foreign_keys=ON",
)


class SqlTransaction:
    """All kinds of records over one connection; each is made when it is first asked for."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    @cached_property
    def models(self) -> SqlModels:
        return SqlModels(self._connection)

    @cached_property
    def keys(self) -> SqlKeys:
        return SqlKeys(self._connection)

    @cached_property
    def uploads(self) -> SqlUploads:
        return SqlUploads(self._connection)

    @cached_property
    def workers(self) -> SqlWorkers:
        return SqlWorkers(self._connection)

    @cached_property
    def signing(self) -> SqlSigning:
        return SqlSigning(self._connection)

    @cached_property
    def audit(self) -> SqlAudit:
        return SqlAudit(self._connection)

    @cached_property
    def duties(self) -> SqlDuties:
        return SqlDuties(self._connection)

    @cached_property
    def facts(self) -> SqlFacts:
        return SqlFacts(self._connection)


class Database:
    """Storage in SQLite or PostgreSQL. Belongs to one event loop."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine
        self._is_sqlite = engine.dialect.name == "sqlite"
        self._where = engine.url.render_as_string(hide_password=True)
        # Waiting in line here is fair and free; waiting inside SQLite is neither.
        self._turn = asyncio.Lock()

    @classmethod
    def at(cls, where: str | Path) -> Database:
        url = _url(where)
        return cls(_sqlite(url) if url.get_backend_name() == "sqlite" else _postgres(url))

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[SqlTransaction]:
        with self._failures_told():
            async with self._engine.connect() as connection:
                if not self._is_sqlite:
                    await connection.execution_options(
                        isolation_level="REPEATABLE READ", postgresql_readonly=True
                    )
                async with connection.begin():
                    yield SqlTransaction(connection)

    @asynccontextmanager
    async def writing(self, *, quietly: bool = False) -> AsyncIterator[SqlTransaction]:
        with self._failures_told():
            async with self._turn, self._alone() as connection:
                yield SqlTransaction(connection)
                if not quietly:
                    moved = update(t.revision).values(number=t.revision.c.number + 1)
                    await connection.execute(moved)

    async def revision(self) -> int:
        with self._failures_told():
            async with self._engine.connect() as connection:
                found = await connection.execute(select(t.revision.c.number))
                return int(found.scalar_one())

    async def migrate(self) -> None:
        """Bring the schema up to date. Managers that start together do so one after another."""
        with self._failures_told():
            async with self._alone() as connection:
                await connection.run_sync(bring_up_to_date)
                if (await connection.execute(select(t.revision))).first() is None:
                    await connection.execute(insert(t.revision).values(one=1, number=0))

    async def close(self) -> None:
        await self._engine.dispose()

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[AsyncConnection]:
        async with self._engine.connect() as connection:
            await connection.execution_options(**{_WRITES: True})
            async with connection.begin():
                if not self._is_sqlite:
                    await connection.execute(text(f"SET LOCAL lock_timeout = '{PATIENCE_S}s'"))
                    await connection.execute(text(f"SELECT pg_advisory_xact_lock({_WRITERS_LOCK})"))
                yield connection

    @contextmanager
    def _failures_told(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as failed:
            raise self._told(failed, str(failed.orig)) from failed
        except SQLAlchemyError as failed:
            raise RegistryFailed(f"the database {self._where}: {failed}") from failed
        except OSError as failed:
            raise RegistryBusy(f"the database {self._where} does not answer: {failed}") from failed

    def _told(self, failed: DBAPIError, words: str) -> RegistryBusy | RegistryFailed:
        words = words.rpartition(">: ")[2] or words
        taken = ("database is locked", "lock timeout", "TimeoutError")
        if failed.connection_invalidated or any(sign in words for sign in taken):
            return RegistryBusy(f"the database {self._where} is busy or away: {words}")
        return RegistryFailed(f"the database {self._where}: {words}")


def _url(where: str | Path) -> URL:
    if isinstance(where, Path) or "://" not in where:
        return URL.create("sqlite+aiosqlite", database=str(where))
    try:
        url = make_url(where)
    except ArgumentError as failed:
        raise InvalidInput(f"the database URL cannot be read: {failed}") from failed
    backend = url.get_backend_name()
    if backend == "sqlite" and url.database not in {None, "", ":memory:"}:
        return url.set(drivername="sqlite+aiosqlite")
    if backend in {"postgresql", "postgres"}:
        return url.set(drivername="postgresql+asyncpg")
    raise InvalidInput(
        f"a database is a file, sqlite:///… or postgresql://…, not {backend!r}"
        + (" in memory, which ends with the process" if backend == "sqlite" else "")
    )


def _sqlite(url: URL) -> AsyncEngine:
    _make_private(Path(str(url.database)))
    engine = create_async_engine(url)

    @event.listens_for(engine.sync_engine, "connect")
    def prepare(connection: Any, _: object) -> None:
        # The driver must not begin transactions by itself: it begins the wrong kind.
        connection.isolation_level = None
        cursor = connection.cursor()
        for pragma in _PRAGMAS:
            cursor.execute(pragma)
        cursor.close()

    @event.listens_for(engine.sync_engine, "begin")
    def begin(connection: Any) -> None:
        writes = connection.get_execution_options().get(_WRITES)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _make_private(file: Path) -> None:
    """The database holds digests of keys: it is for its owner's eyes only."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as failed:
        raise RegistryFailed(f"the database {file} cannot be opened: {failed.strerror}") from failed


def _postgres(url: URL) -> AsyncEngine:
    # SQLAlchemy would hand each of these to a driver that knows them in a DSN only.
    tls = {name: value for name, value in url.query.items() if name.startswith("ssl")}
    told = {"dsn": "postgresql://?" + urlencode(tls)} if tls else {}
    try:
        return create_async_engine(
            url.difference_update_query(tls),
            pool_pre_ping=True,
            connect_args={"timeout": PATIENCE_S, "command_timeout": 30, **told},
        )
    except ModuleNotFoundError as missing:
        raise MissingExtra("postgres", for_what="a registry in PostgreSQL") from missing
