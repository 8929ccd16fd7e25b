"""A PostgreSQL server of the installed version, with nothing in it and no patience for disks."""

from __future__ import annotations

import asyncio
import itertools
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from .processes import ServerFolder, ServerProcess, free_port, ordinary_user, run_as

_OWNER = "inferflow"


class PostgresServer:
    def __init__(self, binaries: Path) -> None:
        self._folder = ServerFolder("postgres", user=ordinary_user("postgres"))
        try:
            self._process = self._start(binaries)
        except BaseException:
            self._folder.remove()
            raise
        self._names = itertools.count(1)

    def new_database(self) -> str:
        """The URL of a database nobody has used yet."""
        name = f"test_{next(self._names)}"
        asyncio.run(self._execute(f"CREATE DATABASE {name}"))
        return self.url(name)

    def drop_database(self, url: str) -> None:
        name = url.rpartition("/")[2]
        asyncio.run(self._execute(f"DROP DATABASE {name} WITH (FORCE)"))

    def url(self, name: str) -> str:
        return f"postgresql://{_OWNER}@127.0.0.1:{self._port}/{name}"

    def stop(self) -> None:
        self._process.stop(signal.SIGINT)
        self._folder.remove()

    def _start(self, binaries: Path) -> ServerProcess:
        home, user = self._folder.path, self._folder.user
        data = str(home / "data")
        init = [str(binaries / "initdb"), "-D", data, "-U", _OWNER, "-A", "trust", "-E", "UTF8"]
        run_as(user, [*init, "--no-sync", "--locale=C.UTF-8"], home)
        self._port = free_port()
        command = [str(binaries / "postgres"), "-D", data, "-p", str(self._port), "-k", str(home)]
        for setting in ("listen_addresses=127.0.0.1", "fsync=off", "shared_buffers=16MB"):
            command += ["-c", setting]
        return ServerProcess(command, home, user=user, ready="ready to accept connections")

    async def _execute(self, statement: str) -> None:
        import asyncpg

        connection = await asyncpg.connect(self.url("postgres"))
        try:
            await connection.execute(statement)
        finally:
            await connection.close()


def find_binaries() -> Path | None:
    """Where `postgres` is: on the path, or where Debian keeps it."""
    on_path = shutil.which("postgres")
    if on_path:
        return Path(on_path).parent
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    return found[-1].parent if found else None


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    binaries = find_binaries()
    if binaries is None:
        pytest.skip("PostgreSQL is not installed")
    server = PostgresServer(binaries)
    yield server
    server.stop()
