"""Servers under load, while etcd comes and goes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import inferflow

from ..e2e.etcd_fleet import BOOKS, KEY, Fleet, changed, version
from ..e2e.serving_process import Process, launch
from ..servers.etcd import EtcdServer, put, until
from .load import Load
from .scenario import StartScenario


@pytest.fixture
def fleet(fragile_etcd: EtcdServer, tmp_path: Path) -> Fleet:
    return Fleet(fragile_etcd, tmp_path / "books")


@pytest.fixture
def loaded(fleet: Fleet) -> Iterator[tuple[Process, Load]]:
    fleet.push(fleet.text)
    process = fleet.serve()
    load = Load(process.port)
    yield process, load
    load.end()
    process.close()


def test_no_request_fails_while_etcd_is_killed_hung_and_started_again(
    fleet: Fleet, loaded: tuple[Process, Load], scenario: StartScenario
) -> None:
    process, load = loaded
    load.wait_for("answers", 200)
    fleet.etcd.kill()
    load.wait_for("answers", 500)
    fleet.etcd.start()
    fleet.push(changed(fleet.text))
    until(lambda: version(process) == (2, "serving"))
    fleet.etcd.pause()
    load.wait_for("answers", 500)
    fleet.etcd.resume()
    fleet.push(fleet.text)
    until(lambda: version(process) == (3, "serving"))
    load.end()
    tried = scenario("C1", "etcd killed, hung and started again under load")
    tried.none("request fails", load.failures)
    tried.at_most("marked answers", load.marked, 0)


def test_a_burst_of_writes_is_a_handful_of_reloads(
    fleet: Fleet, loaded: tuple[Process, Load], scenario: StartScenario
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
    load.end()
    tried = scenario("C6", "1000 writes of one config in a burst")
    tried.at_most("reloads", version(process)[0] - 1, 20)
    tried.none("request fails", load.failures)


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
