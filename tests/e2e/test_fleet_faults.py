"""A fleet under faults: processes that die, managers that come back, uploads that are cut off."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from inferflow.client.manager.admin import FleetAdmin
from inferflow.client.manager.calls import ManagerCalls, declared
from inferflow.errors import NotFound, RegistryConflict, Unreachable

from ..robustness.faults import burning_processors
from ..robustness.scenario import StartScenario
from ..servers.postgres import PostgresServer, postgres  # noqa: F401  # a fixture
from ..servers.processes import free_port
from .fleet_process import ADMIN_KEY, FleetRun, infer, refusal, until
from .worker_process import rounds, scale

MIB = 1024 * 1024
BUSY_S = 15
"""Three times as long as a worker may be silent before it counts as gone."""


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[FleetRun]:
    run = FleetRun(tmp_path)
    yield run
    run.close()


def named(fleet: FleetRun, model: str) -> set[str]:
    return {each.worker_id for each in fleet.discover(model, limit=8).workers}


def test_a_worker_that_was_killed_is_no_longer_named(fleet: FleetRun) -> None:
    fleet.add_manager()
    first, _ = fleet.add_worker("w1"), fleet.add_worker("w2")
    fleet.publish("m", scale(2))
    assert named(fleet, "m") == {"w1", "w2"}
    first.kill()
    until(lambda: fleet.worker_states()["w1"] == "suspect")  # so it is named last
    assert fleet.discover("m").workers[0].worker_id == "w2"
    assert fleet.infer("m", 3) == [6]
    until(lambda: named(fleet, "m") == {"w2"})
    assert fleet.worker_states() == {"w1": "offline", "w2": "online"}
    fleet.add_worker("w1")
    until(lambda: named(fleet, "m") == {"w1", "w2"})


def test_a_managers_restart_is_not_noticed_by_sessions_and_workers_come_back(
    fleet: FleetRun, scenario: StartScenario
) -> None:
    away = scenario("A6", "the manager killed while a session is open")
    back = scenario("A7", "the manager killed and started again")
    port = free_port()
    manager = fleet.add_manager(port=port)
    fleet.add_worker("w1")
    fleet.publish("m", scale(2))
    session = fleet.discover("m")
    assert fleet.infer("m", 1, found=session) == [2]
    with fleet.admin() as admin:
        before = (stable(admin.models()), key_ids(admin))
    manager.kill()
    with away.timed("a new caller is told", 0.1), pytest.raises(Unreachable):
        fleet.discover("m")
    got = fleet.infer("m", 4, found=session)
    away.holds("the session is answered", got, got == [8])
    fleet.add_manager(port=port)
    with back.timed("workers are online", 3):
        until(lambda: fleet.worker_states() == {"w1": "online"})
    with fleet.admin() as admin:
        found = (stable(admin.models()), key_ids(admin))
    back.holds("models, versions and keys are as before", "equal", found == before)
    assert fleet.infer("m", 5, found=session) == [10]
    assert until(lambda: fleet.discover("m")).workers[0].worker_id == "w1"
    fleet.publish("m", scale(3))
    assert fleet.infer("m", 5) == [15]


def key_ids(admin: FleetAdmin) -> list[str]:
    listed = admin.keys()
    return [key["key_id"] for key in listed]


def stable(models: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without what depends on workers having been heard."""
    for model in models:
        for version in model["versions"]:
            version.pop("loaded_on")
    return models


def test_an_upload_that_was_cut_off_goes_on_after_the_managers_death(
    fleet: FleetRun, scenario: StartScenario
) -> None:
    tried = scenario("A15", "an upload of 48 MiB cut off after 40, and the manager killed")
    port = free_port()
    manager = fleet.add_manager(port=port)
    content = scale(2, ballast=48 * MIB)
    file = fleet.folder / "large.onnx"
    file.write_bytes(content)

    class Enough(Exception):
        """As when somebody presses Ctrl-C."""

    def stopping(_: str, done: int, __: int) -> None:
        if done >= 40 * MIB:
            raise Enough

    with fleet.admin() as admin, pytest.raises(Enough):
        admin.upload("large", {"model.onnx": file}, progress=stopping)
    with fleet.admin() as admin:
        assert admin.models() == []
    manager.kill()
    fleet.add_manager(port=port)
    reached: list[int] = []
    with fleet.admin() as admin:
        made = admin.upload(
            "large", {"model.onnx": file}, progress=lambda _, done, __: reached.append(done)
        )
    tried.at_least("not sent again", reached[0] / MIB, 8, " MiB")
    assert reached[-1] == len(content) == made["size"]


@pytest.mark.robustness
def test_an_upload_survives_a_manager_that_dies_under_it(
    fleet: FleetRun, scenario: StartScenario
) -> None:
    tried = scenario("A15", "the manager killed and started again under an upload")
    port = free_port()
    manager = fleet.add_manager(port=port)
    content = scale(2, ballast=32 * MIB)
    file = fleet.folder / "large.onnx"
    file.write_bytes(content)
    killed = threading.Event()

    def killing(_: str, done: int, __: int) -> None:
        if done >= 16 * MIB:
            killed.set()

    def restart() -> None:
        killed.wait(60)
        manager.kill()
        fleet.add_manager(port=port)

    restarting = threading.Thread(target=restart)
    restarting.start()
    try:
        with fleet.admin() as admin:
            made = admin.upload("large", {"model.onnx": file}, progress=killing)
    finally:
        restarting.join()
    stored = (made["version"], made["size"])
    tried.holds("one version, of its size", stored, stored == ("1", len(content)))


def test_a_model_file_that_changed_in_the_store_is_refused_and_shown(
    fleet: FleetRun, scenario: StartScenario
) -> None:
    tried = scenario("H5", "a model file changed in the store")
    fleet.add_manager()
    fleet.add_worker("w1")
    fleet.publish("fine", scale(2))
    number = fleet.publish("rotten", scale(2))
    stored = fleet.folder / "manager" / ".inferflow" / "manager" / "files" / "models"
    with fleet.admin() as admin:
        size = admin.model("rotten")["versions"][0]["size"]
    newest = max(stored.glob("*/0"), key=lambda path: path.stat().st_mtime_ns)
    assert newest.stat().st_size == size
    newest.write_bytes(newest.read_bytes()[:-1] + b"!")
    found = fleet.discover("rotten")
    address = found.workers[0].address
    code, words = refusal(lambda: infer(address, found.token, "rotten", 1))
    is_refused = code == "UNAVAILABLE" and "has the checksum" in words
    tried.holds("it is not loaded", code, is_refused)

    def problem() -> str:
        with fleet.admin() as admin:
            return str(admin.model("rotten")["versions"][0]["problem"])

    assert until(problem).startswith("corrupt: model.onnx")
    with fleet.admin() as admin:
        admin.promote("rotten", number, "archived")
        with pytest.raises(RegistryConflict, match="corrupt"):
            admin.promote("rotten", number, "production")
    beside = fleet.infer("fine", 1)
    tried.holds("another model is answered", beside, beside == [2])
    page = fleet.roles[0].get("/metrics")
    (counted,) = re.findall(r"^inferflow_manager_model_problems (\S+)$", page, re.M)
    tried.holds("the manager's count of problems is 1", counted, counted == "1.0")


@pytest.mark.robustness
def test_a_worker_refuses_a_cache_that_was_tampered_with_and_fetches_anew(
    fleet: FleetRun, scenario: StartScenario
) -> None:
    tried = scenario("H5", "a worker's copy replaced by another model")
    fleet.add_manager()
    worker = fleet.add_worker("w1")
    fleet.publish("m", scale(2))
    assert fleet.infer("m", 1) == [2]
    worker.end()
    [cached] = (fleet.folder / "w1").rglob("model.onnx")
    cached.write_bytes(scale(9))
    fleet.add_worker("w1")
    got = fleet.infer("m", 1)
    tried.holds("the registered model answers", got, got == [2])


@pytest.mark.robustness
def test_a_worker_with_more_than_enough_to_do_is_not_taken_for_dead(
    fleet: FleetRun, scenario: StartScenario
) -> None:
    tried = scenario("I8", f"a worker with {BUSY_S} s of work for every processor, and strangers")
    fleet.add_manager()
    fleet.add_worker("w1")
    fleet.publish("rounds", rounds())
    found = fleet.discover("rounds")

    def ask() -> str:
        address = found.workers[0].address
        return refusal(lambda: infer(address, found.token, "rounds", 1e15, timeout=BUSY_S))[0]

    seen: Counter[str] = Counter()
    with burning_processors(), ThreadPoolExecutor(8) as callers:
        asked = [callers.submit(ask) for _ in range(8)]
        while not all(each.done() for each in asked):
            seen[fleet.worker_states()["w1"]] += 1
    tried.holds("never seen as offline", dict(seen), "offline" not in seen)
    ended = {each.result() for each in asked}
    tried.holds("calls end at their deadline", ended, ended == {"DEADLINE_EXCEEDED"})


def test_a_worker_that_waits_for_its_manager_joins_when_it_comes(fleet: FleetRun) -> None:
    port = free_port()
    manager = fleet.add_manager(port=port)
    fleet.publish("m", scale(2))
    manager.end()
    starting = threading.Thread(target=fleet.add_worker, args=("w1",))
    starting.start()
    fleet.add_manager(port=port)
    starting.join(60)
    assert until(lambda: fleet.discover("m").workers[0].worker_id == "w1")
    assert fleet.infer("m", 2) == [4]


@pytest.mark.robustness
def test_two_managers_share_a_fleet_and_one_is_enough(
    fleet: FleetRun,
    postgres: PostgresServer,  # noqa: F811
    scenario: StartScenario,
) -> None:
    tried = scenario("A12", "one of two managers of a fleet killed")
    fleet.environment = {
        "INFERFLOW_MANAGER_DATABASE": postgres.new_database(),
        "INFERFLOW_MANAGER_SECRET": "5e" * 32,
    }
    one, two = fleet.add_manager(), fleet.add_manager()
    fleet.add_worker("w1")
    fleet.publish("m", scale(2))

    def at(manager: Any, ask: Callable[[FleetAdmin], Any]) -> Any:
        with FleetAdmin([manager.address], ADMIN_KEY) as admin:
            return ask(admin)

    for manager in (one, two):
        until(lambda manager=manager: states(at(manager, FleetAdmin.workers)) == {"w1": "online"})
        until(lambda manager=manager: [m["name"] for m in at(manager, FleetAdmin.models)] == ["m"])
        assert discovered(manager.address, fleet.caller_key, "m") == ["w1"]
    session = fleet.discover("m")
    leads = [role for role in (one, two) if "has_duties 1.0" in role.get("/metrics")]
    tried.at_most("managers that lead", len(leads), 1)
    assert leads
    one.kill()
    assert fleet.infer("m", 1, found=session) == [2]
    assert named(fleet, "m") == {"w1"}
    fleet.add_worker("w2")
    fleet.publish("m", scale(3))
    until(lambda: named(fleet, "m") == {"w1", "w2"})
    got = fleet.infer("m", 1)
    tried.holds("workers join and versions are published", got, got == [3])
    until(lambda: states(at(two, FleetAdmin.workers)) == {"w1": "online", "w2": "online"})


def states(workers: list[dict[str, Any]]) -> dict[str, str]:
    return {worker["worker_id"]: worker["state"] for worker in workers}


def discovered(address: str, key: str, model: str) -> list[str]:
    calls = ManagerCalls([address], key)
    try:
        request = declared("DiscoverRequest")(model=model)
        answer = calls.ask("Discovery/Discover", request, "DiscoverResponse")
        return [each.worker_id for each in answer.workers]
    finally:
        calls.close()


def test_without_a_worker_callers_are_told_so(fleet: FleetRun) -> None:
    fleet.add_manager()
    fleet.publish("m", scale(2))
    with pytest.raises(Unreachable, match="no worker is up"):
        fleet.discover("m")
    with pytest.raises(NotFound, match="did you mean 'm'"):
        fleet.discover("mm")
