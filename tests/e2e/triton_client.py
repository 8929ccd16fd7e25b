"""An interpreter with the public Triton client, in a virtual environment of its own: that client
registers messages of the same names as ours."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

CACHE = Path(__file__).parents[2] / ".cache" / "tritonclient"
CLIENT = "tritonclient[grpc,http]>=2.60"


def python_with_triton() -> Path:
    """Made once per checkout. Skips the test where it cannot be had."""
    kept = CACHE / f"{sys.version_info.major}.{sys.version_info.minor}-grpc-http"
    python = kept / "bin" / "python"
    if python.exists():
        return python
    # Made aside and moved, so that two runs at once never see half of it.
    fresh = CACHE / f".making-{os.getpid()}"
    venv.create(fresh, with_pip=True)
    made = subprocess.run(
        [fresh / "bin" / "python", "-m", "pip", "install", "--quiet", CLIENT],
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode:
        shutil.rmtree(fresh)
        pytest.skip(f"the client cannot be installed: {made.stderr.strip()[-200:]}")
    try:
        fresh.rename(kept)
    except OSError:  # another run was first
        shutil.rmtree(fresh)
        assert python.exists()
    return python
