"""Clocks that are set by an hour while all runs. Time goes on as before; the hour is another."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import inferflow
from inferflow.app.scaffold import write_starter
from inferflow.client.sdk.sync import FleetClient

from ..e2e import serving_process
from ..e2e.fleet_process import FleetRun, Role
from ..e2e.worker_process import scale
from .faults import WallClock
from .fleet_load import FleetLoad
from .load import Load, eventually
from .scenario import StartScenario

HOUR_S = 3600
STEPS_S = (HOUR_S, 0, -HOUR_S, 0)
IN_A_ROW = 300
"""So many answers without a failure, and it counts as over."""

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def clock(tmp_path: Path) -> WallClock:
    return WallClock(tmp_path)


def test_a_server_answers_and_logs_on_whatever_its_clock_says(
    tmp_path: Path, clock: WallClock, scenario: StartScenario
) -> None:
    tried = scenario("J3", "the clock of a server set forth and back by an hour, under load")
    project = tmp_path / "books"
    write_starter(project)
    config = project / "configs" / "ranker.yaml"
    logged = "response_config:\n    logging_perc: 100"
    config.write_text(config.read_text().replace("response_config:", logged))
    process = serving_process.start(
        project,
        INFERFLOW_LOGS_SINK="files",
        INFERFLOW_LOGS_ROTATE_AFTER="500ms",
        INFERFLOW_DATA_DIR=str(tmp_path / "data"),
        **clock.environment,
    )
    load = Load(process.port, callers=2)

    def files() -> int:
        return len([*(tmp_path / "data" / "logs").rglob("*.parquet")])

    try:
        load.wait_for("clean")
        for step in STEPS_S:
            clock.set(step)
            before, began = files(), time.monotonic()
            eventually(lambda before=before: files() > before + 2)
            tried.within("three log files of half a second", time.monotonic() - began, 5)
            load.wait_for("clean", 200)
        load.end()
        ended = process.end()
    finally:
        load.end()
        process.close()
    tried.none("request fails", load.failures, of=load.answers)
    tried.at_most("marked answers", load.marked, 0)
    tried.holds("it ends with 0", ended, ended == 0)


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[FleetRun]:
    run = FleetRun(tmp_path)
    yield run
    run.close()


@pytest.fixture
def client(fleet: FleetRun, clock: WallClock) -> Iterator[FleetClient]:
    fleet.environment = clock.environment
    fleet.add_manager()
    fleet.add_worker("w1", **clock.environment)
    fleet.publish("doubler", scale(2))
    with inferflow.connect_fleet(
        fleet.managers, key=fleet.caller_key, deadline_ms=10_000
    ) as opened:
        yield opened


def over_after_s(load: FleetLoad) -> float:
    """How long there were failures from now on."""
    began = last = time.monotonic()
    known, answers = len(load.failures), load.answers
    while load.answers < answers + IN_A_ROW:
        if len(load.failures) > known:
            known, answers, last = len(load.failures), load.answers, time.monotonic()
        time.sleep(0.01)
        assert time.monotonic() - began < 60, load.failures[-1]
    return last - began


def test_a_fleet_is_itself_again_soon_after_its_clocks_were_set(
    fleet: FleetRun, client: FleetClient, clock: WallClock, scenario: StartScenario
) -> None:
    tried = scenario("J3", "the clocks of manager and worker set forth and back by an hour")
    load = FleetLoad(client, "doubler", factor=2)
    try:
        load.more(100)
        for step in STEPS_S:
            clock.set(step)
            tried.within("without a failure again", over_after_s(load), 5)
        load.end()
        page = fleet.roles[1].get("/metrics")
    finally:
        load.end()
    wrong = [each for each in load.failures if " became " in each]
    tried.none("wrong answer", wrong, of=load.answers)
    loads = [line for line in page.splitlines() if line.startswith("inferflow_worker_model_loads")]
    counted = sum(float(line.rpartition(" ")[2]) for line in loads if "_created" not in line)
    tried.at_most("loads of the model", counted, 1)


def refusals(worker: Role) -> float:
    """Calls it has turned away."""
    lines = worker.get("/metrics").splitlines()
    counts = [line for line in lines if line.startswith("inferflow_refused_calls_total{")]
    return sum(float(line.rpartition(" ")[2]) for line in counts)


def test_a_worker_whose_clock_is_wrong_refuses_sessions_and_says_why(
    fleet: FleetRun, tmp_path: Path, scenario: StartScenario
) -> None:
    tried = scenario("J3", "the clock of one worker an hour ahead of its manager's")
    clock, log = WallClock(tmp_path), tmp_path / "w1" / "worker.log"
    fleet.add_manager()
    wrong = fleet.add_worker("w1", **clock.environment)
    fleet.publish("doubler", scale(2))
    with inferflow.connect_fleet(
        fleet.managers, key=fleet.caller_key, deadline_ms=10_000
    ) as client:
        load = FleetLoad(client, "doubler", factor=2)
        try:
            load.more(100)
            clock.set(HOUR_S)
            began = time.monotonic()
            eventually(lambda: "clock_differs_from_manager" in log.read_text())
            tried.within("it warns that its clock differs", time.monotonic() - began, 5)
            eventually(lambda: len(load.failures) > 20)
            clock.set(0)
            tried.within("without a failure again, once it is right", over_after_s(load), 5)
            alone = len(load.failures)
            fleet.add_worker("w2")
            for step in (HOUR_S, -HOUR_S):
                before = refusals(wrong)
                clock.set(step)
                eventually(lambda before=before: refusals(wrong) > before)
                load.more(IN_A_ROW)
        finally:
            load.end()
    tried.none("call fails beside a worker that is right", load.failures[alone:], of=load.answers)
    other = [each for each in load.failures if "expired or is not valid yet" not in each]
    tried.none("refusal without the reason", other, of=len(load.failures))
