"""The decoder of inference logs that others published, in an environment of its own."""

from __future__ import annotations

import fcntl
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .kafka import CACHE

PACKAGE = "inference-logging-client==0.1.0"

_PROGRAM = """
import json, sys
from inference_logging_client import decode_mplog, get_mplog_metadata

decoded = []
for path in sys.argv[2:]:
    log = open(path, "rb").read()
    about = get_mplog_metadata(log)
    config, version = about.model_proxy_config_id, about.version
    frame = decode_mplog(log, config, version, inference_host=sys.argv[1])
    columns = {name: frame[name].tolist() for name in frame.columns}
    decoded.append({"user_id": about.user_id, "tracking_id": about.tracking_id, "columns": columns})
print(json.dumps(decoded))
"""


class PublishedDecoder:
    def __init__(self, python: Path) -> None:
        self._python = python

    def decode(self, logs: list[bytes], folder: Path, *, schemas: str) -> list[dict[str, Any]]:
        """What it makes of each log, when it asks for schemas at this address."""
        files = []
        for number, log in enumerate(logs):
            files.append(folder / f"{number}.log")
            files[-1].write_bytes(log)
        done = subprocess.run(
            [self._python, "-W", "ignore", "-c", _PROGRAM, schemas, *map(str, files)],
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
        )
        assert done.returncode == 0, done.stderr
        decoded: list[dict[str, Any]] = json.loads(done.stdout)
        return decoded


@pytest.fixture(scope="session")
def published_decoder() -> PublishedDecoder:
    home = CACHE / PACKAGE.replace("==", "-")
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "decoder.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several test processes want it at once
        if not home.exists():
            why = _install(home)
            if why:
                shutil.rmtree(home, ignore_errors=True)
                pytest.skip(f"{PACKAGE} cannot be installed: {why}")
    return PublishedDecoder(home / "bin" / "python")


def _install(home: Path) -> str:
    """Why it could not be installed; empty when it is."""
    commands = (
        [sys.executable, "-m", "venv", home],
        [home / "bin" / "python", "-m", "pip", "install", "-q", PACKAGE],
    )
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)
        if done.returncode != 0:
            return done.stderr[-300:]
    return ""
