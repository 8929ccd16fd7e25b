"""What the tests of LMDB share: a writer in another process, and small or read-only disks."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from inferflow.featurestore import FeatureSchema

SCRIPT = Path(__file__).with_name("store_writer.py")


@pytest.fixture
def writer() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts `store_writer.py`; whatever is still running at the end is killed."""
    with ExitStack() as running:

        def start(folder: Path, **numbers: int) -> subprocess.Popen[str]:
            order = ("map_bytes", "first", "batches", "rows")
            command = [sys.executable, SCRIPT, folder, *(str(numbers[name]) for name in order)]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            running.enter_context(process)
            running.callback(process.kill)
            return process

        yield start


@pytest.fixture(scope="session")
def written() -> FeatureSchema:
    """The schema that `store_writer.py` writes under."""
    found: FeatureSchema = runpy.run_path(str(SCRIPT))["SCHEMA"]
    return found


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """A small disk of its own: `disk("size=2m")`, then `disk("remount,ro")` and so on."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small disk needs root")
    folder = tmp_path / "disk"
    folder.mkdir()

    def mount(options: str) -> Path:
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            pytest.skip(f"a small disk cannot be mounted here: {done.stderr.strip()}")
        return folder

    yield mount
    subprocess.run(["umount", str(folder)], capture_output=True, check=False)
