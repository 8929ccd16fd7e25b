"""Every feature backend, each fresh and empty. A new backend joins by one entry."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from inferflow.featurestore import (
    Backend,
    LmdbBackend,
    MemoryBackend,
    RedisBackend,
    RedisOptions,
)

from ..servers.redis import new_namespace, redis_cluster, redis_server  # noqa: F401

Make = Callable[[Path, pytest.FixtureRequest], Backend]


def _on(fixture: str) -> Make:
    """Rows of one test on a server that all tests share."""

    def make(_: Path, request: pytest.FixtureRequest) -> Backend:
        url = request.getfixturevalue(fixture).url
        return RedisBackend(RedisOptions(url, new_namespace(), timeout_s=10))

    return make


BACKENDS: dict[str, Make] = {
    "memory": lambda _, __: MemoryBackend(),
    "lmdb": lambda folder, _: LmdbBackend(folder / "features", map_bytes=1 << 20),
    "redis": _on("redis_server"),
    "redis-cluster": _on("redis_cluster"),
}


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    opened = BACKENDS[request.param](tmp_path, request)
    yield opened
    opened.close()
