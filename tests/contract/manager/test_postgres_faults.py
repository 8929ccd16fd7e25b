"""PostgreSQL misbehaving: connections cut, databases missing, locks held."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from inferflow.errors import RegistryBusy, RegistryFailed
from inferflow.serving.manager.storage import Storage, database, open_storage

from ...servers.postgres import PostgresServer


@pytest.fixture
def url(postgres: PostgresServer) -> Iterator[str]:
    made = postgres.new_database()
    yield made
    postgres.drop_database(made)


async def execute(url: str, statement: str) -> None:
    import asyncpg

    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


CUT_OTHERS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


async def write(storage: Storage, value: str, *, in_between: Any = None) -> None:
    async with storage.writing() as tx:
        await tx.facts.set("a", value)
        if in_between is not None:
            await in_between
        await tx.facts.set("b", value)


async def read(storage: Storage) -> tuple[str | None, str | None]:
    async with storage.reading() as tx:
        return await tx.facts.get("a"), await tx.facts.get("b")


def test_connections_cut_while_idle_are_replaced_unnoticed(url: str) -> None:
    async def main() -> None:
        storage = await open_storage(url)
        await write(storage, "1")
        await execute(url, CUT_OTHERS)
        await write(storage, "2")
        assert await read(storage) == ("2", "2")
        await storage.close()

    asyncio.run(main())


def test_a_connection_cut_in_the_middle_leaves_nothing_half_done(url: str) -> None:
    async def main() -> None:
        storage = await open_storage(url)
        await write(storage, "1")
        with pytest.raises(RegistryBusy, match="busy or away"):
            await write(storage, "2", in_between=execute(url, CUT_OTHERS))
        assert await read(storage) == ("1", "1")
        await write(storage, "3")
        assert await read(storage) == ("3", "3")
        await storage.close()

    asyncio.run(main())


def test_a_reader_cannot_write(url: str) -> None:
    async def write_while_reading(storage: Storage) -> None:
        async with storage.reading() as tx:
            await tx.facts.set("a", "b")

    async def main() -> None:
        storage = await open_storage(url)
        with pytest.raises(RegistryFailed, match="read-only transaction"):
            await write_while_reading(storage)
        await write(storage, "1")
        await storage.close()

    asyncio.run(main())


def test_a_database_that_is_not_there_is_told(postgres: PostgresServer) -> None:
    with pytest.raises(RegistryFailed, match="nowhere"):
        asyncio.run(open_storage(postgres.url("nowhere")))


def test_a_writer_that_another_manager_holds_up_too_long_gives_way(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "PATIENCE_S", 0.1)

    async def main() -> None:
        first, second = await open_storage(url), await open_storage(url)
        with pytest.raises(RegistryBusy, match="lock timeout"):
            await write(first, "1", in_between=write(second, "2"))
        assert await read(first) == (None, None)
        await first.close()
        await second.close()

    asyncio.run(main())
