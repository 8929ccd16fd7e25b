"""A fleet of real processes: models are uploaded once, and clients reach workers directly."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from inferflow.access import Claims, SigningKey, sign_token
from inferflow.errors import (
    InvalidInput,
    NotFound,
    PermissionDenied,
    RegistryConflict,
    Unauthenticated,
    Unreachable,
)

from ..robustness.scenario import StartScenario
from .fleet_process import ADMIN_KEY, FleetRun, infer, refusal, until
from .role_process import MAIN
from .worker_process import put, scale


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FleetRun]:
    run = FleetRun(tmp_path_factory.mktemp("fleet"))
    try:
        run.add_manager()
        run.add_worker("w1")
        yield run
    finally:
        run.close()


def test_a_model_is_uploaded_promoted_found_and_asked(fleet: FleetRun) -> None:
    number = fleet.publish("doubler", scale(2), stage="dev")
    with pytest.raises(NotFound, match="production"):
        fleet.discover("doubler")
    with fleet.admin() as admin:
        admin.promote("doubler", number, "production", reason="it is good", expected="dev")
    found = fleet.discover("doubler")
    assert (found.model, found.version) == ("doubler", "1")
    assert [each.worker_id for each in found.workers] == ["w1"]
    assert fleet.infer("doubler", 2, 3, found=found) == [4, 6]  # though w1 just heard of it
    with fleet.admin() as admin:
        model = admin.model("doubler")
        [version] = model["versions"]
        assert [change["to"] for change in version["history"]] == ["dev", "production"]
        assert version["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [-1, 2]}]
        until(lambda: admin.model("doubler")["versions"][0]["loaded_on"] == ["w1"])
        actions = [entry["action"] for entry in admin.audit()]
    assert {"stage changed", "version published", "key created"} <= set(actions)
    assert fleet.discover("doubler").workers[0].has_model_loaded


def test_workers_are_added_live_and_leave_when_they_are_told(fleet: FleetRun) -> None:
    fleet.publish("spread", scale(2))
    second = fleet.add_worker("w2")
    assert fleet.worker_states()["w2"] == "online"
    found = fleet.discover("spread", limit=8)
    assert {each.worker_id for each in found.workers} == {"w1", "w2"}
    with fleet.admin() as admin:
        admin.drain("w2")
    found = fleet.discover("spread", limit=8)
    assert {each.worker_id for each in found.workers} == {"w1"}
    assert second.gone() == 0
    assert fleet.worker_states()["w2"] in ("draining", "offline")


def test_a_worker_that_ends_leaves_by_itself(fleet: FleetRun) -> None:
    third = fleet.add_worker("w3")
    assert third.end() == 0
    assert fleet.worker_states()["w3"] == "draining"


def test_a_revoked_key_is_refused_by_managers_at_once_and_by_workers_within_a_heartbeat(
    fleet: FleetRun, scenario: StartScenario
) -> None:
    session = scenario("G4", "a key is revoked while it has a session with a worker")
    tried = scenario("G6", "a key of a fleet is revoked")
    fleet.publish("guarded", scale(2))
    key = fleet.key("short-lived", "inference", models=["guard*"])
    with pytest.raises(PermissionDenied, match="not for model"):
        fleet.discover("doubler", key)
    found = fleet.discover("guarded", key)
    assert fleet.infer("guarded", 2, found=found) == [4]
    with fleet.admin() as admin:
        until(lambda: usage(fleet, "short-lived") == 1)
        admin.revoke_key(key.split("_")[1])
    with (
        tried.timed("the manager refuses it", 2),
        pytest.raises(Unauthenticated, match="unknown, expired or revoked"),
    ):
        fleet.discover("guarded", key)
    with session.timed("the worker refuses it", 2):
        until(lambda: "revoked" in refused(fleet, found))


def usage(fleet: FleetRun, name: str) -> int:
    with fleet.admin() as admin:
        listed = admin.keys()
    return next(int(key["requests"]) for key in listed if key["name"] == name)


def refused(fleet: FleetRun, found: object) -> str:
    try:
        fleet.infer("guarded", 2, found=found)
    except Exception as failed:
        return str(failed)
    return ""


def test_forged_and_borrowed_tokens_are_refused(fleet: FleetRun, scenario: StartScenario) -> None:
    tried = scenario("G3", "forged and borrowed tokens shown to a worker")
    fleet.publish("sealed", scale(2))
    fleet.publish("other", scale(2))
    found = fleet.discover("sealed")
    address = found.workers[0].address
    now = int(time.time())
    claims = Claims("t", "k", ("w1",), "sealed", "1", now, now, now + 300)
    forged = sign_token(claims, SigningKey("x" * 16, bytes(32), 0, 2**60, 2**60))
    for token in ("", "garbage", forged, found.token[:-4] + "AAAA"):
        code, _ = refusal(lambda token=token: infer(address, token, "sealed", 1))
        tried.holds("refused", code, code == "UNAUTHENTICATED")
    code, words = refusal(lambda: infer(address, found.token, "other", 1))
    assert (code, "for model 'sealed'" in words) == ("PERMISSION_DENIED", True)
    worker = fleet.add_worker("elsewhere")
    code, words = refusal(lambda: infer(worker.address, found.token, "sealed", 1))
    assert words == "the session token is for other workers"
    tried.holds("refused", code, code == "UNAUTHENTICATED")
    worker.end()


@pytest.mark.scenario("G9")
def test_a_key_that_asks_too_often_is_told_to_come_back(fleet: FleetRun) -> None:
    fleet.publish("busy", scale(2))
    key = fleet.key("hasty", "inference", per_second=0.01, burst=3)
    found = until(lambda: fleet.discover("busy", key))
    until(lambda: f"key {key.split('_')[1]!r} asks more often" in flooded(fleet, found))


def flooded(fleet: FleetRun, found: object) -> str:
    for _ in range(5):
        try:
            fleet.infer("busy", 2, found=found)
        except Exception as failed:
            return str(failed)
    return ""


def test_a_new_version_is_rolled_out_by_weights_and_by_stages(fleet: FleetRun) -> None:
    fleet.publish("rolling", scale(2))
    fleet.publish("rolling", scale(3), stage="staging")
    with fleet.admin() as admin:
        assert fleet.discover("rolling").version == "1"
        assert fleet.discover("rolling", stage="staging").version == "2"
        admin.set_traffic("rolling", {"1": 75, "2": 25})
        met = Counter(fleet.discover("rolling").version for _ in range(200))
        assert 15 <= met["2"] <= 90, met
        sticky = {fleet.discover("rolling", affinity_key="user-7").version for _ in range(10)}
        assert len(sticky) == 1
        with pytest.raises(RegistryConflict, match="change the traffic first"):
            admin.promote("rolling", "2", "archived")
        admin.promote("rolling", "2", "production")
        versions = {each["version"]: each for each in admin.model("rolling")["versions"]}
        assert {number: each["stage"] for number, each in versions.items()} == {
            "1": "archived",
            "2": "production",
        }
        assert admin.model("rolling")["traffic"] == {}
        assert {fleet.discover("rolling").version for _ in range(5)} == {"2"}
        assert fleet.infer("rolling", 2, 3) == [6, 9]
        admin.promote("rolling", "1", "production", reason="rolled back")
        assert fleet.discover("rolling").version == "1"


def test_the_version_in_production_is_loaded_before_anybody_asks(fleet: FleetRun) -> None:
    fleet.publish("warm", scale(2))
    assert fleet.infer("warm", 1) == [2]
    fleet.publish("warm", scale(5))

    def holders() -> list[str]:
        with fleet.admin() as admin:
            newest = admin.model("warm")["versions"][-1]
            return list(newest["loaded_on"])

    assert until(holders) == ["w1"]
    assert fleet.infer("warm", 1) == [5]


@pytest.mark.parametrize("content", [b"", b"<html>", b"\x80\x04pickle", scale(2)[:40]])
def test_what_is_no_model_never_becomes_visible(
    fleet: FleetRun, content: bytes, scenario: StartScenario
) -> None:
    tried = scenario("H3", "an upload that is no model")
    with pytest.raises(InvalidInput):
        fleet.publish("rubbish", content)
    with fleet.admin() as admin:
        seen = [model["name"] for model in admin.models() if model["name"] == "rubbish"]
    tried.none("trace of it in the registry", seen)


@pytest.mark.parametrize("name", ["../../x", "/etc/x", "a/../b", "CON", "x" * 300, ".hidden"])
def test_names_that_could_mislead_are_refused(fleet: FleetRun, name: str) -> None:
    with pytest.raises(InvalidInput, match="model"):
        fleet.publish(name, scale(2))


def test_serving_options_that_workers_do_not_know_are_refused(fleet: FleetRun) -> None:
    with pytest.raises(InvalidInput, match="max_batsch"):
        fleet.publish("tuned", scale(2), options={"max_batsch": 3})
    number = fleet.publish("tuned", scale(2), options={"max_batch": 8, "prefetch": True})

    def loaded() -> bool:
        with fleet.admin() as admin:
            return admin.model("tuned")["versions"][int(number) - 1]["loaded_on"] == ["w1"]

    until(loaded)


def test_what_the_fleet_does_is_on_the_managers_metrics_page(fleet: FleetRun) -> None:
    fleet.publish("counted", scale(2))
    assert fleet.infer("counted", 1) == [2]
    manager = fleet.roles[0]

    def seen() -> bool:
        page = manager.get("/metrics")
        return (
            'inferflow_fleet_model_requests_total{model="counted",version="1",worker="w1"}' in page
        )

    until(seen)
    page = manager.get("/metrics")
    assert 'inferflow_fleet_worker_state{state="online",worker="w1"} 1.0' in page
    assert 'inferflow_manager_calls_total{method="Discover",outcome="ok"}' in page
    assert "inferflow_manager_has_duties 1.0" in page
    assert 'inferflow_fleet_model_latency_seconds{model="counted",quantile="0.99"' in page
    assert manager.get("/health/ready") == "true"


def test_a_worker_with_a_wrong_key_is_told_so_and_ends(fleet: FleetRun) -> None:
    wrong = fleet.key("not-for-workers", "inference")
    (fleet.folder / "wrong").mkdir()
    done = subprocess.run(
        [
            *(sys.executable, "-c", MAIN, "worker", str(fleet.folder / "wrong")),
            *("--port", "0", "--http-port", "0", "--manager", fleet.managers[0], "--key", wrong),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "lacks the permission 'worker'" in done.stderr


def command(fleet: FleetRun, *arguments: str, fails: bool = False) -> str:
    environment = {"INFERFLOW_MANAGER": fleet.managers[0], "INFERFLOW_API_KEY": ADMIN_KEY}
    done = subprocess.run(
        [sys.executable, "-c", MAIN, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        cwd=fleet.folder,
        timeout=60,
        check=False,
    )
    assert (done.returncode != 0) is fails, done.stdout + done.stderr
    return done.stderr if fails else done.stdout


def test_the_commands_do_what_a_release_needs(fleet: FleetRun) -> None:
    file = fleet.folder / "triple.onnx"
    file.write_bytes(scale(3))
    assert command(fleet, "models", "upload", "cli", str(file)) == "cli@1 is in dev\n"
    assert command(fleet, "models", "promote", "cli", "1", "production").endswith("production\n")
    assert command(fleet, "models", "upload", "cli", str(file), "--stage", "staging")
    said = command(fleet, "models", "traffic", "cli", "1=90", "2=10")
    assert said == "cli: 1 gets 90 %, 2 gets 10 %\n"
    listed = json.loads(command(fleet, "models", "list", "--json"))["models"]
    assert next(each for each in listed if each["name"] == "cli")["traffic"] == {"1": 90, "2": 10}
    assert "takes    x FP32 [any, 2]" in command(fleet, "models", "show", "cli")
    assert "production gets all" in command(fleet, "models", "traffic", "cli")
    assert "is in production" in command(fleet, "models", "delete", "cli", "1", fails=True)
    assert command(fleet, "models", "delete", "cli", "2") == "cli@2 is deleted\n"
    workers = json.loads(command(fleet, "workers", "list", "--json"))["workers"]
    assert "w1" in [worker["worker_id"] for worker in workers]
    made = command(fleet, "keys", "create", "app", "--may", "inference", "--expires", "30d")
    key_id = made.split("_")[1]
    assert key_id in command(fleet, "keys", "list")
    assert "is revoked" in command(fleet, "keys", "revoke", key_id)
    assert "key revoked" in command(fleet, "audit", "--last", "5")
    unknown = command(fleet, "models", "show", "clu", fails=True)
    assert unknown == "error: no model 'clu'; did you mean 'cli'?\n"


def test_a_projects_models_are_pushed_once(fleet: FleetRun) -> None:
    project = fleet.folder / "project"
    project.mkdir()
    put(project, "pushed", scale(2))
    put(project, "pushed", scale(3), version="2")
    put(project, "broken", b"<html>")
    refused = command(fleet, "push", str(project), "--json", fails=True)
    assert refused == ""
    (project / "models" / "broken" / "1" / "model.onnx").unlink()
    assert command(fleet, "push", str(project), "--models") == (
        "models  pushed@1: there already\nmodels  pushed@2: there already\nnothing changed\n"
    )
    with fleet.admin() as admin:
        assert [each["version"] for each in admin.model("pushed")["versions"]] == ["1", "2"]


def test_a_manager_that_is_not_there_is_named(fleet: FleetRun) -> None:
    from inferflow.client.manager.admin import FleetAdmin

    with FleetAdmin(["127.0.0.1:1"], ADMIN_KEY) as admin, pytest.raises(Unreachable, match=":1"):
        admin.models()


def test_no_command_needs_more_than_a_manager(tmp_path: Path) -> None:
    clean = {name: value for name, value in os.environ.items() if "INFERFLOW" not in name}
    done = subprocess.run(
        [sys.executable, "-c", MAIN, "models", "list"],
        capture_output=True,
        text=True,
        env=clean,
        cwd=tmp_path,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "INFERFLOW_MANAGER" in done.stderr
