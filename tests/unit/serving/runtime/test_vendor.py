"""ONNX Runtime keeps what it sees to itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_IMPORTED = """
import os
from inferflow.serving.runtime.vendor import import_onnxruntime
assert import_onnxruntime().__name__ == "onnxruntime"
print(os.environ["ORT_DISABLE_TELEMETRY"])
"""


def imported(home: Path, **choice: str) -> str:
    """What a fresh interpreter of a user with nothing at home says."""
    kept = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    run = subprocess.run(
        [sys.executable, "-c", _IMPORTED],
        env={**kept, "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), **choice},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def test_onnx_runtime_leaves_no_device_id_and_no_events_behind(tmp_path: Path) -> None:
    assert imported(tmp_path) == "1"
    assert list(tmp_path.iterdir()) == []


def test_a_user_who_wants_to_report_may(tmp_path: Path) -> None:
    assert imported(tmp_path, ORT_DISABLE_TELEMETRY="0") == "0"
