"""Networks that are cut without a word, between a server and its worker and between a fleet and its
manager."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import inferflow
from inferflow.app.scaffold import write_starter

from ..e2e import fleet_process, serving_process
from ..e2e.fault_proxy import FaultProxy
from ..e2e.fleet_process import FleetRun, Role, until
from ..e2e.role_process import MAIN, Process
from ..e2e.worker_process import scale
from .faults import Island, island
from .fleet_load import FleetLoad
from .load import Load
from .scenario import StartScenario

pytestmark = pytest.mark.timeout(180)

STEP_DEADLINE_MS = 300
DEADLINE_MS = 3_000
SLACK_MS = 500
FAST_MS = 50


@contextmanager
def worker_on(place: Island, folder: Path) -> Iterator[str]:
    """A worker over there; its address."""
    command = [sys.executable, "-c", MAIN, "worker", str(folder), "--bind", place.there]
    popen = subprocess.Popen(
        [*place.prefix, *command, "--port", "0", "--http-port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "INFERFLOW_AUTH": "off"},
    )
    assert popen.stdout is not None
    try:
        said = "".join(popen.stdout.readline() for _ in range(3))
        found = re.search(r"gRPC  (\S+:\d+)\n", said)
        assert found, said
        yield found[1]
    finally:
        popen.kill()
        popen.wait()
        popen.stdout.close()


@contextmanager
def serving(folder: Path) -> Iterator[Process]:
    made = serving_process.start(folder, EXTERNAL_SERVICE_PREDATOR_DEADLINE=str(STEP_DEADLINE_MS))
    try:
        yield made
    finally:
        made.close()


def test_a_worker_whose_network_is_cut_is_soon_not_waited_for(
    tmp_path: Path, scenario: StartScenario
) -> None:
    tried = scenario("B1", "the network of a worker cut under load")
    write_starter(tmp_path / "far")
    write_starter(tmp_path / "near")
    with island() as place, worker_on(place, tmp_path / "far") as address:
        (tmp_path / "near" / "inferflow.toml").write_text(f'[endpoints]\n"" = "{address}"\n')
        with serving(tmp_path / "near") as server:
            load = Load(server.port, deadline_ms=DEADLINE_MS)
            try:
                load.wait_for("clean")
                place.cut()
                noticed_s = load.wait_for("marked", 30)
                slowest_ms = load.slowest_s * 1000
                load.took_s.clear()
                load.wait_for("marked", 100)
                fast_ms = load.median_ms()
                place.mend()
                back_s = load.wait_for("clean")
            finally:
                load.end()
    tried.none("request fails", load.failures)
    tried.at_most("slowest answer", slowest_ms, DEADLINE_MS + SLACK_MS, " ms")
    tried.at_most("30 marked answers after", noticed_s, 5, " s")
    tried.at_most("median answer meanwhile", fast_ms, FAST_MS, " ms")
    tried.at_most("clean again after", back_s, 5, " s")


class CutFleet:
    """A manager, and a worker that reaches it over a proxy; callers reach both."""

    def __init__(self, home: Path) -> None:
        self.run = FleetRun(home)
        self.manager = self.run.add_manager()
        self._way = "pass"
        self.proxy = FaultProxy(self.manager.port, lambda _: self._way)
        self.worker: Role

    def __enter__(self) -> CutFleet:
        self.proxy.__enter__()
        self.worker = fleet_process.start(
            "worker",
            self.run.folder / "w1",
            *("--port", "0", "--http-port", "0"),
            *("--manager", f"127.0.0.1:{self.proxy.port}", "--key", self.run.worker_key),
            INFERFLOW_WORKER_ID="w1",
        )
        self.run.roles.append(self.worker)
        return self

    def cut(self) -> None:
        self._way = "hang"
        self.proxy.reset()

    def mend(self) -> None:
        self._way = "pass"
        self.proxy.reset()

    def loads(self) -> float:
        page = self.worker.get("/metrics")
        counts = re.findall(r"^inferflow_worker_model_loads_total\{.*\} (\S+)$", page, re.M)
        return sum(map(float, counts))

    def __exit__(self, *_: object) -> None:
        self.run.close()
        self.proxy.__exit__(None, None, None)


def test_a_fleet_cut_off_from_its_manager_goes_on_and_loads_nothing_again(
    tmp_path: Path, scenario: StartScenario
) -> None:
    tried = scenario("B2", "workers cut off from their manager")
    with CutFleet(tmp_path) as fleet:
        fleet.run.publish("doubler", scale(2))
        with inferflow.connect_fleet(
            fleet.run.managers, key=fleet.run.caller_key, deadline_ms=30_000
        ) as client:
            load = FleetLoad(client, "doubler", factor=2)
            try:
                load.more(100)
                loads = fleet.loads()
                fleet.cut()
                until(lambda: fleet.run.worker_states() == {"w1": "suspect"})
                load.more(200)
                until(lambda: fleet.run.worker_states() == {"w1": "offline"})
                load.more(200)
                fleet.mend()
                until(lambda: fleet.run.worker_states() == {"w1": "online"})
                load.more(100)
            finally:
                load.end()
        tried.none(f"call of {load.answers} fails", load.failures)
        tried.at_most("models loaded again", fleet.loads() - loads, 0)
