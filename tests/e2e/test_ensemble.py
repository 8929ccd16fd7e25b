"""The ensemble of `examples/`: as it lies there, and in a fleet that `inferflow up` runs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import onnx
import pytest

import inferflow
from inferflow.client.manager.admin import FleetAdmin
from inferflow.errors import Unauthenticated
from inferflow.plan.document import read_document

from ..servers.processes import free_port
from .fleet_process import ADMIN_KEY, QUICK, Role, start
from .role_process import MAIN

EXAMPLE = Path(__file__).parents[2] / "examples" / "ensemble"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    copied = tmp_path / "ensemble"
    shutil.copytree(EXAMPLE, copied, ignore=shutil.ignore_patterns(".inferflow"))
    return copied


def run(*command: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_its_models_and_expected_scores_are_what_its_script_makes(project: Path) -> None:
    assert run("make_models.py", "--check", folder=project) == ""


def test_the_commands_of_its_readme_work(project: Path) -> None:
    [block] = re.findall(
        r"```\n(inferflow score.*?)```", (project / "README.md").read_text(), re.S
    )[:1]
    for line in block.splitlines():
        assert run("-c", MAIN, *line.split()[1:], folder=project)


# --- in a fleet -----------------------------------------------------------------------------------


@pytest.fixture
def port(project: Path) -> int:
    """Where the project's own manager will be."""
    found = free_port()
    (project / "inferflow.toml").write_text(
        f"[fleet]\nenabled = true\n[manager]\nport = {found}\nhttp_port = 0\n"
        f'[worker]\nport = 0\nhttp_port = 0\n[endpoints]\n"" = "manager://127.0.0.1:{found}"\n'
    )
    return found


@pytest.fixture
def up(project: Path, port: int) -> Iterator[Role]:
    role = begin(project)
    yield role
    if role.popen.poll() is None:
        role.kill()


def begin(project: Path) -> Role:
    return start(
        "up",
        project,
        *("--port", "0", "--http-port", "0", "--gateway-port", "0"),
        INFERFLOW_ADMIN_KEY=ADMIN_KEY,
        INFERFLOW_DRAIN_PAUSE="0ms",
    )


def test_up_runs_a_fleet_that_serves_the_models_of_the_project(
    project: Path, port: int, up: Role
) -> None:
    request = read_document(project / "requests" / "eta.json")
    with (
        inferflow.open(project, settings={"endpoints": {}}) as flow,
        inferflow.connect(up.address) as client,
    ):
        here, there = flow.answer(request), client.answer(request)
        assert not any(there.errors)
        for column in request["expect"]:
            np.testing.assert_array_equal(here[column], there[column])
        assert f"manager://127.0.0.1:{port}" in str(client.explain("eta", request))
    managers = [f"127.0.0.1:{port}"]
    with FleetAdmin(managers, ADMIN_KEY) as admin:
        models = admin.models()
        assert {each["name"]: each["versions"][0]["stage"] for each in models} == dict.fromkeys(
            ("linear_model", "network_model", "stacked_model", "tree_model"), "production"
        )
        key = admin.create_key("caller", ["inference"])["secret"]
    guesses = {"features": np.array([[20.0, 30.0, 25.0]], np.float32)}
    with inferflow.connect_fleet(managers, key=key) as fleet:
        [[minutes]] = fleet.infer("stacked_model", guesses)["minutes"].tolist()
        assert minutes == pytest.approx(24.25)
    gateway = re.search(r"gateway  (\S+)", up.said)[1]  # type: ignore[index]
    tensor = {"name": "features", "datatype": "FP32", "shape": [1, 3], "data": [20, 30, 25]}
    model = f"{gateway}/v2/models/stacked_model"
    answer = httpx.post(f"{model}/infer", json={"inputs": [tensor]}).json()
    assert answer["outputs"][0]["data"] == pytest.approx([24.25])
    assert httpx.get(model).json()["inputs"][0]["shape"][-1] == 3
    assert httpx.get(f"{model}/ready").status_code == 200
    assert httpx.get(f"{gateway}/v2/models/nobody").status_code == 404
    with inferflow.connect_fleet(managers) as stranger, pytest.raises(Unauthenticated):
        stranger.infer("stacked_model", guesses)


def test_it_ends_politely_and_takes_in_what_changed_when_it_is_back(
    project: Path, port: int, up: Role
) -> None:
    assert up.end() == 0
    file = project / "models" / "stacked_model" / "1" / "model.onnx"
    model = onnx.load(file)
    model.producer_name = "somebody else"
    onnx.save(model, file)
    again = begin(project)
    try:
        with FleetAdmin([f"127.0.0.1:{port}"], ADMIN_KEY) as admin:
            stages = {
                each["name"]: [version["stage"] for version in each["versions"]]
                for each in admin.models()
            }
            listed = admin.keys()
        assert stages.pop("stacked_model") == ["archived", "production"]
        assert set(map(tuple, stages.values())) == {("production",)}
        own = [key for key in listed if key["name"] == "inferflow up"]
        each_run = len(own) // 2
        assert [bool(int(key["revoked_ms"])) for key in own] == (
            [True] * each_run + [False] * each_run
        )
    finally:
        again.kill()


def test_a_fleet_runs_in_one_process_only(project: Path, port: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", MAIN, "up", ".", "--processes", "2", "--port", "0"],
        cwd=project,
        env={**os.environ, **QUICK},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "inferflow manager" in done.stderr
    assert "Traceback" not in done.stderr
