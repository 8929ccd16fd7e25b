"""A PostgreSQL server of the installed version, with nothing in it and no patience for disks."""

from __future__ import annotations

import asyncio
import itertools
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from .certificates import Certificates
from .processes import ServerFolder, ServerProcess, free_port, ordinary_user, run_as

_OWNER = "inferflow"


class PostgresServer:
    def __init__(self, binaries: Path, certs: Certificates | None = None) -> None:
        """With certificates: over TLS alone, to clients that show one of the same authority."""
        self._certs = certs
        self._shown = None if certs is None else certs.client(_OWNER)
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
        name = url.partition("?")[0].rpartition("/")[2]
        asyncio.run(self._execute(f"DROP DATABASE {name} WITH (FORCE)"))

    def url(self, name: str) -> str:
        url = f"postgresql://{_OWNER}@127.0.0.1:{self._port}/{name}"
        if self._certs is None or self._shown is None:
            return url
        cert, key = self._shown
        files = f"sslrootcert={self._certs.ca}&sslcert={cert}&sslkey={key}"
        return f"{url}?sslmode=verify-full&{files}"

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
        settings = ["listen_addresses=127.0.0.1", "fsync=off", "shared_buffers=16MB"]
        for setting in (*settings, *self._privately(home)):
            command += ["-c", setting]
        return ServerProcess(command, home, user=user, ready="ready to accept connections")

    def _privately(self, home: Path) -> list[str]:
        """Settings for TLS. Files of it must be the server's own."""
        if self._certs is None:
            return []
        rule = "hostssl all all 127.0.0.1/32 trust clientcert=verify-ca\n"
        (home / "data" / "pg_hba.conf").write_text(rule)
        cert, key = self._certs.server("postgres")
        settings = ["ssl=on"]
        for name, file in (("cert", cert), ("key", key), ("ca", self._certs.ca)):
            own = home / f"{name}.pem"
            shutil.copyfile(file, own)
            own.chmod(0o600)
            if self._folder.user is not None:
                shutil.chown(own, self._folder.user)
            settings.append(f"ssl_{name}_file={own}")
        return settings

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
