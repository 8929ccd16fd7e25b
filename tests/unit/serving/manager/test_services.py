"""A manager's services opened together, and what that costs."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from inferflow.errors import InvalidInput, RegistryBusy, RegistryFailed
from inferflow.serving.manager.services import open_services
from inferflow.serving.manager.storage import open_storage
from inferflow.testing import ManualClock

from .office import SECRET


def test_importing_the_services_imports_neither_runtime_nor_vendors() -> None:
    program = (
        "import inferflow.serving.manager.services, json, sys; print(json.dumps([*sys.modules]))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    loaded = set(json.loads(run.stdout))
    vendors = {"sqlalchemy", "alembic", "obstore", "jwt", "cryptography", "onnx", "onnxruntime"}
    assert loaded.isdisjoint(vendors | {"inferflow.serving.runtime", "numpy"})


@pytest.mark.parametrize(
    "where", ["mysql://h/d", "sqlite://", "sqlite:///:memory:", "://", "redis://x"]
)
def test_a_database_nobody_knows_is_refused(where: str) -> None:
    with pytest.raises(InvalidInput, match="database"):
        asyncio.run(open_storage(where))


def test_a_database_that_cannot_be_opened_is_told_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RegistryFailed, match="file/registry"):
        asyncio.run(open_storage(tmp_path / "file" / "registry.db"))
    (tmp_path / "notes.db").write_text("these are notes, not a database. " * 100)
    with pytest.raises(RegistryFailed, match="not a database"):
        asyncio.run(open_storage(tmp_path / "notes.db"))


def test_a_server_that_does_not_answer_is_told_without_its_password(unused_port: int) -> None:
    url = f"postgresql://me:hunter2@127.0.0.1:{unused_port}/registry"
    with pytest.raises(RegistryBusy, match=r"127\.0\.0\.1") as told:
        asyncio.run(open_storage(url))
    assert "hunter2" not in str(told.value)


@pytest.fixture
def unused_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_a_database_file_is_its_owners(tmp_path: Path) -> None:
    async def main() -> None:
        await (await open_storage(tmp_path / "new" / "registry.db")).close()

    asyncio.run(main())
    assert (tmp_path / "new" / "registry.db").stat().st_mode & 0o777 == 0o600


def test_a_writer_that_waits_too_long_is_told_that_the_database_is_busy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sqlite3

    from inferflow.serving.manager.storage import database

    monkeypatch.setattr(database, "_PRAGMAS", ("PRAGMA busy_timeout=1",))

    async def main() -> None:
        storage = await open_storage(tmp_path / "registry.db")
        other = sqlite3.connect(tmp_path / "registry.db", isolation_level=None)
        try:
            other.execute("BEGIN IMMEDIATE")
            async with storage.writing() as tx:
                await tx.facts.set("a", "b")
        finally:
            other.close()
            await storage.close()

    with pytest.raises(RegistryBusy, match="locked"):
        asyncio.run(main())


def test_services_over_a_store_that_cannot_be_leave_nothing_open(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    opening = open_services(
        tmp_path / "registry.db", tmp_path / "file" / "below", SECRET, ManualClock()
    )
    with pytest.raises(RegistryFailed):
        asyncio.run(opening)
