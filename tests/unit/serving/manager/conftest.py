"""A manager's services over SQLite and a folder, with time in the test's hands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .office import Office


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    opened = Office(f"sqlite:///{tmp_path / 'registry.db'}", tmp_path / "files")
    yield opened
    opened.close()
