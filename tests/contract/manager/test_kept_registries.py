"""Registries of every schema there ever was, opened by the code of today."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic.script import ScriptDirectory

from inferflow.access import OPERATOR, Permission
from inferflow.errors import RegistryFailed
from inferflow.serving.manager.services import Services, open_services
from inferflow.serving.manager.storage.records import Stage

from .kept_registry import ADMIN_KEY, KEPT, NOW_S, SECRET, migrations, write_sqlite

REVISIONS = sorted(path.stem for path in KEPT.glob("*.sql"))


@pytest.fixture(params=REVISIONS)
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "registry.db"
    write_sqlite(path, request.param)
    return path


@pytest.fixture
def services(kept: Path, tmp_path: Path) -> Iterator[tuple[asyncio.Runner, Services]]:
    with asyncio.Runner() as runner:
        opened = runner.run(open_services(kept, tmp_path / "files", SECRET, lambda: NOW_S))
        yield runner, opened
        runner.run(opened.close())


def test_every_migration_has_a_kept_registry() -> None:
    scripts = ScriptDirectory.from_config(migrations())
    revisions = sorted(script.revision for script in scripts.walk_revisions())
    assert revisions == REVISIONS
    assert revisions == sorted(path.name.partition(".")[0] for path in KEPT.glob("*.tar.gz"))


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
