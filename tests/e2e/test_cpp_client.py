"""The C++ client, built with the system's gRPC, against a real manager and real workers."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import inferflow
from inferflow.client.tls import for_channels

from ..robustness.scenario import StartScenario
from ..servers.certificates import Certificates
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


def test_calls_move_to_another_worker_when_one_is_killed(
    program: Path, fleet: FleetRun, scenario: StartScenario
) -> None:
    tried = scenario("A1", "one of two workers killed under a caller in C++")
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
    last = said.splitlines()[-1]
    tried.holds("no call fails", last, last == "4000 call(s), 0 failed")


def _is_busy(fleet: FleetRun) -> str:
    """The worker that has the calls."""
    with fleet.admin() as admin:
        workers = admin.workers()
    return str(max(workers, key=lambda each: int(each["report"].get("requests", 0)))["worker_id"])


# --- in private -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def private(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Certificates, FleetRun]]:
    """A fleet that speaks to those alone who show a certificate."""
    home = tmp_path_factory.mktemp("private-cpp")
    certs = Certificates(home / "certs")
    cert, key = map(str, certs.server())
    tls = {"CERT": cert, "KEY": key, "CA": str(certs.ca), "CLIENT_AUTH": "required"}
    run = FleetRun(home, {f"INFERFLOW_TLS_{name}": value for name, value in tls.items()})
    shown = inferflow.Tls(certs.ca, *certs.client())
    run.tls = for_channels(shown)
    try:
        run.add_manager()
        run.publish("doubler", scale(2))
        run.add_worker("w1", **run.environment)
        yield certs, run
    finally:
        run.close()


def test_a_fleet_over_mutual_tls_is_called_with_a_certificate_and_a_key(
    program: Path, private: tuple[Certificates, FleetRun]
) -> None:
    certs, fleet = private
    cert, key = map(str, certs.client())
    shown = {"INFERFLOW_TLS_CERT": cert, "INFERFLOW_TLS_KEY": key}
    trusted = {"INFERFLOW_TLS_CA": str(certs.ca)}
    asking = (",".join(fleet.managers), "doubler", "x", "2", "1", "2")

    def asked(**environment: str) -> subprocess.CompletedProcess[str]:
        given = {"INFERFLOW_API_KEY": fleet.caller_key, **environment}
        return _run(str(program), *asking, **given)

    done = asked(**trusted, **shown)
    assert done.returncode == 0, done.stderr
    assert "y FP32 [1,2]: 2 4" in done.stdout
    assert "caller: " in asked(**trusted, **shown, INFERFLOW_API_KEY="").stderr
    for wrong in ({}, trusted, {**shown, "INFERFLOW_TLS_CA": cert}):
        refused = asked(**wrong)
        assert (refused.returncode, "busy: " in refused.stderr) == (1, True), refused.stderr
    named = asked(**trusted, **shown, INFERFLOW_TLS_SERVER_NAME="somebody.else")
    assert (named.returncode, "busy: " in named.stderr) == (1, True)
    missing = asked(INFERFLOW_TLS_CA="nowhere.pem")
    assert "caller: tls: nowhere.pem cannot be read" in missing.stderr
