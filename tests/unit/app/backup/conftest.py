"""A project with everything a backup holds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from inferflow.app.backup import Taken, take_backup
from inferflow.app.scaffold import write_starter
from inferflow.app.settings import read_settings

Take = Callable[..., Taken]
MADE_S = 1_700_000_000.0


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write_starter(tmp_path / "shop")
    return tmp_path / "shop"


@pytest.fixture
def take(project: Path, tmp_path: Path) -> Take:
    """Backs the project up, to `backup.tar.gz` beside it unless told otherwise."""

    def backed_up(file: Path = tmp_path / "backup.tar.gz", *, replace: bool = False) -> Taken:
        return take_backup(
            project, read_settings(project), file, now=lambda: MADE_S, replace=replace
        )

    return backed_up
