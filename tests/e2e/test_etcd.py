"""Configs in a real etcd: pushed by the command, served by a real process, with and without it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import inferflow
from inferflow.rpc.etcd import EtcdClient, prefix_end

from ..robustness.scenario import StartScenario
from ..servers.etcd import EtcdServer, fragile_etcd, put, until  # noqa: F401
from .etcd_fleet import BOOKS, HOME, KEY, Fleet, changed, version
from .serving_process import Process, launch


@pytest.fixture
def fleet(fragile_etcd: EtcdServer, tmp_path: Path) -> Fleet:  # noqa: F811
    return Fleet(fragile_etcd, tmp_path / "books")


@pytest.fixture
def client(fleet: Fleet) -> Iterator[EtcdClient]:
    client = fleet.etcd.client()
    yield client
    client.close()


def scores(process: Process) -> list[float]:
    with inferflow.connect(f"127.0.0.1:{process.port}") as server:
        return [float(each) for each in server.score("ranker", entities=BOOKS)["pick:score"]]


def test_configs_in_etcd_are_pushed_served_and_rolled_back(fleet: Fleet) -> None:
    fleet.push(fleet.text)
    process = fleet.serve()
    try:
        before = scores(process)
        assert version(process) == (1, "serving")
        fleet.push(changed(fleet.text), "--expect", "1")
        until(lambda: version(process) == (2, "serving"))
        fleet.config("push", "-", "--id", "ranker", "--expect", "1", text=fleet.text, code=1)
        assert "+# " in fleet.config("diff", "ranker", "1", "2")
        fleet.config("rollback", "ranker")
        until(lambda: version(process) == (3, "serving"))
        assert scores(process) == before
        (listed,) = json.loads(fleet.config("list", "--json"))["configs"]
        assert (listed["state"], listed["file"].encode()) == ("recorded", KEY)
    finally:
        process.close()


def test_a_bad_config_is_refused_where_operators_see_it_and_the_last_good_one_serves(
    fleet: Fleet, client: EtcdClient, scenario: StartScenario
) -> None:
    tried = scenario("C3", "a config with a mistake put into etcd")
    fleet.push(fleet.text)
    process = fleet.serve()
    status = f"{HOME}/status/ranker/".encode()

    def shown() -> list[dict[str, Any]]:
        found = client.listing(status, prefix_end(status)).entries.values()
        return [json.loads(entry.value) for entry in found]

    try:
        until(lambda: [each["state"] for each in shown()] == ["serving"])
        put(client, KEY, b'{"response_config": {"features": ["nobody:writes:this"]}}')
        with tried.timed("said in etcd, with the reason", 2):
            until(lambda: [each["state"] for each in shown()] == ["last good"])
        (told,) = shown()
        assert told["version"] == 1
        assert "error" in [each["severity"] for each in told["problems"]]
        answer = scores(process)
        tried.holds("the version before answers", f"version {told['version']}", len(answer) == 3)
        fleet.push(fleet.text)
        with tried.timed("mended, and said so", 2):
            until(lambda: [each["state"] for each in shown()] == ["serving"])
    finally:
        assert process.end() == 0
    until(lambda: shown() == [])


@pytest.mark.scenario("C1", "C2")
def test_etcd_may_be_away_while_serving_and_at_the_start(fleet: Fleet) -> None:
    fleet.push(fleet.text)
    process = fleet.serve()
    before = scores(process)
    try:
        fleet.etcd.kill()
        until(lambda: b"inferflow_config_stale_seconds 0.0" not in process.get("/metrics")[1])
        assert scores(process) == before
    finally:
        assert process.end() == 0
    process = fleet.serve()  # it starts from what it served last
    try:
        assert scores(process) == before
        assert version(process) == (1, "serving")
        fleet.etcd.start()
        fleet.push(changed(fleet.text))
        until(lambda: version(process) == (2, "serving"))
        assert b"inferflow_config_stale_seconds 0.0" in process.get("/metrics")[1]
    finally:
        process.close()


@pytest.mark.scenario("C2")
def test_a_first_start_without_etcd_is_not_ready_and_heals(fleet: Fleet) -> None:
    fleet.etcd.kill()
    popen = launch(fleet.folder, "--port", "0", "--http-port", "0", **fleet.environment)
    assert popen.stdout is not None
    lines = [popen.stdout.readline() for _ in range(3)]
    process = Process(popen, 0, lines[1].split()[1].rstrip("/").removesuffix("/health/ready"))
    try:
        assert "no model config is live" in lines[2]
        fleet.etcd.start()
        fleet.push(fleet.text)
        until(lambda: process.get("/health/ready")[0] == 200)
    finally:
        process.close()
