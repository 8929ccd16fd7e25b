"""A small project that is open, and a bench on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from inferflow.app.backoffice.bench import SharedBenches
from inferflow.app.scaffold import write_starter
from inferflow.app.wiring import Embedded, open_embedded


@pytest.fixture
def starter(tmp_path: Path) -> Path:
    write_starter(tmp_path / "starter")
    return tmp_path / "starter"


@pytest.fixture
def embedded(starter: Path) -> Iterator[Embedded]:
    opened = open_embedded(starter)
    yield opened
    opened.close()


@pytest.fixture
def benches(embedded: Embedded) -> SharedBenches:
    return SharedBenches(embedded)
