"""A running `inferflow serve`."""

from __future__ import annotations

import subprocess
from pathlib import Path

from . import role_process
from .role_process import Process

__all__ = ["Process", "launch", "start"]


def launch(folder: Path, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    return role_process.launch("serve", str(folder), *arguments, **environment)


def start(folder: Path, *arguments: str, **environment: str) -> Process:
    ports = ("--port", "0", "--http-port", "0")
    return Process.ready(launch(folder, *ports, *arguments, **environment))
