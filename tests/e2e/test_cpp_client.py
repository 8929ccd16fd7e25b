"""The C++ client, built with the system's gRPC, against a real manager and real workers."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from .fleet_process import FleetRun
from .worker_process import scale

SOURCE = Path(__file__).parents[2] / "clients" / "cpp"
BUILD = Path(__file__).parents[2] / ".cache" / "cpp-client"
TOOLS = ("cmake", "c++", "protoc", "grpc_cpp_plugin")

pytestmark = pytest.mark.timeout(600)  # the first build takes its time


@pytest.fixture(scope="module")
def program() -> Path:
    """The example program, built once per checkout and brought up to date."""
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"a C++ client is built with {', '.join(missing)}, which is not installed")
    BUILD.mkdir(parents=True, exist_ok=True)
    with open(BUILD / "lock", "w") as lock:  # two test processes share the folder
        fcntl.flock(lock, fcntl.LOCK_EX)
        configured = _run("cmake", "-S", str(SOURCE), "-B", str(BUILD))
        if configured.returncode and "Could NOT find" in configured.stderr:
            pytest.skip(f"gRPC for C++ is not installed: {configured.stderr.strip()[-200:]}")
        assert configured.returncode == 0, configured.stderr
        built = _run("cmake", "--build", str(BUILD), "--parallel", "2")
        assert built.returncode == 0, built.stdout + built.stderr
    return BUILD / "inferflow_infer"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FleetRun]:
    run = FleetRun(tmp_path_factory.mktemp("cpp"))
    try:
        run.add_manager(INFERFLOW_MANAGER_TOKEN_TTL="10")
        run.publish("doubler", scale(2))
        run.add_worker("w1")
        yield run
    finally:
        run.close()


def _run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )


def called(
    program: Path, fleet: FleetRun, *words: str, key: str | None = None, managers: str = ""
) -> subprocess.CompletedProcess[str]:
    return _run(
        str(program),
        managers or ",".join(fleet.managers),
        *words,
        INFERFLOW_API_KEY=fleet.caller_key if key is None else key,
    )


def test_a_model_is_found_and_run(program: Path, fleet: FleetRun) -> None:
    done = called(program, fleet, "doubler", "x", "2", "1", "2", "3", "4")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "y FP32 [2,2]: 2 4 6 8",
        "z FP32 [2,2]: -2 -4 -6 -8",
        "1 call(s), 0 failed",
    ]


@pytest.mark.parametrize(
    ("model", "key", "says"),
    [
        ("doublr", None, "absent: model 'doublr'"),
        ("doubler", "", "caller: model 'doubler'"),
        ("doubler", "ifk_wrong_wrong", "caller: model 'doubler'"),
    ],
)
def test_a_refusal_says_who_must_act_and_why(
    program: Path, fleet: FleetRun, model: str, key: str | None, says: str
) -> None:
    done = called(program, fleet, model, "x", "2", "1", "2", key=key)
    assert done.returncode == 1
    assert says in done.stderr


def test_an_input_that_does_not_fit_is_the_callers_fault(program: Path, fleet: FleetRun) -> None:
    done = called(program, fleet, "doubler", "q", "2", "1", "2")
    assert done.returncode == 1
    assert "caller: model 'doubler'" in done.stderr
    assert "'q'" in done.stderr


def test_without_a_manager_it_says_so(program: Path, fleet: FleetRun) -> None:
    done = called(program, fleet, "doubler", "x", "2", "1", "2", managers="127.0.0.1:1")
    assert done.returncode == 1
    assert "busy: model 'doubler' is not available: 127.0.0.1:1" in done.stderr


@pytest.mark.scenario("A1")
def test_calls_move_to_another_worker_when_one_is_killed(program: Path, fleet: FleetRun) -> None:
    second = fleet.add_worker("w2")
    calling = subprocess.Popen(
        [program, "--repeat", "4000", ",".join(fleet.managers), "doubler", "x", "2", "1", "2"],
        env={**os.environ, "INFERFLOW_API_KEY": fleet.caller_key},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert calling.stderr is not None
    assert calling.stderr.readline() == "answered\n"
    victim = fleet.roles[1] if _is_busy(fleet) == "w1" else second
    victim.kill()
    said, failures = calling.communicate(timeout=300)
    assert failures == ""
    assert said.splitlines()[-1] == "4000 call(s), 0 failed"


def _is_busy(fleet: FleetRun) -> str:
    """The worker that has the calls."""
    with fleet.admin() as admin:
        workers = admin.workers()
    return str(max(workers, key=lambda each: int(each["report"].get("requests", 0)))["worker_id"])
