"""Every feature backend, each fresh and empty. A new backend joins by one entry."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from inferflow.featurestore import Backend, LmdbBackend, MemoryBackend

BACKENDS: dict[str, Callable[[Path], Backend]] = {
    "memory": lambda _: MemoryBackend(),
    "lmdb": lambda folder: LmdbBackend(folder / "features", map_bytes=1 << 20),
}


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    opened = BACKENDS[request.param](tmp_path)
    yield opened
    opened.close()
