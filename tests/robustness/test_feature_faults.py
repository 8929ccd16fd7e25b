"""Requests under load, while the features they need come and go."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import inferflow
from inferflow.app.scaffold import write_starter
from inferflow.engine.deadline import Deadline
from inferflow.errors import StoreFailed
from inferflow.featurestore import RedisBackend, RedisOptions

from ..e2e.feature_store_process import start as start_store
from ..e2e.serving_process import Process
from ..e2e.serving_process import start as start_serving
from ..servers.redis import RedisCluster, RedisServer, own_redis  # noqa: F401

DEADLINE_MS = 3_000
SLACK_S = 0.5
"""For a busy machine; a call that waited for the store would take seconds."""


class Load:
    """Callers that never stop asking: how long it took, and whether rows were marked."""

    def __init__(self, process: Process, callers: int = 4) -> None:
        self._stop = threading.Event()
        self._address = f"127.0.0.1:{process.port}"
        self.clean = self.marked = 0
        self.slowest_s = 0.0
        self.failures: list[str] = []
        self._threads = [threading.Thread(target=self._ask) for _ in range(callers)]
        for thread in self._threads:
            thread.start()

    def _ask(self) -> None:
        with inferflow.connect(self._address, deadline_ms=DEADLINE_MS) as client:
            while not self._stop.is_set():
                began = time.monotonic()
                try:
                    found = client.score("ranker", user="ada", book=["1", "2", "3"])
                except Exception as failed:
                    self.failures.append(repr(failed))
                    continue
                self.slowest_s = max(self.slowest_s, time.monotonic() - began)
                if any(found.targets.errors):
                    self.marked += 1
                else:
                    self.clean += 1

    def wait_for(self, what: str, more: int = 20) -> None:
        """Until so many more answers are `clean` or `marked`."""
        wanted = getattr(self, what) + more
        eventually(lambda: getattr(self, what) >= wanted)

    def end(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()


def eventually(holds: Callable[[], bool], within_s: float = 60) -> None:
    limit = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < limit
        time.sleep(0.02)


class Fleet:
    """A served project, the feature store it reads from, and callers."""

    def __init__(self, folder: Path, redis: RedisServer) -> None:
        self._folder = folder
        self._rows = {
            "INFERFLOW_FEATURE_BACKEND": "redis",
            "REDIS_URL": redis.url,
            "INFERFLOW_REDIS_TIMEOUT": "200ms",
        }
        self.store = start_store(folder, **self._rows)
        self.serving = start_serving(
            folder,
            externalServiceOnFs_host=f"127.0.0.1:{self.store.port}",
            externalServiceOnFs_deadline="150ms",
        )
        self.load = Load(self.serving)
        self.load.wait_for("clean")

    def restart_store(self) -> None:
        self.store = start_store(self._folder, port=self.store.port, **self._rows)

    def end(self) -> None:
        self.load.end()
        self.serving.close()
        self.store.popen.send_signal(signal.SIGCONT)
        self.store.close()


@pytest.fixture
def fleet(tmp_path: Path, own_redis: RedisServer) -> Iterator[Fleet]:  # noqa: F811
    write_starter(tmp_path / "books")
    made = Fleet(tmp_path / "books", own_redis)
    yield made
    made.end()


def assert_answered_in_time(load: Load) -> None:
    assert load.failures == []
    assert load.slowest_s < DEADLINE_MS / 1000 + SLACK_S


def test_requests_are_answered_with_marks_while_redis_is_dead(
    fleet: Fleet,
    own_redis: RedisServer,  # noqa: F811
) -> None:
    own_redis.process.stop(signal.SIGKILL)
    fleet.load.wait_for("marked")
    own_redis.start()
    fleet.load.wait_for("clean")
    assert_answered_in_time(fleet.load)


def test_requests_are_answered_with_marks_while_redis_hangs(
    fleet: Fleet,
    own_redis: RedisServer,  # noqa: F811
) -> None:
    own_redis.process.pause()
    try:
        fleet.load.wait_for("marked")
    finally:
        own_redis.process.resume()
    fleet.load.wait_for("clean")
    assert_answered_in_time(fleet.load)


def test_requests_are_answered_with_marks_while_the_service_is_dead(fleet: Fleet) -> None:
    fleet.store.end(signal.SIGKILL)
    fleet.load.wait_for("marked")
    fleet.restart_store()
    fleet.load.wait_for("clean")
    assert_answered_in_time(fleet.load)


def test_requests_are_answered_with_marks_while_the_service_hangs(fleet: Fleet) -> None:
    fleet.store.popen.send_signal(signal.SIGSTOP)
    try:
        fleet.load.wait_for("marked")
    finally:
        fleet.store.popen.send_signal(signal.SIGCONT)
    fleet.load.wait_for("clean")
    assert_answered_in_time(fleet.load)


def test_a_service_that_drains_costs_no_answer_its_features_for_long(fleet: Fleet) -> None:
    assert fleet.store.end() == 0
    fleet.restart_store()
    fleet.load.wait_for("clean")
    assert_answered_in_time(fleet.load)


@pytest.fixture
def cluster() -> Iterator[RedisCluster]:
    made = RedisCluster()
    yield made
    made.end()


def test_a_cluster_that_lost_a_node_says_so_and_recovers_with_it(cluster: RedisCluster) -> None:
    backend = RedisBackend(RedisOptions(cluster.url, timeout_s=1))
    keys = [b"\x01" + b"group00" + b"key%d" % number for number in range(100)]

    async def read() -> list[bytes | None]:
        return await backend.fetch_many(keys, deadline=Deadline(5_000))

    def answers() -> bool:
        try:
            backend.replace(keys, keys)
            return asyncio.run(read()) == keys
        except StoreFailed:
            return False

    try:
        assert answers()
        cluster.nodes[1].process.stop(signal.SIGKILL)
        with pytest.raises(StoreFailed):
            asyncio.run(read())
        cluster.nodes[1].start()
        eventually(answers)
    finally:
        backend.close()
