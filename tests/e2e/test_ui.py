"""The web UI in a real browser, against a real `inferflow up` of the demo with a fleet.

The browser's side is in `ui/e2e`. All of it is one run of Playwright: one server, one browser.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import onnx
import pytest
from onnx import helper

from inferflow.demo import write_shop

from .role_process import MAIN
from .worker_process import scale

ROOT = Path(__file__).parents[2]
UI = ROOT / "ui"
DIST = ROOT / "src" / "inferflow" / "ui" / "dist"
NODE, CHROMIUM = shutil.which("node"), shutil.which("chromium")

MARKUP = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'

# Free ports, and patience short enough to watch a worker die.
SETTINGS = {
    "INFERFLOW_FLEET_ENABLED": "true",
    "INFERFLOW_LOGS_SINK": "files",
    "INFERFLOW_LOGS_ROTATE_AFTER": "300ms",
    "INFERFLOW_MANAGER_HEARTBEAT": "300ms",
    "INFERFLOW_MANAGER_SUSPECT_AFTER": "1s",
    "INFERFLOW_MANAGER_OFFLINE_AFTER": "2s",
    "INFERFLOW_DRAIN_PAUSE": "0ms",
    "INFERFLOW_WORKER_DRAIN_PAUSE": "0ms",
    "INFERFLOW_MANAGER_DRAIN_PAUSE": "0ms",
    "INFERFLOW_GATEWAY_DRAIN_PAUSE": "0ms",
    **{
        f"INFERFLOW_{role}_PORT": "0"
        for role in ("GATEWAY", "MANAGER", "MANAGER_HTTP", "WORKER", "WORKER_HTTP")
    },
}


@dataclass(frozen=True)
class Running:
    """Where the parts of a running project are reached."""

    gateway: str
    manager: str


@pytest.fixture
def built() -> Path:
    """The UI as it is now, built."""
    if NODE is None or CHROMIUM is None:
        pytest.skip("needs node and chromium; `make services` installs the browser")
    made = subprocess.run(["make", "ui"], cwd=ROOT, capture_output=True, text=True, check=False)
    if not (UI / "node_modules" / "@playwright").exists():
        pytest.skip(f"the UI's packages could not be installed: {made.stderr}")
    assert made.returncode == 0, made.stdout + made.stderr
    return DIST


@pytest.fixture
def running(built: Path, tmp_path: Path) -> Iterator[Running]:
    assert built.exists()
    write_shop(tmp_path / "shop")
    with (tmp_path / "up.log").open("w") as log:
        up = subprocess.Popen(
            [sys.executable, "-c", MAIN, "up", "shop", "--port", "0", "--http-port", "0"],
            cwd=tmp_path,
            env={**os.environ, **SETTINGS},
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    try:
        yield _told(up, tmp_path / "up.log")
    finally:
        up.terminate()
        try:
            up.wait(30)
        finally:
            up.kill()
            up.wait()
            assert up.stdout is not None
            up.stdout.close()


def _told(up: subprocess.Popen[str], log: Path) -> Running:
    said = ""
    assert up.stdout is not None
    while not said.endswith("ready\n"):
        line = up.stdout.readline()
        assert line, said + log.read_text()
        said += line
    gateway = re.search(r"^gateway +(http://\S+)", said, re.MULTILINE)
    manager = re.search(r"^manager +(\S+)", said, re.MULTILINE)
    assert gateway is not None, said
    assert manager is not None, said
    return Running(gateway[1], manager[1])


def hostile() -> bytes:
    """A model with markup wherever a model may hold a text."""
    model = onnx.load_from_string(scale(2))
    model.doc_string = model.graph.doc_string = model.producer_name = MARKUP
    helper.set_model_props(model, {"author": MARKUP, MARKUP: "x"})
    model.graph.name = model.graph.node[1].name = MARKUP
    model.graph.node[1].output[0] = model.graph.output[1].name = MARKUP
    content: bytes = model.SerializeToString()
    return content


@pytest.mark.scenario("G11", "H8")
@pytest.mark.timeout(420)
def test_every_page_works_in_a_real_browser(running: Running, tmp_path: Path) -> None:
    model = tmp_path / "model.onnx"
    model.write_bytes(scale(2))
    (tmp_path / "hostile.onnx").write_bytes(hostile())
    told = {
        "UI_ADDRESS": running.gateway,
        "UI_MANAGER": running.manager,
        "UI_PYTHON": sys.executable,
        "UI_MODEL": str(model),
        "UI_HOSTILE": str(tmp_path / "hostile.onnx"),
        "UI_CHROMIUM": str(CHROMIUM),
        "UI_TEST_RESULTS": str(tmp_path / "results"),
    }
    played = subprocess.run(
        [str(NODE), "node_modules/@playwright/test/cli.js", "test"],
        cwd=UI,
        env={**os.environ, **told},
        capture_output=True,
        text=True,
        check=False,
    )
    assert played.returncode == 0, played.stdout + played.stderr
