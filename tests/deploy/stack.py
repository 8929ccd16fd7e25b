"""The roles of a deployment, run on this machine with their own commands and variables.

What a container would have is replaced by what is here: names of other containers by addresses,
ports by free ones, the state's volume by a folder. The working folder is empty and may not be
written, like the image's.
"""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path

from ..servers.processes import free_port
from .files import DEPLOY, Entry

STATE = "/var/lib/inferflow"

QUICK = {
    f"INFERFLOW_{role}DRAIN_PAUSE": "0ms"
    for role in ("", "WORKER_", "MANAGER_", "COMPUTE_", "FEATURE_STORE_", "GATEWAY_")
}
"""Nobody calls any more when these are ended."""
why_not_ready: Callable[[str], str] = runpy.run_path(str(DEPLOY / "docker/ready.py"))[
    "why_not_ready"
]


class Stack:
    """Starts entries, and ends them all."""

    def __init__(self, home: Path, addresses: Mapping[str, str]) -> None:
        self._home = home
        self._addresses = dict(addresses)
        self._ports: dict[str, dict[str, int]] = {}
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def place(self, name: str, ports: Mapping[str, str]) -> None:
        """Give a role ports of this machine: variable → port in the container."""
        self._ports[name] = {variable: free_port() for variable in ports}
        for variable, port in ports.items():
            self._addresses[f"{name}:{port}"] = f"127.0.0.1:{self._ports[name][variable]}"

    def environment(self, name: str, entry: Entry) -> dict[str, str]:
        found = {variable: self._here(name, value) for variable, value in entry.environment.items()}
        return found | {var: str(port) for var, port in self._ports.get(name, {}).items()}

    def start(self, name: str, entry: Entry) -> None:
        with (self._home / f"{name}.log").open("wb") as log:
            self._running[name] = subprocess.Popen(
                self._command(entry),
                cwd=self._empty(),
                env=self._surroundings(self.environment(name, entry)),
                stdout=log,
                stderr=log,
            )

    def run(self, name: str, entry: Entry, *arguments: str) -> str:
        """Run an entry to its end, with other arguments than its own where some are given."""
        command = self._command(entry)
        done = subprocess.run(
            [command[0], *(arguments or command[1:])],
            cwd=self._empty(),
            env=self._surroundings(self.environment(name, entry)),
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def address(self, name: str, variable: str) -> str:
        return f"127.0.0.1:{self._ports[name][variable]}"

    def wait_until_ready(self, name: str, variable: str, *, within_s: float = 60) -> None:
        address = f"http://{self.address(name, variable)}"
        end = time.monotonic() + within_s
        while why := why_not_ready(address):
            assert self._running[name].poll() is None, self.said(name)
            assert time.monotonic() < end, f"{name}: {why}\n{self.said(name)}"
            time.sleep(0.05)

    def metrics(self, name: str, variable: str) -> str:
        url = f"http://{self.address(name, variable)}/metrics"
        with urllib.request.urlopen(url, timeout=10) as answer:
            text: str = answer.read().decode()
            return text

    def said(self, name: str) -> str:
        return (self._home / f"{name}.log").read_text("utf-8", "replace")

    def end(self) -> dict[str, int]:
        """Ask all to end; their exit codes."""
        for process in self._running.values():
            process.terminate()
        return {name: process.wait(60) for name, process in self._running.items()}

    def kill(self) -> None:
        for process in self._running.values():
            process.kill()
            process.wait()

    def _here(self, name: str, value: str) -> str:
        for there, here in self._addresses.items():
            value = value.replace(there, here)
        return value.replace(STATE, str(self._home / name))

    def _command(self, entry: Entry) -> list[str]:
        program, *arguments = entry.command
        return [str(Path(sys.executable).parent / program), *arguments]

    def _empty(self) -> Path:
        folder = self._home / "empty"
        folder.mkdir(exist_ok=True, mode=0o555)
        return folder

    def _surroundings(self, environment: Mapping[str, str]) -> dict[str, str]:
        around = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
        return {**around, **QUICK, **environment}
