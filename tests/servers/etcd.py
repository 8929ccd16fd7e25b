"""An etcd server of the installed version, and hands to hurt it with."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from inferflow.rpc.etcd import EtcdClient, EtcdOptions, Put

from .processes import ServerFolder, ServerProcess, free_port, run_as

_READY = "ready to serve client requests"


class EtcdServer:
    """One member, which may be killed, paused and started again on the same ports and data."""

    def __init__(self, binary: str, *arguments: str, scheme: str = "http") -> None:
        self._binary = binary
        self._arguments = arguments
        self._folder = ServerFolder("etcd")
        self._scheme = scheme
        self.port, self._peer_port = free_port(), free_port()
        self._process: ServerProcess | None = None
        self._prefixes = itertools.count(1)
        try:
            self.start()
        except BaseException:
            self._folder.remove()
            raise

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def endpoint(self) -> str:
        return f"{self._scheme}://{self.address}"

    def new_app(self) -> str:
        """A name nobody has kept configs under."""
        return f"test-{os.getpid()}-{next(self._prefixes)}"

    def start(self) -> None:
        peer = f"http://127.0.0.1:{self._peer_port}"
        command = [self._binary, "--name", "test", "--data-dir", str(self._folder.path / "data")]
        command += ["--listen-client-urls", self.endpoint, "--advertise-client-urls", self.endpoint]
        command += ["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer]
        command += ["--initial-cluster", f"test={peer}", "--unsafe-no-fsync", *self._arguments]
        self._process = ServerProcess(command, self._folder.path, user=None, ready=_READY)

    def kill(self) -> None:
        assert self._process is not None
        self._process.stop(signal.SIGKILL)
        self._process = None

    def pause(self) -> None:
        assert self._process is not None
        self._process.pause()

    def resume(self) -> None:
        assert self._process is not None
        self._process.resume()

    def forget(self) -> None:
        """Delete all data of a server that is not running."""
        assert self._process is None
        shutil.rmtree(self._folder.path / "data")

    def stop(self) -> None:
        if self._process is not None:
            self._process.stop(signal.SIGKILL)
        self._folder.remove()

    def ctl(self, *arguments: str) -> None:
        """Run etcdctl, as whoever the arguments say."""
        command = ["etcdctl", "--endpoints", self.endpoint, *arguments]
        run_as(None, command, self._folder.path)

    def client(self, **options: object) -> EtcdClient:
        return EtcdClient(EtcdOptions((self.endpoint,), **options))  # type: ignore[arg-type]


def until(holds: Callable[[], Any], *, within_s: float = 30.0) -> Any:
    """Wait for something other threads bring about, and return it."""
    give_up = time.monotonic() + within_s
    while not (found := holds()):
        assert time.monotonic() < give_up, "it did not come about"
        threading.Event().wait(0.01)
    return found


def put(client: EtcdClient, key: bytes, value: bytes) -> None:
    assert client.change([], [Put(key, value)])


def find_etcd() -> str:
    found = shutil.which("etcd")
    if found is None:
        pytest.skip("etcd is not installed")
    return found


@pytest.fixture(scope="session")
def etcd() -> Iterator[EtcdServer]:
    """The one that tests share, each under a name of its own."""
    server = EtcdServer(find_etcd())
    yield server
    server.stop()


@pytest.fixture
def fragile_etcd() -> Iterator[EtcdServer]:
    """One for a test that hurts it."""
    server = EtcdServer(find_etcd())
    yield server
    server.stop()
