"""Every database a manager can keep its registry in, each fresh and empty."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ...servers.postgres import PostgresServer, postgres  # noqa: F401


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'registry.db'}"
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    url = server.new_database()
    yield url
    server.drop_database(url)
