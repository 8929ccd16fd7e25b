"""A registry of the version before, taken up by the code of today: nothing is lost on the way, it
happens once, and an end in the middle leaves the one or the other."""

from __future__ import annotations

import asyncio
import logging
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text

from inferflow.access import OPERATOR, KeyCard, ModelPatterns, Permission
from inferflow.app.backup import restore_backup
from inferflow.errors import RegistryFailed
from inferflow.serving.manager.services import open_services
from inferflow.serving.manager.storage import open_storage
from inferflow.serving.manager.storage.records import Stage

from .kept_registry import (
    ADMIN_KEY,
    KEPT,
    NOW_S,
    SECRET,
    Rows,
    inside,
    migrations,
    rows,
    write_kept,
)

HEAD = ScriptDirectory.from_config(migrations()).get_current_head()
PREVIOUS = sorted(path.stem for path in KEPT.glob("*.sql") if path.stem != HEAD)
STOPS = """
import asyncio, os, signal, sys
from alembic import op
from inferflow.serving.manager.storage import open_storage
op.create_index = lambda *a, **k: os.kill(os.getpid(), signal.SIGKILL)
asyncio.run(open_storage(sys.argv[1]))
"""


@pytest.fixture(params=PREVIOUS)
def old(request: pytest.FixtureRequest, database_url: str, tmp_path: Path) -> str:
    """The URL of a registry that has not been upgraded yet."""
    write_kept(database_url, request.param, tmp_path)
    return database_url


def upgrade(*urls: str) -> None:
    async def main() -> None:
        for storage in await asyncio.gather(*(open_storage(url) for url in urls)):
            await storage.close()

    asyncio.run(main())


def schema_of(found: Rows) -> str:
    return str(found["alembic_version"][0]["version_num"])


def test_every_row_is_still_there_and_says_what_it_said(old: str) -> None:
    before = rows(old)
    upgrade(old)
    after = rows(old)
    assert (schema_of(before), schema_of(after)) != (HEAD, HEAD)
    assert schema_of(after) == HEAD
    for table in before.keys() - {"alembic_version"}:
        assert len(before[table]) == len(after[table])
        for was, now in zip(before[table], after[table], strict=True):
            assert now | was == now, table


def test_entries_made_before_are_found_by_model_and_by_key(old: str, tmp_path: Path) -> None:
    limited = KeyCard(
        "limited", "", frozenset({Permission.ADMIN}), ModelPatterns(("rank*",)), created_ms=0
    )

    async def main() -> None:
        services = await open_services(old, tmp_path / "files", SECRET, lambda: NOW_S)
        try:
            about = ["stage changed", "version published", "version published"]
            found = await services.trail.latest(OPERATOR, model="ranker")
            assert [entry.action for entry in found] == about
            assert {entry.model for entry in found} == {"ranker"}
            assert [entry.action for entry in await services.trail.latest(limited)] == about
            assert len(await services.trail.latest(OPERATOR, key_id="operator")) > len(about)
            assert await services.trail.latest(OPERATOR, key_id="000100010001") == []
        finally:
            await services.close()

    asyncio.run(main())


def test_work_goes_on_after_it(old: str, tmp_path: Path) -> None:
    async def main() -> None:
        services = await open_services(old, tmp_path / "files", SECRET, lambda: NOW_S)
        try:
            assert Permission.ADMIN in services.keys.authenticate(ADMIN_KEY).permissions
            await services.registry.promote(OPERATOR, "ranker", 1, Stage.PRODUCTION)
            newest, *_ = await services.trail.latest(OPERATOR, model="ranker")
            assert newest.subject == "ranker@1"
        finally:
            await services.close()

    asyncio.run(main())


def test_managers_that_start_together_upgrade_once(
    old: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "inferflow"):
        upgrade(old, old, old)
    told = [record for record in caplog.records if record.message == "registry_migrated"]
    assert len(told) == 1
    assert schema_of(rows(old)) == HEAD


def test_a_step_that_fails_leaves_all_as_it_was(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from alembic import op

    before = rows(old)

    def fail(*_: object, **__: object) -> None:
        raise OSError("the disk is full")

    with monkeypatch.context() as during:
        during.setattr(op, "create_index", fail)
        with pytest.raises(Exception, match="the disk is full"):
            upgrade(old)
    assert rows(old) == before
    upgrade(old)
    assert schema_of(rows(old)) == HEAD


def test_a_manager_killed_in_the_middle_leaves_all_as_it_was(old: str) -> None:
    before = rows(old)
    killed = subprocess.run([sys.executable, "-c", STOPS, old], timeout=60, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert rows(old) == before
    upgrade(old)
    assert schema_of(rows(old)) == HEAD


def test_an_older_version_refuses_what_a_newer_one_has_upgraded(
    old: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no way down but a backup: a step back would drop what was added since."""
    upgrade(old)
    after = rows(old)
    everything = ScriptDirectory.walk_revisions
    monkeypatch.setattr(
        ScriptDirectory,
        "walk_revisions",
        lambda self: (each for each in everything(self) if each.revision != HEAD),
    )
    monkeypatch.setattr(ScriptDirectory, "get_current_head", lambda _: PREVIOUS[-1])
    with pytest.raises(RegistryFailed, match=f"schema '{HEAD}'.*upgrade Inferflow, or go back to"):
        upgrade(old)
    assert rows(old) == after


def test_a_manager_of_the_version_before_that_still_runs_goes_on_writing(
    old: str, tmp_path: Path
) -> None:
    upgrade(old)
    columns = '(at_ms, "by", action, subject, detail)'
    values = "(1, 'k', 'stage changed', 'ranker@1', '{}')"
    inside(
        old,
        lambda connection: connection.execute(text(f"INSERT INTO audit {columns} VALUES {values}")),
    )

    async def main() -> None:
        services = await open_services(old, tmp_path / "files", SECRET, lambda: NOW_S)
        try:
            newest, *_ = await services.trail.latest(OPERATOR)
            assert (newest.subject, newest.model) == ("ranker@1", "")
        finally:
            await services.close()

    asyncio.run(main())


def test_what_lists_entries_of_a_model_has_an_index(old: str) -> None:
    upgrade(old)
    found = inside(old, lambda connection: inspect(connection).get_indexes("audit"))
    assert {tuple(index["column_names"]) for index in found} == {("model", "id"), ("by", "id")}
    if old.startswith("sqlite"):
        asked = "EXPLAIN QUERY PLAN SELECT * FROM audit WHERE model = 'a' ORDER BY id DESC LIMIT 9"
        plan = inside(old, lambda connection: str(connection.execute(text(asked)).all()))
        assert "USING INDEX ix_audit_model_id" in plan
        assert "TEMP B-TREE" not in plan


@pytest.mark.parametrize("revision", PREVIOUS)
def test_a_backup_of_the_version_before_is_restored_and_upgraded(
    revision: str, tmp_path: Path
) -> None:
    restored = restore_backup(KEPT / f"{revision}.tar.gz", tmp_path / "shop")
    state = restored.root / ".inferflow" / "manager"

    async def main() -> None:
        services = await open_services(
            state / "registry.db", state / "files", SECRET, lambda: NOW_S
        )
        try:
            (model,) = services.registry.models(OPERATOR)
            read = [
                piece
                async for piece in services.registry.read_file(
                    OPERATOR, model.name, 2, "model.onnx"
                )
            ]
            assert len(b"".join(read)) == model.versions[-1].size
        finally:
            await services.close()

    asyncio.run(main())
    assert schema_of(rows(f"sqlite:///{state / 'registry.db'}")) == HEAD
