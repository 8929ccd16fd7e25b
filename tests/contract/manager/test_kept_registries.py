"""Registries of every schema there ever was, opened by the code of today.

`kept/<revision>.sql` is a registry as the code of that revision wrote it. A new migration comes
with one of its own, so that the next can be tested from it.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory

from inferflow.access import OPERATOR, Permission
from inferflow.errors import RegistryFailed
from inferflow.serving.manager.services import Services, open_services
from inferflow.serving.manager.storage.migrating import MIGRATIONS
from inferflow.serving.manager.storage.records import Stage

KEPT = sorted((Path(__file__).parent / "kept").glob("*.sql"))
SECRET = bytes(range(32))
NOW_S = 1_800_000_100.0
ADMIN_KEY = "ifk_000100010001_" + "k" * 43


@pytest.fixture(params=KEPT, ids=lambda path: path.stem)
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "registry.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(request.param.read_text("utf-8"))
    return path


@pytest.fixture
def services(kept: Path, tmp_path: Path) -> Iterator[tuple[asyncio.Runner, Services]]:
    with asyncio.Runner() as runner:
        opened = runner.run(open_services(kept, tmp_path / "files", SECRET, lambda: NOW_S))
        yield runner, opened
        runner.run(opened.close())


def test_every_migration_has_a_kept_registry() -> None:
    config = Config()
    config.set_main_option("script_location", MIGRATIONS)
    revisions = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    assert revisions == {path.stem for path in KEPT}


def test_its_models_keys_and_audit_are_read(
    services: tuple[asyncio.Runner, Services],
) -> None:
    runner, opened = services
    (model,) = opened.registry.models(OPERATOR)
    assert [(each.number, each.stage) for each in model.versions] == [
        (1, Stage.DEV),
        (2, Stage.PRODUCTION),
    ]
    card = opened.live.keybook.authenticate(ADMIN_KEY, now_ms=int(NOW_S * 1000))
    assert Permission.ADMIN in card.permissions

    async def audited() -> list[str]:
        async with opened.storage.reading() as tx:
            return [entry.action for entry in await tx.audit.latest(100)]

    assert "key created" in runner.run(audited())


def test_it_is_written_to_as_a_new_one(services: tuple[asyncio.Runner, Services]) -> None:
    runner, opened = services
    runner.run(opened.registry.promote(OPERATOR, "ranker", 1, Stage.PRODUCTION))
    (model,) = opened.registry.models(OPERATOR)
    assert {each.number: each.stage for each in model.versions} == {
        1: Stage.PRODUCTION,
        2: Stage.ARCHIVED,
    }
    session = opened.sessions.issue(OPERATOR, model="ranker", version="1", workers=["w"])
    assert opened.sessions.read(session.token).model == "ranker"


def test_a_kept_registry_under_another_secret_is_refused(kept: Path, tmp_path: Path) -> None:
    with pytest.raises(RegistryFailed, match="another secret"):
        asyncio.run(open_services(kept, tmp_path / "files", bytes(32), lambda: NOW_S))
