"""Redis servers of the installed version: one alone, and a cluster of three.

They keep nothing on disk. One of each runs per test run; tests are apart by namespace.
"""

from __future__ import annotations

import itertools
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence

import pytest

from .certificates import Certificates
from .processes import ServerFolder, ServerProcess, free_port

_SLOTS = 16384
_namespaces = itertools.count(1)


def new_namespace() -> str:
    return f"test{next(_namespaces)}"


class RedisServer:
    """One server. Stopped and started again, it has the same port and is empty."""

    def __init__(
        self,
        *,
        port: int | None = None,
        options: Sequence[str] = (),
        certs: Certificates | None = None,
    ) -> None:
        """With certificates: over TLS alone, to clients that show one of the same authority."""
        self._folder = ServerFolder("redis")
        self._certs = certs
        self._options = tuple(options)
        self.port = port or free_port()
        self.process: ServerProcess
        try:
            self.start()
        except BaseException:
            self._folder.remove()
            raise

    @property
    def url(self) -> str:
        scheme = "redis" if self._certs is None else "rediss"
        return f"{scheme}://127.0.0.1:{self.port}"

    def start(self) -> None:
        command = ["redis-server", "--bind", "127.0.0.1", *self._listening()]
        command += ["--save", "", "--appendonly", "no", *self._options]
        self.process = ServerProcess(
            command, self._folder.path, user=None, ready="Ready to accept connections"
        )

    def _listening(self) -> list[str]:
        if self._certs is None:
            return ["--port", str(self.port)]
        cert, key = map(str, self._certs.server("redis"))
        files = ["--tls-cert-file", cert, "--tls-key-file", key]
        authority = ["--tls-ca-cert-file", str(self._certs.ca)]
        return ["--port", "0", "--tls-port", str(self.port), *files, *authority]

    def stop(self) -> None:
        self.process.stop()

    def end(self) -> None:
        """Stop it for good."""
        self.stop()
        self._folder.remove()


class RedisCluster:
    def __init__(self) -> None:
        self.nodes = [_cluster_node() for _ in range(3)]
        try:
            self._join()
        except BaseException:
            self.end()
            raise

    @property
    def url(self) -> str:
        return self.nodes[0].url

    def end(self) -> None:
        for node in self.nodes:
            node.end()

    def _join(self) -> None:
        addresses = [f"127.0.0.1:{node.port}" for node in self.nodes]
        done = subprocess.run(
            ["redis-cli", "--cluster", "create", *addresses, "--cluster-yes"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        limit = time.monotonic() + 30
        while not all(self._is_whole(node) for node in self.nodes):
            assert time.monotonic() < limit, "the cluster did not come together"

    def _is_whole(self, node: RedisServer) -> bool:
        said = subprocess.run(
            ["redis-cli", "-p", str(node.port), "cluster", "info"],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        ).stdout
        return "cluster_state:ok" in said and f"cluster_slots_ok:{_SLOTS}" in said


def _cluster_node() -> RedisServer:
    # Nodes talk to each other on their port plus 10,000, which has to be a port too.
    while (port := free_port()) > 55_000:
        pass
    return RedisServer(port=port, options=("--cluster-enabled", "yes"))


def _need_redis() -> None:
    if shutil.which("redis-server") is None:
        pytest.skip("Redis is not installed")


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """Shared: not to be stopped."""
    _need_redis()
    server = RedisServer()
    yield server
    server.end()


@pytest.fixture(scope="session")
def redis_cluster() -> Iterator[RedisCluster]:
    """Shared: not to be stopped."""
    _need_redis()
    cluster = RedisCluster()
    yield cluster
    cluster.end()


@pytest.fixture
def own_redis() -> Iterator[RedisServer]:
    """A server of the test's own, which may be stopped and started."""
    _need_redis()
    server = RedisServer()
    yield server
    server.end()
