"""Servers under load, while etcd comes and goes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import inferflow

from ..e2e.etcd_fleet import BOOKS, KEY, Fleet, changed, version
from ..e2e.serving_process import Process, launch
from ..servers.etcd import EtcdServer, put, until


@pytest.fixture
def fleet(fragile_etcd: EtcdServer, tmp_path: Path) -> Fleet:
    return Fleet(fragile_etcd, tmp_path / "books")


class Load:
    """Callers that never stop asking, and what they got."""

    def __init__(self, process: Process, callers: int = 4) -> None:
        self._stop = threading.Event()
        self._address = f"127.0.0.1:{process.port}"
        self.answers = 0
        self.failures: list[str] = []
        self._threads = [threading.Thread(target=self._ask) for _ in range(callers)]
        for thread in self._threads:
            thread.start()

    def _ask(self) -> None:
        with inferflow.connect(self._address) as client:
            while not self._stop.is_set():
                try:
                    assert len(client.score("ranker", entities=BOOKS)) == 3
                    self.answers += 1
                except Exception as failed:
                    self.failures.append(repr(failed))

    def more(self, answers: int) -> None:
        """Wait until so many more were given."""
        wanted = self.answers + answers
        until(lambda: self.answers >= wanted, within_s=60)

    def end(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()


@pytest.fixture
def loaded(fleet: Fleet) -> Iterator[tuple[Process, Load]]:
    fleet.push(fleet.text)
    process = fleet.serve()
    load = Load(process)
    yield process, load
    load.end()
    process.close()


def test_no_request_fails_while_etcd_is_killed_hung_and_started_again(
    fleet: Fleet, loaded: tuple[Process, Load]
) -> None:
    process, load = loaded
    load.more(200)
    fleet.etcd.kill()
    load.more(500)
    fleet.etcd.start()
    fleet.push(changed(fleet.text))
    until(lambda: version(process) == (2, "serving"))
    fleet.etcd.pause()
    load.more(500)
    fleet.etcd.resume()
    fleet.push(fleet.text)
    until(lambda: version(process) == (3, "serving"))
    load.end()
    assert load.failures == []


def test_a_burst_of_writes_is_a_handful_of_reloads(
    fleet: Fleet, loaded: tuple[Process, Load]
) -> None:
    process, load = loaded
    client = fleet.etcd.client()
    entry = client.get(KEY)
    assert entry is not None
    for number in range(1000):
        put(client, KEY, entry.value + b" " * number)
    client.close()
    written = entry.value.decode() + " " * 999
    until(lambda: fleet.config("get", "ranker", str(version(process)[0])) == written)
    assert version(process)[0] <= 21
    load.end()
    assert load.failures == []


def test_several_processes_share_what_their_parent_follows(fleet: Fleet) -> None:
    fleet.push(fleet.text)
    popen = launch(
        fleet.folder,
        *("--port", "0", "--http-port", "0", "--processes", "2"),
        **fleet.environment,
    )
    assert popen.stdout is not None
    lines = [popen.stdout.readline() for _ in range(3)]
    port = int(lines[0].rsplit(":", 1)[1])
    process = Process(popen, port, lines[1].split()[1].removesuffix("/health/ready"))
    try:
        until(lambda: process.get("/health/ready")[0] == 200)
        with inferflow.connect(f"127.0.0.1:{port}") as client:
            assert len(client.score("ranker", entities=BOOKS)) == 3
            fleet.etcd.kill()
            assert len(client.score("ranker", entities=BOOKS)) == 3
            fleet.etcd.start()
        fleet.push(changed(fleet.text))
        until(lambda: version(process) == (2, "serving"))
    finally:
        assert process.end() == 0
