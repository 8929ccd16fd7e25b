"""Models that ended the process while they were loaded."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from inferflow.errors import ModelUnavailable
from inferflow.serving.runtime.repository import ModelFile
from inferflow.serving.worker.crashes import CrashLedger
from inferflow.testing import ManualClock

from ....robustness.scenario import StartScenario


@pytest.fixture
def file(tmp_path: Path) -> ModelFile:
    return ModelFile("m", "1", tmp_path / "model.onnx", "digest")


def crash(folder: Path, file: ModelFile, clock: ManualClock) -> None:
    """A process that begins a load and ends in it."""
    CrashLedger(folder, clock).begin(file)
    gone = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"],
        check=True,
        capture_output=True,
        text=True,
    )
    mark = folder / file.digest
    mark.write_text(json.dumps({**json.loads(mark.read_text()), "pid": int(gone.stdout)}))


def test_a_load_that_ends_leaves_no_mark(tmp_path: Path, file: ModelFile) -> None:
    ledger = CrashLedger(tmp_path, ManualClock())
    for _ in range(3):
        ledger.begin(file)
        ledger.end(file)
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_ended_the_worker_is_left_alone_for_longer_each_time(
    tmp_path: Path, file: ModelFile, scenario: StartScenario
) -> None:
    tried = scenario("A8", "a model ends its worker again and again")
    clock = ManualClock(1000.0)
    for crashes, delay in ((1, 1), (2, 2), (3, 4)):
        crash(tmp_path, file, clock)
        with pytest.raises(ModelUnavailable, match=f"{crashes} time") as refused:
            CrashLedger(tmp_path, clock).begin(file)
        pause = refused.value.retry_after_ms
        tried.holds(f"left alone after crash {crashes}", f"{pause} ms", pause == delay * 1000)
        clock.advance(delay)
    ledger = CrashLedger(tmp_path, clock)
    ledger.begin(file)
    ledger.end(file)
    ledger.begin(file)


def test_other_models_are_not_held_up(tmp_path: Path, file: ModelFile) -> None:
    crash(tmp_path, file, ManualClock())
    other = ModelFile("other", "1", tmp_path / "model.onnx", "another")
    CrashLedger(tmp_path, ManualClock()).begin(other)


def test_a_load_that_goes_on_in_a_living_process_is_no_crash(
    tmp_path: Path, file: ModelFile
) -> None:
    CrashLedger(tmp_path, ManualClock()).begin(file)
    CrashLedger(tmp_path, ManualClock()).begin(file)


def test_half_a_mark_is_a_mark(tmp_path: Path, file: ModelFile) -> None:
    (tmp_path / file.digest).write_text("{")
    with pytest.raises(ModelUnavailable):
        CrashLedger(tmp_path, ManualClock(0.5)).begin(file)
