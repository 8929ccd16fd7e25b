"""Requests under load, while the features they need come and go."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from inferflow.app.scaffold import write_starter
from inferflow.engine.deadline import Deadline
from inferflow.errors import StoreFailed
from inferflow.featurestore import RedisBackend, RedisOptions

from ..e2e.fault_proxy import FaultProxy
from ..e2e.feature_store_process import start as start_store
from ..e2e.serving_process import start as start_serving
from ..servers.redis import RedisCluster, RedisServer, own_redis  # noqa: F401
from .load import Load, eventually
from .scenario import Scenario, StartScenario

DEADLINE_MS = 3_000
SLACK_MS = 500
"""For a busy machine; a call that waited for the store would take seconds."""


class Fleet:
    """A served project, the feature store it reads from, and callers."""

    def __init__(self, folder: Path, redis_url: str, *, ready: str = "ready") -> None:
        self._folder = folder
        self._rows = {
            "INFERFLOW_FEATURE_BACKEND": "redis",
            "REDIS_URL": redis_url,
            "INFERFLOW_REDIS_TIMEOUT": "200ms",
        }
        self.store = start_store(folder, ready=ready, **self._rows)
        self.serving = start_serving(
            folder,
            externalServiceOnFs_host=f"127.0.0.1:{self.store.port}",
            externalServiceOnFs_deadline="150ms",
        )
        self.load = Load(self.serving.port, deadline_ms=DEADLINE_MS)
        self.load.wait_for("clean" if ready == "ready" else "marked")

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
    made = Fleet(tmp_path / "books", own_redis.url)
    yield made
    made.end()


def state_all(tried: Scenario, load: Load) -> None:
    back_s = load.wait_for("clean")
    load.end()
    tried.none("request fails", load.failures)
    tried.at_most("slowest answer", load.slowest_s * 1000, DEADLINE_MS + SLACK_MS, " ms")
    tried.at_most("clean again after", back_s, 5.0, " s")


def test_requests_are_answered_with_marks_while_redis_is_dead(
    fleet: Fleet,
    own_redis: RedisServer,  # noqa: F811
    scenario: StartScenario,
) -> None:
    own_redis.process.stop(signal.SIGKILL)
    fleet.load.wait_for("marked")
    own_redis.start()
    state_all(scenario("D14", "Redis behind the feature store killed, started again"), fleet.load)


def test_requests_are_answered_with_marks_while_redis_hangs(
    fleet: Fleet,
    own_redis: RedisServer,  # noqa: F811
    scenario: StartScenario,
) -> None:
    own_redis.process.pause()
    try:
        fleet.load.wait_for("marked")
    finally:
        own_redis.process.resume()
    state_all(scenario("D14", "Redis behind the feature store hangs"), fleet.load)


def test_a_redis_that_is_slow_costs_time_and_then_marks_and_no_answer(
    tmp_path: Path,
    own_redis: RedisServer,  # noqa: F811
    scenario: StartScenario,
) -> None:
    tried = scenario("D14", "Redis behind the feature store slower than the deadline")
    write_starter(tmp_path / "books")
    with FaultProxy(own_redis.port, lambda _: "pass") as proxy:
        fleet = Fleet(tmp_path / "books", f"redis://127.0.0.1:{proxy.port}")
        try:
            proxy.delay_s = 0.02
            before = fleet.load.marked
            fleet.load.wait_for("clean")
            tried.at_most("marked answers at 20 ms more", fleet.load.marked - before, 0)
            proxy.delay_s = 0.5
            fleet.load.wait_for("marked")
            proxy.delay_s = 0.0
            state_all(tried, fleet.load)
        finally:
            fleet.end()


def test_a_redis_that_is_down_at_the_start_is_used_when_it_comes(
    tmp_path: Path,
    own_redis: RedisServer,  # noqa: F811
    scenario: StartScenario,
) -> None:
    write_starter(tmp_path / "books")
    own_redis.process.stop(signal.SIGKILL)
    fleet = Fleet(tmp_path / "books", own_redis.url, ready="not ready")
    try:
        fleet.load.wait_for("marked")
        own_redis.start()
        state_all(scenario("D14", "Redis behind the feature store down at start"), fleet.load)
    finally:
        fleet.end()


def test_a_service_that_drains_costs_no_answer_its_features_for_long(
    fleet: Fleet, scenario: StartScenario
) -> None:
    assert fleet.store.end() == 0
    fleet.restart_store()
    state_all(scenario("D15", "feature store drains and is started again"), fleet.load)


@pytest.fixture
def cluster() -> Iterator[RedisCluster]:
    made = RedisCluster()
    yield made
    made.end()


@pytest.mark.scenario("D14")
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
